#include "simplify/magnitude.h"

#include "base/half.h"
#include "simplify/facts.h"
#include "te/constant.h"
#include "te/product.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::simplify {

using namespace te;

namespace {

/// A window of so many elements leaves a tensor of values; a longer reduction leaves statistics.
constexpr int64_t longestWindow = 64;
/// Products of more of a model's values than this, which nothing scales back, may be of any size.
constexpr double greatestDegree = 2;
/// So many products of two such values may add up to anything, too.
constexpr int64_t longestProduct = 256;
/// exp of what is at most this fits every type.
constexpr double exponentThatFits = 10;

int64_t termsOf(const Definition &definition) {
  int64_t terms = 1;
  for (const Iterator &iterator : definition.reduction->iterators)
    terms *= iterator.extent.constant();
  return terms;
}

/// The factors of a product of any number of them.
void factorsOf(const Expr &expr, llvm::SmallVectorImpl<Expr> &factors) {
  if (expr.kind() == ExprKind::Binary && expr.binaryOp() == BinaryOp::Mul) {
    factorsOf(expr.operand(0), factors);
    factorsOf(expr.operand(1), factors);
  } else {
    factors.push_back(expr);
  }
}

/// Whether both a least and a greatest number hold an expression in.
bool isClamped(const Expr &expr) {
  bool above = false, below = false;
  const Expr *e = &expr;
  while (e->kind() == ExprKind::Binary &&
         (e->binaryOp() == BinaryOp::Max || e->binaryOp() == BinaryOp::Min)) {
    unsigned bound = e->operand(0).isLiteral() ? 0 : 1;
    if (!e->operand(bound).isLiteral())
      break;
    (e->binaryOp() == BinaryOp::Max ? above : below) = true;
    e = &e->operand(1 - bound);
  }
  return above && below;
}

/// Whether a reduction runs over a dimension of a value by itself, as norms and softmax do and
/// windows don't. What such values are compared with their maximum for, say exp(x - max), depends
/// on both being rounded alike, which values that stay in registers are not.
bool reducesDimensions(const Definition &definition) {
  unsigned first = definition.parallel.size();
  bool found = false;
  definition.bodies[0].walk([&](const Expr &e) {
    if (e.kind() == ExprKind::Read)
      for (const Index &index : e.readIndices())
        found |= index.asIterator() >= int(first);
  });
  return found;
}

/// Whether an input of the program is a term of a sum.
bool addsInput(const Program &program, const Expr &expr) {
  if (expr.kind() == ExprKind::Read)
    return program.value(expr.readValue()).kind == ValueKind::Input && isFloat(expr.type());
  bool isSum = expr.kind() == ExprKind::Binary &&
               (expr.binaryOp() == BinaryOp::Add || expr.binaryOp() == BinaryOp::Sub);
  return isSum &&
         llvm::any_of(expr.operands(), [&](const Expr &term) { return addsInput(program, term); });
}

bool hasSquare(const Expr &product) {
  llvm::SmallVector<Expr> factors;
  factorsOf(product, factors);
  for (size_t i = 0; i < factors.size(); ++i)
    for (size_t j = i + 1; j < factors.size(); ++j)
      if (!factors[i].isLiteral() && factors[i] == factors[j])
        return true;
  return false;
}

} // namespace

Magnitudes::Magnitudes(const Program &program, ElementType narrow,
                       const std::vector<bool> &constantNodes, llvm::ArrayRef<Magnitude> inputs)
    : program(program), narrow(narrow), constantNodes(constantNodes), known(program.numValues()),
      maximized(program.numValues(), false), degrees(program.numValues(), 0) {
  findMaximized();
  for (ValueId id : program.inputs)
    degrees[id.number] = isFloat(program.value(id).type) ? 1 : 0;
  for (auto [id, magnitude] : llvm::zip(program.inputs, inputs))
    known[id.number] = magnitude;
  for (uint32_t number = 0; number < program.numValues(); ++number)
    if (program.values[number].kind == ValueKind::Constant)
      known[number] = ofConstant(program.values[number]);
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    findDegrees(node);
    if (const auto *definition = std::get_if<Definition>(&program.nodes[node])) {
      Magnitude magnitude = ofDefinition(node, *definition);
      for (ValueId result : definition->results)
        known[result.number] = magnitude;
    }
  }
}

void Magnitudes::findMaximized() {
  for (const Node &node : program.nodes) {
    const auto *definition = std::get_if<Definition>(&node);
    bool isReduction = definition && definition->reduction;
    // A dimension of one element leaves no iterator behind.
    if (!isReduction || (termsOf(*definition) > 1 && !reducesDimensions(*definition)) ||
        (definition->reduction->combiner != Combiner::Max &&
         definition->reduction->combiner != Combiner::SoftmaxStats))
      continue;
    definition->bodies[0].walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read)
        maximized[e.readValue().number] = true;
    });
  }
}

