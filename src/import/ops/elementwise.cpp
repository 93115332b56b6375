//===- elementwise.cpp - Arithmetic, comparisons, logic, conversions ---------===//

#include "import/ops/families.h"
#include "import/ops/join.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::UnaryOp;

Expr literal(ElementType type, double value) { return Expr::literal(type, value); }

template <UnaryOp op> Status unary(OpContext &c) {
  ValueId x = c.input(0);
  c.output(
      0, c.define(c.name(), c.shape(x), [&](Indices i) { return Expr::unary(op, c.read(x, i)); }));
  return Status::success();
}

/// Functions of numbers.
template <UnaryOp op> Status unaryNumber(OpContext &c) {
  if (c.type(c.input(0)) == ElementType::Bool)
    return c.error("booleans have no arithmetic");
  return unary<op>(c);
}

/// Functions of real numbers.
template <UnaryOp op> Status unaryFloat(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(0)));
  return unary<op>(c);
}

/// Functions that leave integers as they are.
template <UnaryOp op> Status rounding(OpContext &c) {
  if (isFloat(c.type(c.input(0))))
    return unary<op>(c);
  c.output(0, c.input(0));
  return Status::success();
}

Status requireBool(OpContext &c, ValueId x) {
  if (c.type(x) == ElementType::Bool)
    return Status::success();
  return c.error("it needs booleans");
}

Status requireInteger(OpContext &c, ValueId x) {
  if (isInteger(c.type(x)))
    return Status::success();
  return c.error("it needs integers");
}

Status logicalNot(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(requireBool(c, c.input(0)));
  return unary<UnaryOp::Not>(c);
}

Status bitwiseNot(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(requireInteger(c, c.input(0)));
  return unary<UnaryOp::Not>(c);
}

Status reciprocal(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  c.output(0, c.define(c.name(), c.shape(x),
                       [&](Indices i) { return literal(c.type(x), 1) / c.read(x, i); }));
  return Status::success();
}

Status isInf(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  bool positive = c.integer("detect_positive", 1), negative = c.integer("detect_negative", 1);
  Expr zero = literal(c.type(x), 0);
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr value = c.read(x, i), infinite = Expr::unary(UnaryOp::IsInf, value);
    if (positive && negative)
      return infinite;
    if (!positive && !negative)
      return Expr::boolean(false);
    Expr sign = positive ? Expr::binary(BinaryOp::Less, zero, value)
                         : Expr::binary(BinaryOp::Less, value, zero);
    return Expr::binary(BinaryOp::And, infinite, sign);
  }));
  return Status::success();
}

/// Before operator set 7 the second input broadcasts only where `broadcast` says so, aligned at
/// `axis`.
Expected<ValueId> legacyAligned(OpContext &c, ValueId a, ValueId b) {
  if (c.opset() >= 7 || !c.integer("broadcast", 0) || !c.hasAttribute("axis"))
    return b;
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", 0), c.rank(a)));
  if (axis + c.rank(b) > c.rank(a))
    return c.error("its second input does not fit at axis " + llvm::Twine(axis));
  Shape shape(c.shape(b).begin(), c.shape(b).end());
  shape.resize(c.rank(a) - axis, Extent(1));
  return c.reshape(c.name() + ".aligned", b, shape);
}

using Combine = llvm::function_ref<Expr(Expr, Expr)>;

Status broadcastBinary(OpContext &c, Combine combine) {
  ValueId a = c.input(0);
  KINTSUGI_ASSIGN(ValueId b, legacyAligned(c, a, c.input(1)));
  KINTSUGI_ASSIGN(Shape shape, c.broadcast({a, b}));
  c.output(0, c.define(c.name(), shape, [&](Indices i) {
    return combine(c.readBroadcast(a, i), c.readBroadcast(b, i));
  }));
  return Status::success();
}

template <BinaryOp op> Status binary(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(0), c.input(1)));
  return broadcastBinary(c, [](Expr a, Expr b) { return Expr::binary(op, a, b); });
}

/// Not for booleans.
template <BinaryOp op> Status arithmetic(OpContext &c) {
  if (c.type(c.input(0)) == ElementType::Bool)
    return c.error("booleans have no arithmetic");
  return binary<op>(c);
}

template <BinaryOp op> Status swapped(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(0), c.input(1)));
  return broadcastBinary(c, [](Expr a, Expr b) { return Expr::binary(op, b, a); });
}

template <BinaryOp op> Status logical(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(requireBool(c, c.input(0)));
  return binary<op>(c);
}

template <BinaryOp op> Status bitwise(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(requireInteger(c, c.input(0)));
  return binary<op>(c);
}

