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

  std::vector<runtime::Trim> run() const {
    std::vector<runtime::Trim> trims;
    if (areTakenBackwards())
      return trims;
    uint64_t inner = schedule.tiles();
    std::vector<bool> isCut(plan.open.size());
    for (unsigned number = 0; number < schedule.space.size(); ++number) {
      inner /= schedule.space[number].count();
      for (unsigned open = 0; open < plan.open.size(); ++open)
        if (auto trim = isCut[open] ? std::nullopt : trimAlong(number, open, inner)) {
          isCut[open] = true;
          trims.push_back(*trim);
          break;
        }
    }
    return trims;
  }

private:
  std::optional<runtime::Trim> trimAlong(unsigned number, unsigned open, uint64_t inner) const {
    const auto &dimension = schedule.space[number];
    const int64_t high = plan.open[open].high, rows = dimension.extent / high;
    if (dimension.count() < 2 || dimension.extent % high != 0 || !cutsSteps(number, rows, open))
      return std::nullopt;
    return runtime::Trim{
        open,  uint64_t(rows), uint64_t(dimension.size), uint64_t(dimension.count()),
        inner, bandOf(number)};
  }

  bool areTakenBackwards() const {
    auto skips = [](const LoopNest &nest) { return nest.skipsBlocks; };
    return schedule.threads > 0 && llvm::any_of(schedule.nests, skips);
  }

  uint64_t bandOf(size_t dimension) const {
    bool isBanded = schedule.threads > 0 && dimension + 2 >= schedule.space.size();
    return isBanded ? uint64_t(tile::rowsOfBand) : 1;
  }

  /// Whether tiles that start behind a step store nothing of it.
  bool cutsSteps(unsigned dimension, int64_t rows, unsigned open) const {
    return llvm::all_of(schedule.nests, [&](const LoopNest &nest) {
      return llvm::all_of(nest.destinations, [&](unsigned number) {
        const loops::Buffer &buffer = schedule.buffers[number];
        return buffer.home == loops::Home::Scratch ||
               storesSteps(nest, number, dimension, rows, open);
      });
    });
  }

  bool storesSteps(const LoopNest &nest, unsigned number, unsigned dimension, int64_t rows,
                   unsigned open) const {
    const orchestrate::PlanBuffer &buffer = plan.buffers[stage.operands[number]];
    te::CutRows cut{nest.originIterator(dimension), rows, schedule.space[dimension].size};
    const te::Validity &validity = buffer.validity[open];
    return validity.isSteps() &&
           te::startsAtStep(nest.destinationIndex, buffer.shape, validity, cut,
                            nest.ranges(schedule.space), plan.open[open].high);
  }

  const orchestrate::Plan &plan;
  const orchestrate::Stage &stage;
  const Schedule &schedule;
};

} // namespace

std::vector<runtime::Trim> trimsOf(const orchestrate::Plan &plan, const orchestrate::Stage &stage) {
  return Trimming(plan, stage).run();
}

} // namespace kintsugi::link
