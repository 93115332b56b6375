#include "space/schedule_ahead.h"

#include "base/parallel.h"
#include "space/growth.h"
#include "space/schedule_table.h"

#include <atomic>

namespace kintsugi::space {

namespace {

class Ahead {
public:
  Ahead(const te::Program &program, llvm::ArrayRef<uint32_t> nodes, const SpaceOptions &options,
        ScheduleMemo &memo)
      : program(program), nodes(nodes), options(options), memo(memo),
        growth(program, nodes, options) {}

  void run() {
    std::vector<std::optional<double>> alone(nodes.size());
    each(nodes.size(), [&](ScheduleTable &table, size_t number) {
      alone[number] = table.priceOf(growth.groupOf({nodes[number]}), true).seconds;
    });
    for (auto [node, seconds] : llvm::zip_equal(nodes, alone)) {
      if (!seconds)
        return; // Whoever builds the space says so.
      growth.setAlone(node, *seconds);
    }
    if (!options.fuse)
      return;
    std::vector<std::atomic<bool>> isPutOff(nodes.size());
    each(nodes.size(), [&](ScheduleTable &table, size_t number) {
      isPutOff[number] = !grow(table, nodes[number], false);
    });
    each(nodes.size(), [&](ScheduleTable &table, size_t number) {
      if (isPutOff[number])
        grow(table, nodes[number], true);
    });
  }

private:
  /// As inParallel, with a table for each thread.
  void each(size_t count, llvm::function_ref<void(ScheduleTable &, size_t)> work) const {
    std::atomic<size_t> next = 0;
    inParallel(options.threads, options.threads, [&](size_t) {
      ScheduleTable table(program, options, memo, nullptr);
      for (size_t number; (number = next++) < count;)
        work(table, number);
    });
  }

  /// Whether it came to the end: without `waits` it stops where another thread is at a group.
  bool grow(ScheduleTable &table, uint32_t root, bool waits) const {
    bool isKnown = true;
    unsigned fuel = options.fuel;
    growth.from(root, fuel, [&](const schedule::Group &group) -> std::optional<double> {
      if (!isKnown)
        return std::nullopt;
      ScheduleTable::Price price = table.priceOf(group, waits);
      isKnown = price.isKnown;
      return price.seconds;
    });
    return isKnown;
  }

  const te::Program &program;
  llvm::ArrayRef<uint32_t> nodes;
  const SpaceOptions &options;
  ScheduleMemo &memo;
  Growth growth;
};

} // namespace

void scheduleAhead(const te::Program &program, llvm::ArrayRef<uint32_t> nodes,
                   const SpaceOptions &options, ScheduleMemo &memo) {
  if (options.threads > 1 && nodes.size() > 1)
    Ahead(program, nodes, options, memo).run();
}

} // namespace kintsugi::space