Status power(OpContext &c) {
  ElementType base = c.type(c.input(0)), exponent = c.type(c.input(1));
  if (base == ElementType::Bool || exponent == ElementType::Bool)
    return c.error("booleans have no arithmetic");
  // An integer to a real power is computed in f64 and truncated.
  bool wide = isInteger(base) && isFloat(exponent);
  // Powers whose exponent is seen to be small are products.
  const Tensor *known = isFloat(exponent) ? c.knownValue(1) : nullptr;
  return broadcastBinary(c, [&](Expr a, Expr b) {
    ElementType type = wide ? ElementType::F64 : base;
    if (known && known->count() == 1)
      b = Expr::literal(exponent, loadDouble(known->view(), 0));
    return Expr::cast(base, Expr::binary(BinaryOp::Pow, Expr::cast(type, a), Expr::cast(type, b)));
  });
}

Status modulo(OpContext &c) {
  bool likeC = c.integer("fmod", 0) != 0;
  return likeC ? arithmetic<BinaryOp::Rem>(c) : arithmetic<BinaryOp::Mod>(c);
}

/// Shifts are defined on unsigned integers. A signed one shifted to the right keeps its sign: below
/// zero, the complement is shifted.
Status bitShift(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(requireInteger(c, x));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, c.input(1)));
  std::string direction = c.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return c.error("direction must be LEFT or RIGHT");
  bool left = direction == "LEFT";
  ElementType type = c.type(x), bits = unsignedOfBits(bitsOf(type)).value_or(ElementType::U64);
  auto shifted = [&](Expr a, Expr b) {
    BinaryOp op = left ? BinaryOp::ShiftLeft : BinaryOp::ShiftRight;
    return Expr::cast(type, Expr::binary(op, Expr::cast(bits, a), Expr::cast(bits, b)));
  };
  return broadcastBinary(c, [&](Expr a, Expr b) {
    if (left || !isSigned(type))
      return shifted(a, b);
    Expr negative = Expr::binary(BinaryOp::Less, a, Expr::literal(type, int64_t(0)));
    Expr complement = shifted(Expr::unary(UnaryOp::Not, a), b);
    return Expr::select(negative, Expr::unary(UnaryOp::Not, complement), shifted(a, b));
  });
}

/// Max, Min, Sum: any number of inputs, folded from the left.
Expected<ValueId> variadic(OpContext &c, BinaryOp op, std::string name) {
  llvm::SmallVector<ValueId> inputs;
  for (unsigned i = 0; i < c.numInputs(); ++i) {
    if (!c.hasInput(i))
      return c.error("input " + llvm::Twine(i + 1) + " is missing");
    inputs.push_back(c.input(i));
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(inputs[0], inputs[i]));
  }
  KINTSUGI_RETURN_IF_ERROR(c.broadcast(inputs).status());
  return inGroups(std::move(name), inputs, [&](std::string part, llvm::ArrayRef<ValueId> group) {
    Expected<Shape> shape = c.broadcast(group); // As all of them do.
    return c.define(std::move(part), *shape, [&](Indices i) {
      Expr result = c.readBroadcast(group[0], i);
      for (ValueId input : group.drop_front())
        result = Expr::binary(op, result, c.readBroadcast(input, i));
      return result;
    });
  });
}

template <BinaryOp op> Status variadicOperator(OpContext &c) {
  KINTSUGI_ASSIGN(ValueId result, variadic(c, op, c.name()));
  c.output(0, result);
  return Status::success();
}

Status mean(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(0)));
  KINTSUGI_ASSIGN(ValueId sum, variadic(c, BinaryOp::Add, c.name() + ".sum"));
  double number = c.numInputs();
  c.output(0, c.define(c.name(), c.shape(sum),
                       [&](Indices i) { return c.read(sum, i) / literal(c.type(sum), number); }));
  return Status::success();
}

Status where(OpContext &c) {
  ValueId condition = c.input(0), yes = c.input(1), no = c.input(2);
  KINTSUGI_RETURN_IF_ERROR(requireBool(c, condition));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(yes, no));
  KINTSUGI_ASSIGN(Shape shape, c.broadcast({condition, yes, no}));
  c.output(0, c.define(c.name(), shape, [&](Indices i) {
    return Expr::select(c.readBroadcast(condition, i), c.readBroadcast(yes, i),
                        c.readBroadcast(no, i));
  }));
  return Status::success();
}

/// A bound of Clip: an input since operator set 11, an attribute before.
Expected<std::optional<Expr>> clipBound(OpContext &c, unsigned input, llvm::StringRef attribute) {
  ValueId x = c.input(0);
  if (c.opset() < 11) {
    if (!c.hasAttribute(attribute))
      return std::optional<Expr>();
    return std::optional(literal(c.type(x), c.real(attribute, 0)));
  }
  if (!c.hasInput(input))
    return std::optional<Expr>();
  ValueId value = c.input(input);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, value));
  if (c.count(value) != 1)
    return c.error("a bound must be a scalar");
  return std::optional(c.readBroadcast(value, llvm::SmallVector<Index>(c.rank(value))));
}

