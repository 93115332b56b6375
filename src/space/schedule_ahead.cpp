#include "space/schedule_ahead.h"

#include "base/parallel.h"
#include "space/schedule_table.h"

#include <atomic>

namespace kintsugi::space {

namespace {

class Ahead {
public:
  Ahead(const te::Program &program, Growth growth, llvm::ArrayRef<Nodes> parts,
        const SpaceOptions &options, ScheduleMemo &memo)
      : program(program), parts(parts), options(options), memo(memo), growth(std::move(growth)) {}

  void run() {
    std::vector<std::optional<double>> alone(parts.size());
    each(parts.size(), [&](ScheduleTable &table, size_t number) {
      alone[number] = table.priceOf(growth.groupOf(parts[number]), true).seconds;
    });
    for (auto [part, seconds] : llvm::zip_equal(parts, alone)) {
      if (!seconds)
        return; // Whoever builds the space says so.
      growth.setAlone(part.back(), *seconds);
    }
    if (!options.fuse)
      return;
    std::vector<std::atomic<bool>> isPutOff(parts.size());
    each(parts.size(), [&](ScheduleTable &table, size_t number) {
      isPutOff[number] = !grow(table, parts[number].back(), false);
    });
    each(parts.size(), [&](ScheduleTable &table, size_t number) {
      if (isPutOff[number])
        grow(table, parts[number].back(), true);
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
    growth.from(root, fuel, [&](const loops::Group &group) -> std::optional<double> {
      if (!isKnown)
        return std::nullopt;
      ScheduleTable::Price price = table.priceOf(group, waits);
      isKnown = price.isKnown;
      return price.seconds;
    });
    return isKnown;
  }

  const te::Program &program;
  llvm::ArrayRef<Nodes> parts;
  const SpaceOptions &options;
  ScheduleMemo &memo;
  Growth growth;
};

} // namespace

void scheduleAhead(const te::Program &program, Growth growth, llvm::ArrayRef<Nodes> parts,
                   const SpaceOptions &options, ScheduleMemo &memo) {
  if (options.threads > 1 && parts.size() > 1)
    Ahead(program, std::move(growth), parts, options, memo).run();
}

} // namespace kintsugi::space
