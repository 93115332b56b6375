//===- expr.h - Scalar expressions ------------------------------------------===//
//
// The body of a definition: what one element of a value is, in terms of elements of other values.
// Expressions are immutable and shared; each carries its element type. There are no implicit
// conversions: operands of an arithmetic operation have the type of its result.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_EXPR_H
#define KINTSUGI_TE_EXPR_H

#include "base/element_type.h"
#include "te/index.h"

#include <optional>
#include <variant>

namespace kintsugi::te {

/// A tensor in a Program, by position in its table.
struct ValueId {
  uint32_t number = ~0u;
  bool operator==(const ValueId &) const = default;
  auto operator<=>(const ValueId &) const = default;
};

enum class UnaryOp : uint8_t {
  Neg,
  Abs,
  Sign,
  Ceil,
  Floor,
  Round /* half to even */,
  Sqrt,
  Exp,
  Log,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Erf,
  Not /* booleans: logical; integers: bits */,
  IsNaN,
  IsInf,
  Bits,     ///< Of an f32 or f64: the unsigned integer that has its bits.
  FromBits, ///< Of a u32 or u64: the float that has its bits.
};

enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div, ///< Floats: IEEE. Integers: towards zero; by zero gives 0.
  Rem, ///< Sign of the dividend (C's fmod and %); integers by zero give 0.
  Mod, ///< Sign of the divisor (Python's %); integers by zero give 0.
  Pow,
  Max,
  Min, ///< A NaN operand gives NaN.
  And,
  Or,
  Xor, ///< Booleans: logical; integers: bits.
  ShiftLeft,
  ShiftRight, ///< Unsigned integers; shifting by the width or more gives 0.
  Less,
  LessEqual,
  Equal,
  NotEqual, ///< The result is boolean; false with NaN, NotEqual true.
};

bool isComparison(BinaryOp op);
/// The name in the text form: "neg", "max", ... Infix operators give their sign: "+", "<=".
const char *nameOf(UnaryOp op);
const char *nameOf(BinaryOp op);

/// Of the result of an operation on operands of the type.
ElementType resultType(UnaryOp op, ElementType type);
/// Whether the operation is defined for operands of the type. Types that are for storage alone
/// (`isStorageOnly`) have none: their elements are moved, chosen and converted.
bool supports(UnaryOp op, ElementType type);
bool supports(BinaryOp op, ElementType type);
/// Between real numbers, integers and booleans.
bool supportsCast(ElementType from, ElementType to);

enum class ExprKind : uint8_t { Literal, Index, Read, Unary, Binary, Select, Cast };

struct ExprNode;

class Expr {
public:
  /// A constant of a real, integer or boolean type, rounded or wrapped around to it. Integers keep
  /// all 64 bits.
  static Expr literal(ElementType type, double value);
  static Expr literal(ElementType type, int64_t value);
  static Expr boolean(bool value);
  /// The value of an index expression as a number of the given type.
  static Expr index(Index value, ElementType type);
  /// An element of a tensor. Indices must stay inside it unless `fill` (an expression of the same
  /// type) says what is there outside; then all indices may leave.
  static Expr read(ValueId value, ElementType type, llvm::ArrayRef<Index> indices,
                   std::optional<Expr> fill = std::nullopt);
  static Expr unary(UnaryOp op, Expr operand);
  static Expr binary(BinaryOp op, Expr left, Expr right);
  /// `condition ? onTrue : onFalse`. Only the chosen side is evaluated, so the other may be outside
  /// its tensor. A chain of selects is what the text form prints as cases.
  static Expr select(Expr condition, Expr onTrue, Expr onFalse);
  /// Conversion: float to integer truncates, saturating; to boolean is "not zero". To a float of 8
  /// or fewer bits it rounds to nearest, also where the result is no value of its own; what is out
  /// of range becomes infinity, NaN, or the greatest number, whichever the type has first.
  static Expr cast(ElementType type, Expr operand);
  /// A conversion that says only how a value is stored: who computes the value where it is read may
  /// leave the rounding out, and cast(T, stored(N, x)) is x where x is a T.
  static Expr stored(ElementType type, Expr operand);

  ExprKind kind() const;
  ElementType type() const;

  bool isLiteral() const { return kind() == ExprKind::Literal; }
  /// Of a literal: its value as a double (integers converted).
  double literalFloat() const;
  /// Of an integer or boolean literal.
  int64_t literalInteger() const;

  const Index &indexValue() const;           ///< Index
  ValueId readValue() const;                 ///< Read
  llvm::ArrayRef<Index> readIndices() const; ///< Read
  const Expr *readFill() const;              ///< Read; null without a fill
  UnaryOp unaryOp() const;                   ///< Unary
  BinaryOp binaryOp() const;                 ///< Binary
  bool isStored() const;                     ///< Cast: made by `stored`.
  /// Operands of Unary (1), Binary (2), Select (3), Cast (1); a Read's fill is not one.
  llvm::ArrayRef<Expr> operands() const;
  const Expr &operand(unsigned number) const { return operands()[number]; }

  bool operator==(const Expr &other) const { return compare(other) == 0; }
  int compare(const Expr &other) const;
  const void *identity() const { return node.get(); }

  /// Visits this expression and all below it, those inside gathers and fills included; children
  /// before parents, and what is shared once.
  void walk(llvm::function_ref<void(const Expr &)> visit) const;
  /// Of how many expressions its text consists: what is shared counts as often as it stands there.
  /// More than `most` are `most` + 1.
  unsigned sizeUpTo(unsigned most) const;
  bool uses(unsigned iterator) const;

private:
  explicit Expr(std::shared_ptr<const ExprNode> node) : node(std::move(node)) {}
  friend struct ExprNode;

  std::shared_ptr<const ExprNode> node;
};

inline Expr operator+(Expr a, Expr b) { return Expr::binary(BinaryOp::Add, a, b); }
inline Expr operator-(Expr a, Expr b) { return Expr::binary(BinaryOp::Sub, a, b); }
inline Expr operator*(Expr a, Expr b) { return Expr::binary(BinaryOp::Mul, a, b); }
inline Expr operator/(Expr a, Expr b) { return Expr::binary(BinaryOp::Div, a, b); }
inline Expr operator-(Expr a) { return Expr::unary(UnaryOp::Neg, a); }

/// Replaces iterators, as te::substitute for indices.
Expr substitute(const Expr &expr, llvm::ArrayRef<Index> replacements);

/// Rebuilds an expression bottom up; `rewrite` is given each node with its children already
/// rewritten and returns what stands there instead (or the node itself).
Expr rewrite(const Expr &expr, llvm::function_ref<Expr(const Expr &)> rewrite);

/// The same index with each data atom's expression, at any depth, mapped.
Index mapData(const Index &index, llvm::function_ref<Expr(const Expr &)> map);

/// Simplifies every index under the iterators' ranges, and drops a fill that is never reached when
/// `shapeOf` tells a tensor's extents.
Expr simplifyIndices(const Expr &expr, llvm::ArrayRef<Interval> ranges,
                     llvm::function_ref<llvm::ArrayRef<Extent>(ValueId)> shapeOf);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_EXPR_H
