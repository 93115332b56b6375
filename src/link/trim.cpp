#include "link/trim.h"

#include "tile/launch.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::link {

using loops::LoopNest;
using loops::Schedule;

namespace {

class Trimming {
public:
  Trimming(const orchestrate::Plan &plan, const orchestrate::Stage &stage)
      : plan(plan), stage(stage), schedule(plan.kernels[stage.kernel].shape->schedule) {}

  std::optional<runtime::Trim> run() const {
    if (areTakenBackwards())
      return std::nullopt;
    uint64_t inner = schedule.tiles();
    for (auto [number, dimension] : llvm::enumerate(schedule.space)) {
      uint64_t cuts = dimension.count();
      inner /= cuts;
      int64_t rows = dimension.extent / plan.open->high;
      if (cuts > 1 && dimension.extent % plan.open->high == 0 && cutsSteps(number, rows))
        return runtime::Trim{uint64_t(rows), uint64_t(dimension.size), cuts, inner, bandOf(number)};
    }
    return std::nullopt;
  }

private:
  bool areTakenBackwards() const {
    auto skips = [](const LoopNest &nest) { return nest.skipsBlocks; };
    return schedule.threads > 0 && llvm::any_of(schedule.nests, skips);
  }

  uint64_t bandOf(size_t dimension) const {
    bool isBanded = schedule.threads > 0 && dimension + 2 >= schedule.space.size();
    return isBanded ? uint64_t(tile::rowsOfBand) : 1;
  }

  /// Whether tiles that start behind a step store nothing of it.
  bool cutsSteps(unsigned dimension, int64_t rows) const {
    return llvm::all_of(schedule.nests, [&](const LoopNest &nest) {
      return llvm::all_of(nest.destinations, [&](unsigned number) {
        const loops::Buffer &buffer = schedule.buffers[number];
        return buffer.home == loops::Home::Scratch || storesSteps(nest, number, dimension, rows);
      });
    });
  }

  bool storesSteps(const LoopNest &nest, unsigned number, unsigned dimension, int64_t rows) const {
    const orchestrate::PlanBuffer &buffer = plan.buffers[stage.operands[number]];
    te::CutRows cut{nest.originIterator(dimension), rows, schedule.space[dimension].size};
    return buffer.validity.isSteps() &&
           te::startsAtStep(nest.destinationIndex, buffer.shape, buffer.validity, cut,
                            nest.ranges(schedule.space), plan.open->high);
  }

  const orchestrate::Plan &plan;
  const orchestrate::Stage &stage;
  const Schedule &schedule;
};

} // namespace

std::optional<runtime::Trim> trimOf(const orchestrate::Plan &plan,
                                    const orchestrate::Stage &stage) {
  return Trimming(plan, stage).run();
}

} // namespace kintsugi::link
