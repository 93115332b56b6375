#include "derive/sum_price.h"

#include "derive/correlation.h"
#include "derive/multiply_adds.h"
#include "te/operations.h"

namespace kintsugi::derive {

using namespace te;

/// How many times fewer multiply-adds, or quicker ones, a sum as it is may take: where a window
/// slides, and on matrix units.
static double quickest(const Program &program, const Definition &sum,
                       const machine::Machine &machine) {
  constexpr double bilinear = 4;
  double times = findCorrelation(program, sum) ? bilinear : 1;
  if (machine.threads > 0)
    times *= std::max(1.0, double(machine.core.matrixMultiplyAdds) / machine.core.multiplyAdds);
  return times;
}

const Definition *sumOfProducts(const Node &node) {
  const auto *sum = std::get_if<Definition>(&node);
  if (!sum || !sum->reduction || sum->bodies.size() != 1 ||
      sum->reduction->combiner != Combiner::Sum)
    return nullptr;
  const Expr &body = sum->bodies[0];
  bool isProduct = body.kind() == ExprKind::Binary && body.binaryOp() == BinaryOp::Mul;
  return isProduct && isFloat(body.type()) ? sum : nullptr;
}

bool pays(const LessOfSum &less, const Program &program, const Definition &sum,
          const RuleContext &context, bool isDominant) {
  constexpr double leastShare = 0.1; ///< What saves less is not worth a form, whatever margins are;
  constexpr double leastTerms = 8;   ///< nor are fewer where more than half are left.
  constexpr double bytesEach = 4;
  double before = pointsOf(sum.reduction->iterators), saved = before - less.terms;
  if (saved < leastShare * before || (2 * less.terms > before && saved < leastTerms))
    return false;
  const machine::Machine &machine = context.space.schedule.machine;
  double results = pointsOf(sum.parallel);
  MultiplyAdds its{.before = results * before,
                   .after = results * less.terms * less.times,
                   .bytes = less.kernels * results * bytesEach,
                   .definitions = less.kernels};
  if (!isDominant)
    return its.saveLaunches(machine, context.margins.commutedSums);
  its.before /= quickest(program, sum, machine);
  return its.areDominant(machine);
}

} // namespace kintsugi::derive