Status clip(OpContext &c) {
  ValueId x = c.input(0);
  if (c.type(x) == ElementType::Bool)
    return c.error("booleans have no order");
  KINTSUGI_ASSIGN(std::optional<Expr> low, clipBound(c, 1, "min"));
  KINTSUGI_ASSIGN(std::optional<Expr> high, clipBound(c, 2, "max"));
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr value = c.read(x, i);
    if (low)
      value = Expr::binary(BinaryOp::Max, value, *low);
    if (high)
      value = Expr::binary(BinaryOp::Min, value, *high);
    return value;
  }));
  return Status::success();
}

Status identity(OpContext &c) {
  c.outputBinding(0, c.binding(0));
  return Status::success();
}

} // namespace

OperatorTable elementwiseOperators() {
  static const Operator table[] = {
      {"Abs", 1, 1, unaryNumber<UnaryOp::Abs>},
      {"Neg", 1, 1, unaryNumber<UnaryOp::Neg>},
      {"Sign", 9, 1, unaryNumber<UnaryOp::Sign>},
      {"Ceil", 1, 1, rounding<UnaryOp::Ceil>},
      {"Floor", 1, 1, rounding<UnaryOp::Floor>},
      {"Round", 11, 1, rounding<UnaryOp::Round>},
      {"Sqrt", 1, 1, unaryFloat<UnaryOp::Sqrt>},
      {"Exp", 1, 1, unaryFloat<UnaryOp::Exp>},
      {"Log", 1, 1, unaryFloat<UnaryOp::Log>},
      {"Sin", 7, 1, unaryFloat<UnaryOp::Sin>},
      {"Cos", 7, 1, unaryFloat<UnaryOp::Cos>},
      {"Tan", 7, 1, unaryFloat<UnaryOp::Tan>},
      {"Asin", 7, 1, unaryFloat<UnaryOp::Asin>},
      {"Acos", 7, 1, unaryFloat<UnaryOp::Acos>},
      {"Atan", 7, 1, unaryFloat<UnaryOp::Atan>},
      {"Sinh", 9, 1, unaryFloat<UnaryOp::Sinh>},
      {"Cosh", 9, 1, unaryFloat<UnaryOp::Cosh>},
      {"Tanh", 1, 1, unaryFloat<UnaryOp::Tanh>},
      {"Asinh", 9, 1, unaryFloat<UnaryOp::Asinh>},
      {"Acosh", 9, 1, unaryFloat<UnaryOp::Acosh>},
      {"Atanh", 9, 1, unaryFloat<UnaryOp::Atanh>},
      {"Erf", 9, 1, unaryFloat<UnaryOp::Erf>},
      {"IsNaN", 9, 1, unaryFloat<UnaryOp::IsNaN>},
      {"IsInf", 10, 1, isInf},
      {"Reciprocal", 1, 1, reciprocal},
      {"Not", 1, 1, logicalNot},
      {"BitwiseNot", 18, 1, bitwiseNot},
      {"Add", 1, 2, arithmetic<BinaryOp::Add>},
      {"Sub", 1, 2, arithmetic<BinaryOp::Sub>},
      {"Mul", 1, 2, arithmetic<BinaryOp::Mul>},
      {"Div", 1, 2, arithmetic<BinaryOp::Div>},
      {"Pow", 1, 2, power},
      {"Mod", 10, 2, modulo},
      {"And", 1, 2, logical<BinaryOp::And>},
      {"Or", 1, 2, logical<BinaryOp::Or>},
      {"Xor", 1, 2, logical<BinaryOp::Xor>},
      {"BitwiseAnd", 18, 2, bitwise<BinaryOp::And>},
      {"BitwiseOr", 18, 2, bitwise<BinaryOp::Or>},
      {"BitwiseXor", 18, 2, bitwise<BinaryOp::Xor>},
      {"BitShift", 11, 2, bitShift},
      {"Equal", 1, 2, binary<BinaryOp::Equal>},
      {"Less", 1, 2, binary<BinaryOp::Less>},
      {"Greater", 1, 2, swapped<BinaryOp::Less>},
      {"LessOrEqual", 12, 2, binary<BinaryOp::LessEqual>},
      {"GreaterOrEqual", 12, 2, swapped<BinaryOp::LessEqual>},
      {"Max", 1, 1, variadicOperator<BinaryOp::Max>},
      {"Min", 1, 1, variadicOperator<BinaryOp::Min>},
      {"Sum", 1, 1, variadicOperator<BinaryOp::Add>},
      {"Mean", 1, 1, mean},
      {"Where", 9, 3, where},
      {"Clip", 1, 1, clip},
      {"Identity", 1, 0, identity, "", Elements::Any},
  };
  return table;
}

} // namespace kintsugi::import