/// Scores to which an input is added: masks hide with the lowest number of f32. Where they hide a
/// whole row, that number less itself has to be 0, as it is of no infinity.
bool Magnitudes::maskedByInput(const Definition &definition) const {
  return !definition.reduction && maximized[definition.results[0].number] &&
         definition.bodies[0].kind() == ExprKind::Binary &&
         addsInput(program, definition.bodies[0]);
}

bool Magnitudes::isConstant(ValueId id) const {
  const Value &value = program.value(id);
  return value.kind == ValueKind::Constant ||
         (value.kind == ValueKind::Result && constantNodes[value.node]);
}

bool Magnitudes::fits(double value) const {
  return std::isnan(value) || std::isfinite(decodeFloat(narrow, encodeFloat(narrow, value)));
}

/// Up to which all integers are numbers of the type.
double Magnitudes::greatestInteger() const { return narrow == ElementType::F16 ? 2048 : 256; }

/// One that can't be loaded is taken for an ordinary one: who needs it will say what is wrong.
Magnitude Magnitudes::ofConstant(const Value &value) const {
  if (value.type != ElementType::F32)
    return {};
  Expected<Tensor> tensor = loadConstant(value);
  if (!tensor.ok())
    return {};
  const auto *elements = reinterpret_cast<const float *>(tensor->bytes().data());
  float greatest = 0;
  for (size_t i = 0, count = tensor->bytes().size() / sizeof(float); i < count; ++i)
    greatest = std::max(greatest, std::abs(elements[i])); // NaN stays out.
  // Where the greatest is so small that the least steps of the type show, digits would be missing.
  constexpr float leastScale = 1.0f / (1 << 13);
  if (narrow == ElementType::F16 && greatest > 0 && greatest < leastScale)
    return {.statistic = true};
  return {.large = !fits(greatest)};
}

/// Of floats that are no constants.
bool Magnitudes::readsOnlyStatistics(const Definition &definition) const {
  bool any = false, only = true;
  definition.bodies[0].walk([&](const Expr &e) {
    if (e.kind() != ExprKind::Read || !isFloat(e.type()) || isConstant(e.readValue()))
      return;
    any = true;
    only &= of(e.readValue()).statistic;
  });
  return any && only;
}

bool Magnitudes::leavesStatistics(const Definition &definition) const {
  switch (definition.reduction->combiner) {
  case Combiner::Sum:
    return !isContraction(definition) && termsOf(definition) > longestWindow;
  case Combiner::Max:
  case Combiner::Min:
    return termsOf(definition) > longestWindow || reducesDimensions(definition);
  default:
    return true;
  }
}

bool Magnitudes::isLongProduct(const Definition &definition) {
  return isContraction(definition) && termsOf(definition) > longestProduct &&
         llvm::all_of(definition.bodies[0].operands(),
                      [&](const Expr &factor) { return degreeOf(factor) > 0; });
}

Magnitude Magnitudes::ofDefinition(uint32_t node, const Definition &definition) {
  ranges = definition.ranges();
  large.clear();
  Magnitude magnitude;
  if (!constantNodes[node])
    magnitude.statistic =
        definition.reduction ? leavesStatistics(definition) : readsOnlyStatistics(definition);
  std::optional<Combiner> combiner;
  if (definition.reduction)
    combiner = definition.reduction->combiner;
  magnitude.large =
      combiner == Combiner::Prod || isLongProduct(definition) || maskedByInput(definition) ||
      // What masks hide is not what is greatest.
      (combiner != Combiner::SoftmaxStats && llvm::any_of(definition.bodies, [&](const Expr &body) {
         return isFloat(body.type()) && (degreeOf(body) > greatestDegree || mayBeLarge(body));
       }));
  return magnitude;
}

//===- Degrees --------------------------------------------------------------===//

void Magnitudes::findDegrees(uint32_t node) {
  const auto *definition = std::get_if<Definition>(&program.nodes[node]);
  degreesBelow.clear();
  double degree = 0;
  if (definition)
    degree = degreeOf(definition->bodies[0]);
  else
    for (ValueId operand : program.operandsOf(node))
      degree = std::max(degree, degrees[operand.number]);
  for (auto [k, result] : llvm::enumerate(program.resultsOf(node)))
    degrees[result.number] = definition && k > 0 ? 0 : degree; // exp(x - m) has none.
}

/// How an expression grows with the model's inputs: x y with the product of both, x / y with
/// neither, a normalized x not at all.
double Magnitudes::degreeOf(const Expr &expr) {
  auto found = degreesBelow.find(expr.identity());
  if (found == degreesBelow.end())
    found = degreesBelow.emplace(expr.identity(), computeDegree(expr)).first;
  return found->second;
}

