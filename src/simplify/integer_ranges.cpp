#include "simplify/integer_ranges.h"

#include "base/checked.h"
#include "calls/call.h"
#include "te/constant.h"
#include "te/scalar.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

namespace kintsugi::simplify {

using namespace te;

namespace {

using Wide = __int128;

constexpr unsigned deepest = 64, mostExpressions = 4096;
constexpr int64_t largestConstant = 1 << 16; ///< Elements of those that are read for their bounds.

/// All that the type holds; a number of 64 bits without a sign is any.
Interval ofType(ElementType type) {
  if (isFloat(type) || type == ElementType::U64)
    return {INT64_MIN, INT64_MAX};
  return {lowestInteger(type), highestInteger(type)};
}

/// The range, or the type's where arithmetic would wrap around.
Interval unlessItWraps(ElementType type, Wide low, Wide high) {
  Interval whole = ofType(type);
  if (type == ElementType::U64 || low < whole.low || high > whole.high)
    return whole;
  return {static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

Interval intersection(Interval a, Interval b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

Interval either(Interval a, Interval b) {
  if (a.empty() || b.empty())
    return a.empty() ? b : a;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

} // namespace

Interval IntegerRanges::of(ValueId id) {
  if (auto found = known.find(id.number); found != known.end())
    return found->second;
  const Value &value = program.value(id);
  Interval range = ofType(value.type);
  if (depth == 0)
    fuel = mostExpressions;
  if (depth < deepest && !isFloat(value.type)) {
    ++depth;
    auto leave = llvm::scope_exit([&] { --depth; });
    // What is assumed of an expression speaks of the iterators around it.
    std::vector<Known> outside = std::exchange(assumed, {});
    if (value.kind == ValueKind::Constant)
      range = ofConstant(value);
    else if (value.kind == ValueKind::Result)
      range = intersection(range, ofResult(value));
    assumed = std::move(outside);
  }
  return known[id.number] = range;
}

Interval IntegerRanges::ofConstant(const Value &value) const {
  auto count = elementCount(plainShape(value.shape));
  if (!count || *count == 0 || *count > largestConstant)
    return ofType(value.type);
  Expected<Tensor> tensor = loadConstant(value);
  if (!tensor.ok() || value.type == ElementType::U64)
    return ofType(value.type);
  Interval range;
  for (int64_t k = 0; k < tensor->count(); ++k)
    range = either(range, Interval::point(loadInteger(tensor->view(), k)));
  return range;
}

/// As far as its rule says.
Interval IntegerRanges::ofCall(const Call &call, const Value &value) const {
  std::vector<calls::TensorType> operands;
  for (ValueId id : call.operands)
    operands.push_back({program.value(id).type, plainShape(program.shape(id))});
  auto types = calls::find(call.callee)->infer(operands, call.attributes);
  bool isKnown = types.ok() && (*types)[value.result].below > 0;
  return isKnown ? Interval{0, (*types)[value.result].below - 1} : ofType(value.type);
}

Interval IntegerRanges::ofResult(const Value &value) {
  if (const auto *call = std::get_if<Call>(&program.nodes[value.node]))
    return ofCall(*call, value);
  const auto *definition = std::get_if<Definition>(&program.nodes[value.node]);
  if (!definition)
    return ofType(value.type);
  llvm::SmallVector<Interval> iterators = definition->ranges();
  if (!definition->reduction)
    return of(definition->bodies[0], iterators);
  switch (definition->reduction->combiner) {
  case Combiner::ArgMax:
  case Combiner::ArgMin:
    return of(definition->bodies[1], iterators);
  case Combiner::Max:
  case Combiner::Min: {
    bool converts = definition->bodies[0].type() != value.type;
    bool isEmpty = llvm::any_of(iterators, [](const Interval &range) { return range.empty(); });
    return converts || isEmpty ? ofType(value.type) : of(definition->bodies[0], iterators);
  }
  case Combiner::Sum:
    return ofSum(*definition, value.type, iterators);
  default:
    return ofType(value.type);
  }
}

/// An integer that iterators alone decide.
static std::optional<Index> staticIndex(const Expr &expr) {
  if (expr.isLiteral() && isInteger(expr.type()))
    return Index(expr.literalInteger());
  if (expr.kind() == ExprKind::Index && expr.indexValue().isStatic())
    return expr.indexValue();
  if (expr.kind() != ExprKind::Binary || expr.binaryOp() != BinaryOp::Add)
    return std::nullopt;
  std::optional<Index> a = staticIndex(expr.operand(0)), b = staticIndex(expr.operand(1));
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

/// The terms of a sum along an iterator that a condition on it leaves at most: as a running sum's
/// `step <= place`.
static int64_t mostTerms(const Expr &body, unsigned iterator, llvm::ArrayRef<Interval> iterators) {
  int64_t all = iterators[iterator].size();
  bool isNothing = body.kind() == ExprKind::Select && body.operand(2).isLiteral() &&
                   body.operand(2).literalInteger() == 0;
  const Expr *condition = isNothing ? &body.operand(0) : nullptr;
  if (!condition || condition->kind() != ExprKind::Binary ||
      (condition->binaryOp() != BinaryOp::Less && condition->binaryOp() != BinaryOp::LessEqual))
    return all;
  std::optional<Index> left = staticIndex(condition->operand(0)),
                       right = staticIndex(condition->operand(1));
  if (!left || !right)
    return all;
  Index limit = te::simplify(*right - *left + Index::iterator(iterator), iterators);
  if (limit.uses(iterator))
    return all;
  int64_t last = rangeOf(limit, iterators).high;
  return std::clamp<int64_t>(condition->binaryOp() == BinaryOp::Less ? last : last + 1, 0, all);
}

Interval IntegerRanges::ofSum(const Definition &definition, ElementType type,
                              llvm::ArrayRef<Interval> iterators) {
  const Expr &body = definition.bodies[0];
  if (body.type() != type || definition.reduction->accumulator != type)
    return ofType(type);
  Interval each = either(of(body, iterators), Interval::point(0)); // What part of them sums to.
  Wide terms = 1;
  constexpr Wide mostTogether = Wide(1) << 62;
  for (unsigned k = definition.parallel.size(); k < iterators.size(); ++k)
    terms = std::min(terms * mostTerms(body, k, iterators), mostTogether);
  return unlessItWraps(type, terms * each.low, terms * each.high);
}

Interval IntegerRanges::of(const Expr &expr, llvm::ArrayRef<Interval> iterators) {
  if (isFloat(expr.type()) || fuel == 0)
    return ofType(expr.type());
  --fuel;
  Interval range = intersection(ofType(expr.type()), within(expr, iterators));
  for (const Known &each : assumed)
    if (each.expr.compare(expr) == 0)
      range = intersection(range, each.range);
  return range;
}

Interval IntegerRanges::within(const Expr &expr, llvm::ArrayRef<Interval> iterators) {
  switch (expr.kind()) {
  case ExprKind::Literal:
    return expr.type() == ElementType::U64 ? ofType(expr.type())
                                           : Interval::point(expr.literalInteger());
  case ExprKind::Index:
    return ofIndex(expr.indexValue(), iterators);
  case ExprKind::Read: {
    Interval range = of(expr.readValue());
    return expr.readFill() ? either(range, of(*expr.readFill(), iterators)) : range;
  }
  case ExprKind::Binary:
    return ofBinary(expr, of(expr.operand(0), iterators), of(expr.operand(1), iterators));
  case ExprKind::Select:
    return ofSelect(expr, iterators);
  case ExprKind::Cast: {
    Interval from = of(expr.operand(0), iterators), whole = ofType(expr.type());
    return expr.type() != ElementType::U64 && from.within(whole) ? from : whole;
  }
  case ExprKind::Unary:
    break;
  }
  return ofType(expr.type());
}

/// An index that data take part in may be any.
Interval IntegerRanges::ofIndex(const Index &index, llvm::ArrayRef<Interval> iterators) {
  return index.isStatic() ? rangeOf(index, iterators) : Interval{INT64_MIN, INT64_MAX};
}

Interval IntegerRanges::ofBinary(const Expr &expr, Interval a, Interval b) const {
  ElementType type = expr.type();
  if (a.empty() || b.empty() || type == ElementType::U64 || type == ElementType::Bool)
    return ofType(type);
  switch (expr.binaryOp()) {
  case BinaryOp::Add:
    return unlessItWraps(type, Wide(a.low) + b.low, Wide(a.high) + b.high);
  case BinaryOp::Sub:
    return unlessItWraps(type, Wide(a.low) - b.high, Wide(a.high) - b.low);
  case BinaryOp::Mul: {
    Wide corners[] = {Wide(a.low) * b.low, Wide(a.low) * b.high, Wide(a.high) * b.low,
                      Wide(a.high) * b.high};
    return unlessItWraps(type, *std::min_element(corners, corners + 4),
                         *std::max_element(corners, corners + 4));
  }
  case BinaryOp::Max:
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  case BinaryOp::Min:
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  case BinaryOp::Mod: // Has its divisor's sign.
    return b.low > 0 ? Interval{0, b.high - 1} : ofType(type);
  default:
    return ofType(type);
  }
}

/// In the branches of `x < number ? ... : ...` more is known of x.
Interval IntegerRanges::ofSelect(const Expr &expr, llvm::ArrayRef<Interval> iterators) {
  Expr condition = expr.operand(0);
  std::optional<Known> ifTrue, ifFalse;
  if (condition.kind() == ExprKind::Binary && condition.binaryOp() == BinaryOp::Less) {
    Expr x = condition.operand(0), limit = condition.operand(1);
    if (!isFloat(limit.type()) && limit.kind() == ExprKind::Literal &&
        limit.type() != ElementType::U64) {
      int64_t number = limit.literalInteger();
      ifFalse = Known{x, {number, INT64_MAX}};
      if (number > INT64_MIN)
        ifTrue = Known{x, {INT64_MIN, number - 1}};
    }
  }
  auto branch = [&](unsigned operand, const std::optional<Known> &fact) {
    if (fact)
      assumed.push_back(*fact);
    Interval range = of(expr.operand(operand), iterators);
    if (fact)
      assumed.pop_back();
    return range;
  };
  return either(branch(1, ifTrue), branch(2, ifFalse));
}

} // namespace kintsugi::simplify
