#include "cost/stream_cycles.h"

#include "loops/factor_move.h"
#include "loops/fuse.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace kintsugi::cost {

using namespace loops;

namespace {

constexpr double unitRows = 16, chunk = 8;
constexpr double farBytes = 35; // That a core brings in a cycle.

/// What the columns' factor needs beyond a copy.
double moveOf(const LoopNest &nest, const MatrixProduct &product, const Schedule &schedule) {
  const te::Expr &factor = nest.bodies[0].operand(product.columnsFactor);
  FactorMove move = factorMoveOf(factor, nest, product.element, product.columns, schedule);
  return std::max(0.0, move.instructions - FactorMove::border);
}

} // namespace

StreamCycles::StreamCycles(llvm::ArrayRef<LoopNest> nests, const SoftmaxNests &found,
                           const Schedule &schedule, const BlockLimits &limits)
    : keys(double(found.scores.numColumns)), depth(double(found.scores.depth)),
      operations(operationsOf(nests[1].bodies[0])),
      keysMove(moveOf(nests[0], found.scores, schedule)),
      valuesMove(moveOf(nests[3], found.weighted, schedule)), threads(schedule.threads),
      fillsCores(schedule.tiles() > limits.cores), core(limits.core) {}

StreamCycles::Step StreamCycles::stepOf(const MatrixTile &scores,
                                        const MatrixTile &weighted) const {
  double block = double(scores.columns), own = block / scores.across, rows = double(scores.rows);
  double terms = double(llvm::alignTo(int64_t(depth), scores.depth));
  double values = double(weighted.columns);
  Step step;
  step.brought = block * (terms + values) * 2;
  step.staging = block * (terms * keysMove + values * valuesMove) / (chunk * threads);
  step.powers = rows * block;
  if (scores.inFours) { // See MatrixCycles: each reads 16 terms of 64 rows, but powers.
    double products = rows / 64 * scores.across;
    step.onUnits =
        products * (terms / 16 * std::max(own / 2, (64 + own) / 4) + own / 16 * values / 2);
    step.moved = step.brought + products * (terms * (64 + own) + own * values) * 2;
    step.ofWarp = unitRows * own / core.subgroup * (operations + 8) + 60;
    return step;
  }
  step.onUnits = rows * block * (terms + values) / core.matrixMultiplyAdds;
  step.moved = step.brought + scores.down * step.brought + rows * terms * 2 * scores.across;
  step.ofWarp =
      unitRows * own / core.subgroup * (operations + 12) + (terms + values) / 16 * (own / 8) * 1.5;
  return step;
}

/// Four warps that multiply do nothing else meanwhile.
double StreamCycles::busyIn(const Step &step, const MatrixTile &scores) const {
  double issued = (step.ofWarp + step.staging) * scores.down * scores.across / core.schedulers;
  double powers = std::max(step.powers / core.exponentials, issued);
  double computing = scores.inFours ? step.onUnits + powers : std::max(step.onUnits, powers);
  return std::max({computing, step.moved / core.scratchBytesACycle, step.brought / farBytes});
}

BlockCycles StreamCycles::of(const MatrixTile &scores, const MatrixTile &weighted,
                             bool skips) const {
  constexpr double barrier = 150, latency = 400, fromFar = 700, start = 1100;
  constexpr double shown = 0.5; // Of blocks, about: constants are not at hand here.
  double steps = std::ceil(keys / double(scores.columns) * (skips ? shown : 1));
  Step step = stepOf(scores, weighted);
  double busy = busyIn(step, scores);
  // From one instruction of a warp to the next: alone it has a quarter of a scheduler's rate.
  double apart = scores.inFours ? 2.1 : core.schedulers;
  double waits = std::max(latency + barrier + apart * step.ofWarp + step.staging,
                          (fromFar + step.brought / farBytes) / (scores.stages - 1));
  BlockCycles cycles;
  cycles.busy = steps * busy;
  cycles.alone = steps * std::max(busy, waits) + fromFar + start;
  constexpr double waitForOther = 550; // Of warps that share rows, for what each has found.
  constexpr double waitForRows = 700;  // Of groups that go on by themselves.
  if (scores.across > 1)
    cycles.alone += scores.across * (double(weighted.columns) * 2 + waitForOther) +
                    scores.inFours * waitForRows;
  // Two such blocks on a core took half as long again as one, measured on an H200.
  constexpr double inTheWay = 0.75;
  if (!scores.inFours && fillsCores)
    cycles.busy = std::max(cycles.busy, inTheWay * cycles.alone);
  return cycles;
}

} // namespace kintsugi::cost
