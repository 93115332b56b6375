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

  std::vector<GrownAhead> run() {
    std::vector<GrownAhead> grown(parts.size());
    std::vector<std::optional<double>> alone(parts.size());
    each(parts.size(), [&](ScheduleTable &table, size_t number) {
      alone[number] = table.priceOf(growth.groupOf(parts[number]), true).seconds;
    });
    for (auto [part, seconds] : llvm::zip_equal(parts, alone)) {
      if (!seconds)
        return grown; // Whoever builds the space says so.
      growth.setAlone(part.back(), *seconds);
    }
    if (!options.fuse)
      return grown;
    for (bool waits : {false, true})
      each(parts.size(), [&](ScheduleTable &table, size_t number) {
        if (!grown[number].isDone)
          grown[number] = grow(table, parts[number].back(), waits);
      });
    return grown;
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

  /// Without `waits` it stops where another thread is at a group.
  GrownAhead grow(ScheduleTable &table, uint32_t root, bool waits) const {
    GrownAhead grown;
    grown.isDone = true;
    unsigned left = options.fuel;
    growth.from(root, left, [&](const loops::Group &group) -> std::optional<double> {
      if (!grown.isDone)
        return std::nullopt;
      ScheduleTable::Price price = table.priceOf(group, waits);
      grown.isDone = price.isKnown;
      grown.offers.emplace_back(llvm::ArrayRef(group.nodes));
      return price.seconds;
    });
    grown.fuel = options.fuel - left;
    return grown;
  }

  const te::Program &program;
  llvm::ArrayRef<Nodes> parts;
  const SpaceOptions &options;
  ScheduleMemo &memo;
  Growth growth;
};

} // namespace

std::vector<GrownAhead> scheduleAhead(const te::Program &program, Growth growth,
                                      llvm::ArrayRef<Nodes> parts, const SpaceOptions &options,
                                      ScheduleMemo &memo) {
  bool isAlone = options.threads <= 1 && !options.memo; // Nobody else is at these groups.
  if (isAlone || parts.size() <= 1)
    return std::vector<GrownAhead>(parts.size());
  return Ahead(program, std::move(growth), parts, options, memo).run();
}

} // namespace kintsugi::space
