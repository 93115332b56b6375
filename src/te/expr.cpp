#include "te/expr.h"

#include "base/half.h"
#include "te/scalar.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>
#include <cstring>

namespace kintsugi::te {

struct ExprNode {
  ExprKind kind;
  ElementType type;
  uint64_t bits = 0;                ///< Literal: a double's bits or an integer.
  Index index;                      ///< Index
  ValueId value;                    ///< Read
  llvm::SmallVector<Index> indices; ///< Read
  std::optional<Expr> fill;         ///< Read
  UnaryOp unary = UnaryOp::Neg;
  BinaryOp binary = BinaryOp::Add;
  bool stored = false; ///< Cast
  llvm::SmallVector<Expr, 2> operands;

  static Expr make(ExprNode node) {
    return Expr(std::make_shared<const ExprNode>(std::move(node)));
  }
};

bool isComparison(BinaryOp op) {
  return op == BinaryOp::Less || op == BinaryOp::LessEqual || op == BinaryOp::Equal ||
         op == BinaryOp::NotEqual;
}

const char *nameOf(UnaryOp op) {
  static const char *const names[] = {"neg",  "abs",  "sign",  "ceil",  "floor", "round",   "sqrt",
                                      "exp",  "log",  "sin",   "cos",   "tan",   "asin",    "acos",
                                      "atan", "sinh", "cosh",  "tanh",  "asinh", "acosh",   "atanh",
                                      "erf",  "not",  "isnan", "isinf", "bits",  "frombits"};
  return names[static_cast<unsigned>(op)];
}

const char *nameOf(BinaryOp op) {
  static const char *const names[] = {"+",   "-",  "*",   "/",   "rem", "mod", "pow", "max", "min",
                                      "and", "or", "xor", "shl", "shr", "<",   "<=",  "==",  "!="};
  return names[static_cast<unsigned>(op)];
}

ElementType resultType(UnaryOp op, ElementType type) {
  switch (op) {
  case UnaryOp::IsNaN:
  case UnaryOp::IsInf:
    return ElementType::Bool;
  case UnaryOp::Bits:
    return type == ElementType::F64 ? ElementType::U64 : ElementType::U32;
  case UnaryOp::FromBits:
    return type == ElementType::U64 ? ElementType::F64 : ElementType::F32;
  default:
    return type;
  }
}

bool supports(UnaryOp op, ElementType type) {
  if (isStorageOnly(type))
    return false;
  switch (op) {
  case UnaryOp::Neg:
  case UnaryOp::Abs:
  case UnaryOp::Sign:
    return isFloat(type) || isInteger(type);
  case UnaryOp::Not:
    return isInteger(type) || type == ElementType::Bool;
  case UnaryOp::Bits:
    return type == ElementType::F32 || type == ElementType::F64;
  case UnaryOp::FromBits:
    return type == ElementType::U32 || type == ElementType::U64;
  default:
    return isFloat(type);
  }
}

bool supports(BinaryOp op, ElementType type) {
  if (isStorageOnly(type))
    return false;
  switch (op) {
  case BinaryOp::And:
  case BinaryOp::Or:
  case BinaryOp::Xor:
    return isInteger(type) || type == ElementType::Bool;
  case BinaryOp::ShiftLeft:
  case BinaryOp::ShiftRight:
    return isInteger(type) && !isSigned(type);
  case BinaryOp::Max:
  case BinaryOp::Min:
    return isFloat(type) || isInteger(type) || type == ElementType::Bool;
  default:
    return isFloat(type) || isInteger(type) || (isComparison(op) && type == ElementType::Bool);
  }
}

bool supportsCast(ElementType from, ElementType to) {
  auto real = [](ElementType type) {
    return isFloat(type) || isInteger(type) || type == ElementType::Bool;
  };
  return real(from) && real(to);
}

Expr Expr::literal(ElementType type, double value) {
  if (!isFloat(type))
    return literal(type, castToInteger(type, value));
  // A literal is an element of its type: rounded to it.
  value = roundedTo(type, value);
  ExprNode node{ExprKind::Literal, type};
  std::memcpy(&node.bits, &value, sizeof(value));
  return ExprNode::make(std::move(node));
}

Expr Expr::literal(ElementType type, int64_t value) {
  if (isFloat(type))
    return literal(type, static_cast<double>(value));
  assert((isInteger(type) || type == ElementType::Bool) && "no literals of other types");
  ExprNode node{ExprKind::Literal, type};
  node.bits = static_cast<uint64_t>(wrapInteger(type, value));
  return ExprNode::make(std::move(node));
}

Expr Expr::boolean(bool value) { return literal(ElementType::Bool, int64_t(value)); }

Expr Expr::index(Index value, ElementType type) {
  if (value.isConstant())
    return literal(type, value.constantTerm());
  ExprNode node{ExprKind::Index, type};
  node.index = std::move(value);
  return ExprNode::make(std::move(node));
}

Expr Expr::read(ValueId value, ElementType type, llvm::ArrayRef<Index> indices,
                std::optional<Expr> fill) {
  assert((!fill || fill->type() == type) && "a fill has the type of what it stands for");
  ExprNode node{ExprKind::Read, type};
  node.value = value;
  node.indices.assign(indices.begin(), indices.end());
  node.fill = std::move(fill);
  return ExprNode::make(std::move(node));
}

Expr Expr::unary(UnaryOp op, Expr operand) {
  ExprNode node{ExprKind::Unary, resultType(op, operand.type())};
  node.unary = op;
  node.operands = {std::move(operand)};
  return ExprNode::make(std::move(node));
}

Expr Expr::binary(BinaryOp op, Expr left, Expr right) {
  assert(left.type() == right.type() && "operands of one type");
  ExprNode node{ExprKind::Binary, isComparison(op) ? ElementType::Bool : left.type()};
  node.binary = op;
  node.operands = {std::move(left), std::move(right)};
  return ExprNode::make(std::move(node));
}

Expr Expr::select(Expr condition, Expr onTrue, Expr onFalse) {
  assert(condition.type() == ElementType::Bool && onTrue.type() == onFalse.type());
  ExprNode node{ExprKind::Select, onTrue.type()};
  node.operands = {std::move(condition), std::move(onTrue), std::move(onFalse)};
  return ExprNode::make(std::move(node));
}

Expr Expr::cast(ElementType type, Expr operand) {
  if (operand.type() == type)
    return operand;
  if (operand.kind() == ExprKind::Cast && operand.isStored() && operand.operand(0).type() == type)
    return operand.operand(0);
  ExprNode node{ExprKind::Cast, type};
  node.operands = {std::move(operand)};
  return ExprNode::make(std::move(node));
}

Expr Expr::stored(ElementType type, Expr operand) {
  if (operand.type() == type)
    return operand;
  ExprNode node{ExprKind::Cast, type};
  node.stored = true;
  node.operands = {std::move(operand)};
  return ExprNode::make(std::move(node));
}

ExprKind Expr::kind() const { return node->kind; }
ElementType Expr::type() const { return node->type; }

double Expr::literalFloat() const {
  assert(isLiteral());
  if (!isFloat(type()))
    return isSigned(type()) ? static_cast<double>(static_cast<int64_t>(node->bits))
                            : static_cast<double>(node->bits);
  double value;
  std::memcpy(&value, &node->bits, sizeof(value));
  return value;
}

int64_t Expr::literalInteger() const {
  assert(isLiteral() && !isFloat(type()));
  return static_cast<int64_t>(node->bits);
}

const Index &Expr::indexValue() const {
  assert(kind() == ExprKind::Index);
  return node->index;
}
ValueId Expr::readValue() const {
  assert(kind() == ExprKind::Read);
  return node->value;
}
llvm::ArrayRef<Index> Expr::readIndices() const {
  assert(kind() == ExprKind::Read);
  return node->indices;
}
const Expr *Expr::readFill() const {
  assert(kind() == ExprKind::Read);
  return node->fill ? &*node->fill : nullptr;
}
UnaryOp Expr::unaryOp() const {
  assert(kind() == ExprKind::Unary);
  return node->unary;
}
BinaryOp Expr::binaryOp() const {
  assert(kind() == ExprKind::Binary);
  return node->binary;
}
bool Expr::isStored() const {
  assert(kind() == ExprKind::Cast);
  return node->stored;
}
llvm::ArrayRef<Expr> Expr::operands() const { return node->operands; }

template <typename T> static int threeWay(const T &a, const T &b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

template <typename List> static int compareLists(const List &a, const List &b) {
  if (int order = threeWay(a.size(), b.size()))
    return order;
  for (auto [x, y] : llvm::zip(a, b))
    if (int order = x.compare(y))
      return order;
  return 0;
}

int Expr::compare(const Expr &other) const {
  const ExprNode &a = *node, &b = *other.node;
  if (&a == &b)
    return 0;
  if (int order = threeWay(a.kind, b.kind))
    return order;
  if (int order = threeWay(a.type, b.type))
    return order;
  if (int order = threeWay(a.bits, b.bits))
    return order;
  if (int order = threeWay(a.unary, b.unary))
    return order;
  if (int order = threeWay(a.binary, b.binary))
    return order;
  if (int order = threeWay(a.stored, b.stored))
    return order;
  if (int order = threeWay(a.value, b.value))
    return order;
  if (int order = a.index.compare(b.index))
    return order;
  if (int order = compareLists(a.indices, b.indices))
    return order;
  if (int order = threeWay(a.fill.has_value(), b.fill.has_value()))
    return order;
  if (a.fill)
    if (int order = a.fill->compare(*b.fill))
      return order;
  return compareLists(a.operands, b.operands);
}

namespace {

using Visit = llvm::function_ref<void(const Expr &)>;

void forEachDataOf(const Expr &expr, Visit visit) {
  if (expr.kind() == ExprKind::Index)
    expr.indexValue().forEachData(visit);
  if (expr.kind() == ExprKind::Read)
    for (const Index &index : expr.readIndices())
      index.forEachData(visit);
}

} // namespace

void Expr::walk(Visit visit) const {
  struct Walk {
    Visit visit;
    llvm::SmallPtrSet<const void *, 16> visited; ///< Those that several refer to.

    void operator()(const Expr &expr) {
      forEachDataOf(expr, [&](const Expr &data) { once(data); });
      if (const Expr *fill = expr.kind() == ExprKind::Read ? expr.readFill() : nullptr)
        below(*fill);
      for (const Expr &operand : expr.operands())
        below(operand);
      visit(expr);
    }

    void below(const Expr &expr) { expr.node.use_count() == 1 ? (*this)(expr) : once(expr); }

    void once(const Expr &expr) { // Indices are shared as well: what they hold has one owner.
      if (visited.insert(expr.identity()).second)
        (*this)(expr);
    }
  };
  Walk{visit, {}}(*this);
}

unsigned Expr::sizeUpTo(unsigned most) const {
  unsigned size = 1;
  auto add = [&](const Expr &below) {
    if (size <= most)
      size += below.sizeUpTo(most - size);
  };
  forEachDataOf(*this, add);
  if (const Expr *fill = kind() == ExprKind::Read ? readFill() : nullptr)
    add(*fill);
  llvm::for_each(operands(), add);
  return size;
}

/// Not in data that it reads.
static bool usesByPosition(const Index &index, unsigned iterator) {
  return llvm::any_of(index.terms(), [&](const Term &term) {
    const Atom &atom = term.atom;
    if (atom.kind == AtomKind::Iterator)
      return atom.iterator == iterator;
    return atom.kind != AtomKind::Data && usesByPosition(atom.operand, iterator);
  });
}

bool Expr::uses(unsigned iterator) const {
  bool found = false;
  walk([&](const Expr &expr) { // It comes to data inside of indices, each once.
    auto inIndex = [&](const Index &index) { return usesByPosition(index, iterator); };
    found |= inIndex(expr.node->index) || llvm::any_of(expr.node->indices, inIndex);
  });
  return found;
}

/// Whether one is a copy of the other; equal ones that were made apart may be told apart.
static bool isSame(const Index &a, const Index &b) {
  return a.terms().data() == b.terms().data() && a.constantTerm() == b.constantTerm();
}

/// Rebuilds a node around new children; `mapIndex` maps indices, `mapExpr` fills and operands. The
/// expression itself where nothing below it changes.
static Expr rebuild(const Expr &expr, llvm::function_ref<Index(const Index &)> mapIndex,
                    llvm::function_ref<Expr(const Expr &)> mapExpr) {
  if (expr.kind() == ExprKind::Literal)
    return expr;
  if (expr.kind() == ExprKind::Index) {
    Index index = mapIndex(expr.indexValue());
    return isSame(index, expr.indexValue()) ? expr : Expr::index(std::move(index), expr.type());
  }
  bool isChanged = false;
  if (expr.kind() == ExprKind::Read) {
    llvm::SmallVector<Index, 4> indices;
    for (const Index &index : expr.readIndices()) {
      indices.push_back(mapIndex(index));
      isChanged |= !isSame(indices.back(), index);
    }
    std::optional<Expr> fill;
    if (const Expr *old = expr.readFill()) {
      fill = mapExpr(*old);
      isChanged |= fill->identity() != old->identity();
    }
    return isChanged ? Expr::read(expr.readValue(), expr.type(), indices, std::move(fill)) : expr;
  }
  llvm::SmallVector<Expr, 3> operands;
  for (const Expr &operand : expr.operands()) {
    operands.push_back(mapExpr(operand));
    isChanged |= operands.back().identity() != operand.identity();
  }
  if (!isChanged)
    return expr;
  switch (expr.kind()) {
  case ExprKind::Unary:
    return Expr::unary(expr.unaryOp(), operands[0]);
  case ExprKind::Binary:
    return Expr::binary(expr.binaryOp(), operands[0], operands[1]);
  case ExprKind::Select:
    return Expr::select(operands[0], operands[1], operands[2]);
  case ExprKind::Cast:
    return expr.isStored() ? Expr::stored(expr.type(), operands[0])
                           : Expr::cast(expr.type(), operands[0]);
  default:
    return expr;
  }
}

namespace {

/// Maps expressions bottom up, each shared one once, so that what was shared stays shared (and is
/// not expanded into a tree).
class SharedMap {
public:
  using Step = llvm::function_ref<Expr(const Expr &)>;

  /// `below` is what `step` uses for the expressions below.
  Expr map(const Expr &expr, llvm::function_ref<Expr(const Expr &, Step below)> step) {
    if (auto found = known.find(expr.identity()); found != known.end())
      return found->second;
    Expr result = step(expr, [&](const Expr &below) { return map(below, step); });
    known.try_emplace(expr.identity(), result);
    return result;
  }

private:
  llvm::SmallDenseMap<const void *, Expr, 8> known;
};

} // namespace

Expr substitute(const Expr &expr, llvm::ArrayRef<Index> replacements) {
  return SharedMap().map(expr, [&](const Expr &e, SharedMap::Step below) {
    return rebuild(e, [&](const Index &index) { return substitute(index, replacements); }, below);
  });
}

Index mapData(const Index &index, llvm::function_ref<Expr(const Expr &)> map) {
  Index result(index.constantTerm());
  for (const Term &term : index.terms()) {
    Index atom;
    switch (term.atom.kind) {
    case AtomKind::Iterator:
      atom = Index::iterator(term.atom.iterator);
      break;
    case AtomKind::FloorDiv:
      atom = mapData(term.atom.operand, map).floorDiv(term.atom.divisor);
      break;
    case AtomKind::Mod:
      atom = mapData(term.atom.operand, map).mod(term.atom.divisor);
      break;
    case AtomKind::Data:
      atom = Index::data(map(*term.atom.data));
      break;
    }
    result = result + atom * term.factor;
  }
  return result;
}

Expr rewrite(const Expr &expr, llvm::function_ref<Expr(const Expr &)> step) {
  return SharedMap().map(expr, [&](const Expr &e, SharedMap::Step below) {
    auto mapIndex = [&](const Index &index) {
      return index.isStatic() ? index : mapData(index, below);
    };
    return step(rebuild(e, mapIndex, below));
  });
}

static bool staysInside(llvm::ArrayRef<Index> indices, llvm::ArrayRef<Extent> shape,
                        llvm::ArrayRef<Interval> ranges) {
  return llvm::all_of(llvm::zip(indices, shape), [&](auto pair) {
    auto [index, extent] = pair;
    return index.isStatic() && rangeOf(index, ranges).within(Interval::of(extent));
  });
}

Expr simplifyIndices(const Expr &expr, llvm::ArrayRef<Interval> ranges,
                     llvm::function_ref<llvm::ArrayRef<Extent>(ValueId)> shapeOf) {
  return SharedMap().map(expr, [&](const Expr &e, SharedMap::Step below) {
    Expr result = rebuild(e, [&](const Index &index) { return simplify(index, ranges); }, below);
    if (result.kind() == ExprKind::Read && result.readFill() && shapeOf &&
        staysInside(result.readIndices(), shapeOf(result.readValue()), ranges))
      return Expr::read(result.readValue(), result.type(), result.readIndices());
    return result;
  });
}

} // namespace kintsugi::te
