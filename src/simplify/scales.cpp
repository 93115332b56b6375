#include "simplify/scales.h"

#include "base/half.h"
#include "simplify/storage.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::simplify {

using namespace te;

namespace {

/// Far from the end of f32's exponents, which two of them add up to at most.
constexpr int mostExponent = 48;

/// An exponent, or none for a literal, which may be divided by any power.
class Division {
public:
  explicit Division(ExponentOfRead exponentOf) : exponentOf(exponentOf) {}

  std::optional<int> common(const Expr &expr) {
    auto found = exponents.find(expr.identity());
    if (found == exponents.end())
      found = exponents.emplace(expr.identity(), computeCommon(expr)).first;
    return found->second;
  }

  Expr divided(const Expr &expr, int exponent) {
    std::optional<int> own = common(expr);
    if (!own)
      return Expr::literal(expr.type(), std::ldexp(expr.literalFloat(), -exponent));
    Expr result = byCommon(expr);
    if (*own == exponent)
      return result;
    return result * Expr::literal(expr.type(), std::ldexp(1.0, *own - exponent));
  }

private:
  std::optional<int> computeCommon(const Expr &expr) {
    if (expr.type() != ElementType::F32)
      return 0;
    switch (expr.kind()) {
    case ExprKind::Literal:
      return std::nullopt;
    case ExprKind::Read:
      return exponentOf(expr);
    case ExprKind::Unary:
      return keepsScale(expr.unaryOp()) ? common(expr.operand(0)).value_or(0) : 0;
    case ExprKind::Select:
      return shared(expr.operand(1), expr.operand(2));
    case ExprKind::Binary:
      break;
    default:
      return 0;
    }
    std::optional<int> left = common(expr.operand(0)), right = common(expr.operand(1));
    switch (expr.binaryOp()) {
    case BinaryOp::Mul:
      return bounded(left.value_or(0) + right.value_or(0));
    case BinaryOp::Div:
      return bounded(left.value_or(0) - right.value_or(0));
    default:
      return distributes(expr.binaryOp()) ? shared(expr.operand(0), expr.operand(1)) : 0;
    }
  }

  /// Powers of powers would leave f32's own range.
  static int bounded(int exponent) { return std::abs(exponent) <= mostExponent ? exponent : 0; }

  int shared(const Expr &a, const Expr &b) {
    std::optional<int> left = common(a), right = common(b);
    int first = left ? *left : right.value_or(0);
    return right.value_or(first) == first ? first : 0;
  }

  static bool keepsScale(UnaryOp op) { return op == UnaryOp::Neg || op == UnaryOp::Abs; }

  static bool distributes(BinaryOp op) {
    return op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Max || op == BinaryOp::Min;
  }

  /// An expression divided by what it and its reads have in common.
  Expr byCommon(const Expr &expr) {
    auto found = results.find(expr.identity());
    if (found == results.end())
      found = results.emplace(expr.identity(), computeByCommon(expr)).first;
    return found->second;
  }

  Expr computeByCommon(const Expr &expr) {
    int exponent = common(expr).value_or(0);
    switch (expr.kind()) {
    case ExprKind::Read:
      if (const Expr *fill = expr.readFill())
        return Expr::read(expr.readValue(), expr.type(), expr.readIndices(),
                          divided(*fill, exponent));
      return expr;
    case ExprKind::Unary:
      if (expr.type() == ElementType::F32 && keepsScale(expr.unaryOp()))
        return Expr::unary(expr.unaryOp(), byCommon(expr.operand(0)));
      return Expr::unary(expr.unaryOp(), divided(expr.operand(0), 0));
    case ExprKind::Select:
      return Expr::select(divided(expr.operand(0), 0), divided(expr.operand(1), exponent),
                          divided(expr.operand(2), exponent));
    case ExprKind::Cast: {
      Expr operand = divided(expr.operand(0), 0);
      return expr.isStored() ? Expr::stored(expr.type(), operand)
                             : Expr::cast(expr.type(), operand);
    }
    case ExprKind::Binary:
      break;
    default:
      return expr;
    }
    const Expr &left = expr.operand(0), &right = expr.operand(1);
    if (expr.type() == ElementType::F32 && leavesOut(expr))
      return Expr::binary(expr.binaryOp(), byCommon(left), byCommon(right));
    return Expr::binary(expr.binaryOp(), divided(left, exponent), divided(right, exponent));
  }

  /// Whether a product or quotient is divided by what its operands are divided by.
  bool leavesOut(const Expr &expr) {
    int left = common(expr.operand(0)).value_or(0), right = common(expr.operand(1)).value_or(0);
    int exponent = common(expr).value_or(0);
    return (expr.binaryOp() == BinaryOp::Mul && left + right == exponent) ||
           (expr.binaryOp() == BinaryOp::Div && left - right == exponent);
  }

  ExponentOfRead exponentOf;
  std::map<const void *, std::optional<int>> exponents; ///< By identity of expressions.
  std::map<const void *, Expr> results;
};

} // namespace

int commonExponent(const Expr &expr, ExponentOfRead exponentOf) {
  return Division(exponentOf).common(expr).value_or(0);
}

Expr dividedBy(int exponent, const Expr &expr, ExponentOfRead exponentOf) {
  return Division(exponentOf).divided(expr, exponent);
}

//===- Scales ---------------------------------------------------------------===//

Scales::Scales(const Program &program, ElementType narrow)
    : program(program), seen(program.numValues()), stored(program.numValues()),
      summed(program.numValues()), copied(program.numValues()) {
  uint64_t code = encodeFloat(narrow, std::numeric_limits<double>::max(), OutOfRange::Clamp);
  last = decodeFloat(narrow, code);
}

