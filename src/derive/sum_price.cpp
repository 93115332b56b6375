#include "derive/sum_price.h"

#include "derive/correlation.h"
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
  constexpr double reached = 0.5;    ///< Of the rate at which a core could compute.
  constexpr double bytesEach = 4;
  double before = pointsOf(sum.reduction->iterators), saved = before - less.terms;
  if (saved < leastShare * before || (2 * less.terms > before && saved < leastTerms))
    return false;
  const machine::Machine &machine = context.space.schedule.machine;
  double rate = machine.flopsPerSecond * machine.cores / 2, results = pointsOf(sum.parallel);
  double left = less.terms * less.times, starting = machine.stageSeconds * less.kernels;
  if (!isDominant)
    return results * (before - left) / rate > context.margins.commutedSums * starting;
  double moving =
      2 * less.kernels * results * bytesEach / std::max(1e9, machine.memory().bytesPerSecondAll);
  return results * before / (rate * quickest(program, sum, machine)) >
         results * left / (reached * rate) + moving + starting;
}

} // namespace kintsugi::derive