double Magnitudes::computeDegree(const Expr &expr) {
  if (expr.kind() == ExprKind::Read)
    return degrees[expr.readValue().number];
  if (!isFloat(expr.type()))
    return 0;
  if (expr.kind() == ExprKind::Cast)
    return degreeOf(expr.operand(0));
  if (expr.kind() == ExprKind::Select)
    return std::max(degreeOf(expr.operand(1)), degreeOf(expr.operand(2)));
  if (expr.kind() == ExprKind::Unary)
    switch (expr.unaryOp()) {
    case UnaryOp::Neg:
    case UnaryOp::Abs:
    case UnaryOp::Ceil:
    case UnaryOp::Floor:
    case UnaryOp::Round:
      return degreeOf(expr.operand(0));
    case UnaryOp::Sqrt:
      return degreeOf(expr.operand(0)) / 2;
    default:
      return 0;
    }
  if (expr.kind() != ExprKind::Binary || isClamped(expr))
    return 0;
  double left = degreeOf(expr.operand(0)), right = degreeOf(expr.operand(1));
  switch (expr.binaryOp()) {
  case BinaryOp::Mul:
    return left + right;
  case BinaryOp::Div:
    return left - right;
  case BinaryOp::Pow:
    return expr.operand(1).isLiteral() ? left * expr.operand(1).literalFloat() : left;
  default:
    return std::max(left, right);
  }
}

//===- Expressions ----------------------------------------------------------===//

bool Magnitudes::mayBeLarge(const Expr &expr) {
  auto found = large.find(expr.identity());
  if (found == large.end())
    found = large.emplace(expr.identity(), computeLarge(expr)).first;
  return found->second;
}

bool Magnitudes::computeLarge(const Expr &expr) {
  switch (expr.kind()) {
  case ExprKind::Literal:
    return !fits(expr.literalFloat());
  case ExprKind::Index: {
    if (!expr.indexValue().isStatic())
      return true;
    Interval range = rangeOf(expr.indexValue(), ranges);
    return std::max(std::abs(double(range.low)), std::abs(double(range.high))) > greatestInteger();
  }
  case ExprKind::Read: {
    const Expr *fill = expr.readFill();
    bool filled = fill && !(fill->isLiteral() && std::isinf(fill->literalFloat()));
    return of(expr.readValue()).large || (filled && mayBeLarge(*fill));
  }
  case ExprKind::Unary:
    return largeUnary(expr);
  case ExprKind::Binary:
    return largeBinary(expr);
  case ExprKind::Select:
    return mayBeLarge(expr.operand(1)) || mayBeLarge(expr.operand(2));
  case ExprKind::Cast: {
    ElementType from = expr.operand(0).type();
    return isFloat(from) ? mayBeLarge(expr.operand(0)) : from != ElementType::Bool;
  }
  }
  return true;
}

bool Magnitudes::largeUnary(const Expr &expr) {
  const Expr &operand = expr.operand(0);
  switch (expr.unaryOp()) {
  case UnaryOp::Neg:
  case UnaryOp::Abs:
    return mayBeLarge(operand);
  case UnaryOp::Ceil:
  case UnaryOp::Floor:
  case UnaryOp::Round: // Integers in floats.
  case UnaryOp::Tan:
  case UnaryOp::Sinh:
  case UnaryOp::Cosh:
  case UnaryOp::FromBits:
    return true;
  case UnaryOp::Exp: {
    std::optional<double> high = factsOf(operand, program).high;
    return !subtractsMaximum(operand) && !(high && *high <= exponentThatFits);
  }
  default:
    return false;
  }
}

/// Whether it is x - m where m is a maximum or a softmax's.
bool Magnitudes::subtractsMaximum(const Expr &expr) const {
  if (expr.kind() != ExprKind::Binary || expr.binaryOp() != BinaryOp::Sub ||
      expr.operand(1).kind() != ExprKind::Read)
    return false;
  const Definition *definition = program.definitionOf(expr.operand(1).readValue());
  return definition && definition->reduction &&
         (definition->reduction->combiner == Combiner::Max ||
          definition->reduction->combiner == Combiner::SoftmaxStats);
}

bool Magnitudes::largeBinary(const Expr &expr) {
  const Expr &left = expr.operand(0), &right = expr.operand(1);
  auto eitherLarge = [&] { return mayBeLarge(left) || mayBeLarge(right); };
  switch (expr.binaryOp()) {
  case BinaryOp::Mul:
    return hasSquare(expr) || eitherLarge();
  case BinaryOp::Div: // Of two that grow alike the quotient does not.
    if (right.isLiteral() && !fits(1 / right.literalFloat()))
      return true;
    return mayBeLarge(left) && (right.isLiteral() || !mayBeLarge(right));
  case BinaryOp::Pow:
    return !right.isLiteral() || right.literalFloat() < 0 || right.literalFloat() > 1;
  case BinaryOp::Max:
  case BinaryOp::Min: {
    // A bound that nothing reaches, or that holds the other side in, makes nothing large.
    double unreached = expr.binaryOp() == BinaryOp::Max ? -1 : 1;
    for (auto [bound, other] : {std::pair(&left, &right), std::pair(&right, &left)})
      if (bound->isLiteral() && bound->literalFloat() * unreached > 0 &&
          !fits(bound->literalFloat()))
        return mayBeLarge(*other);
    return eitherLarge();
  }
  default:
    return eitherLarge();
  }
}

} // namespace kintsugi::simplify