void Scales::find(const std::vector<bool> &constantNodes, const Wide &wide,
                  llvm::ArrayRef<double> greatest) {
  seen.assign(greatest.begin(), greatest.end());
  for (ValueId id : program.inputs)
    copied[id.number] = exponentOfCopy(seen[id.number]);
  std::vector<bool> typed = findTyped(), compared = findCompared();
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    if (constantNodes[node])
      continue;
    const auto *definition = std::get_if<Definition>(&program.nodes[node]);
    for (ValueId id : program.resultsOf(node)) {
      if (program.value(id).type != ElementType::F32)
        continue;
      if (!definition || typed[id.number] || wide.plain[id.number])
        copied[id.number] = exponentOfCopy(seen[id.number]);
      else if (id == definition->results[0])
        scale(*definition, wide.unread[id.number], compared[id.number]);
    }
  }
}

/// Values that are an output, a scan's, a call's or an index's lie in memory as the model says.
std::vector<bool> Scales::findTyped() const {
  std::vector<bool> typed(program.numValues());
  auto mark = [&](const Expr &data) {
    for (ValueId id : readsOf(data))
      typed[id.number] = true;
  };
  auto markIndices = [&](const Expr &body) {
    body.walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Index)
        e.indexValue().forEachData(mark);
      if (e.kind() == ExprKind::Read)
        for (const Index &index : e.readIndices())
          index.forEachData(mark);
    });
  };
  for (const Program::Output &output : program.outputs)
    typed[output.value.number] = true;
  for (const Node &node : program.nodes) {
    if (const auto *definition = std::get_if<Definition>(&node))
      llvm::for_each(definition->bodies, markIndices);
    if (const auto *scan = std::get_if<Scan>(&node))
      for (ValueId id : llvm::concat<const ValueId>(scan->initial, scan->captured))
        typed[id.number] = true;
    if (const auto *call = std::get_if<Call>(&node))
      for (ValueId id : call->operands)
        typed[id.number] = true;
  }
  return typed;
}

/// What softmaxes are made of, exp(x - m) with a maximum m, is not divided. The difference would
/// have to be multiplied in every term, and kernels that never store x (loops/streamed_softmax)
/// would not know it as a softmax's. The greatest of x is often what a mask puts there, -1e4, which
/// says nothing of what is seen.
std::vector<bool> Scales::findCompared() const {
  std::vector<bool> compared(program.numValues());
  auto isMaximum = [&](const Expr &e) {
    const Definition *definition =
        e.kind() == ExprKind::Read ? program.definitionOf(e.readValue()) : nullptr;
    return definition && definition->reduction && definition->reduction->combiner == Combiner::Max;
  };
  auto mark = [&](const Expr &e) {
    if (e.kind() != ExprKind::Unary || e.unaryOp() != UnaryOp::Exp ||
        e.operand(0).kind() != ExprKind::Binary || e.operand(0).binaryOp() != BinaryOp::Sub ||
        !isMaximum(e.operand(0).operand(1)))
      return;
    for (ValueId id : readsOf(e.operand(0)))
      compared[id.number] = true;
  };
  for (const Node &node : program.nodes)
    if (const auto *definition = std::get_if<Definition>(&node))
      for (const Expr &body : definition->bodies)
        body.walk(mark);
  return compared;
}

/// Values are divided if they come near the end of the range, since other inputs may make them
/// larger than those that were tried, and then have as much place above as below.
int Scales::exponentFor(double greatest) const {
  constexpr double headroom = 16, wanted = 256;
  if (greatest * headroom <= last)
    return 0;
  return std::min(mostExponent, int(std::ceil(std::log2(greatest / wanted))));
}

/// Nothing but products reads a copy, so that it may be multiplied, too.
int Scales::exponentOfCopy(double greatest) const {
  if (!isTiny(greatest))
    return exponentFor(greatest);
  return std::max(-mostExponent, int(std::ceil(std::log2(greatest))));
}

/// Whether digits are lost of the greatest already.
bool Scales::isTiny(double greatest) const { return greatest > 0 && greatest < 0x1p-13; }

bool Scales::isBeyond(ValueId id) const {
  return !fits(seen[id.number], of(id)) || isTiny(std::ldexp(seen[id.number], -of(id)));
}

bool Scales::fits(double greatest, int exponent) const {
  constexpr double least = 0x1p-4; // f16 loses digits below 2^-14.
  double divided = std::ldexp(greatest, -exponent);
  bool isSmall = greatest == 0 ? exponent < 0 : divided < least;
  return exponentFor(divided) == 0 && (exponent == 0 || !isSmall);
}

void Scales::scale(const Definition &definition, bool isUnread, bool isCompared) {
  if (definition.reduction && definition.reduction->combiner != Combiner::Sum &&
      definition.reduction->combiner != Combiner::Max &&
      definition.reduction->combiner != Combiner::Min)
    return;
  ValueId id = definition.results[0];
  llvm::SmallVector<Expr, 2> factors = bareFactorsOf(definition);
  int common = commonExponent(definition.bodies[0], [&](const Expr &read) {
    return llvm::is_contained(factors, read) ? ofFactor(read.readValue()) : of(read.readValue());
  });
  bool leavesOut = isUnread || fits(seen[id.number], common);
  stored[id.number] = isCompared ? 0 : leavesOut ? common : exponentFor(seen[id.number]);
  // A product of matrices is that of what it reads, and nothing else.
  summed[id.number] = factors.empty() ? stored[id.number] : common;
}

} // namespace kintsugi::simplify
