#include "space/space.h"

#include "cost/cost.h"
#include "search/point_text.h"
#include "space/growth.h"
#include "space/schedule_ahead.h"
#include "space/schedule_table.h"
#include "space/whole_operators.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::space {

using namespace te;

Hash128 tuningKey(const GroupKey &key, const search::ScheduleOptions &options) {
  return Hasher("tuned")
      .add(key.text)
      .add(options.scalar)
      .add(options.packing)
      .add(options.copies)
      .add(options.scratchLimit)
      .add(options.ringLimit)
      .add(options.bulk)
      .add(int64_t(options.clusterBlocks))
      .finish();
}

Hash128 timingKey(const GroupKey &key, const search::ScheduleOptions &options,
                  const loops::Point &point) {
  return Hasher("timed").add(tuningKey(key, options)).add(search::pointText(point)).finish();
}

/// What the next of several roots may use: all, but for what is kept for the others, so that the
/// end of a long program is fused like its start.
static unsigned shareOf(unsigned fuel, size_t roots) {
  constexpr size_t kept = 12; // For each.
  size_t others = kept * (roots - 1);
  return unsigned(std::max(fuel - std::min<size_t>(fuel, others), fuel / roots));
}

static std::vector<Nodes> eachAlone(llvm::ArrayRef<uint32_t> nodes) {
  std::vector<Nodes> all;
  for (uint32_t node : nodes)
    all.push_back({node});
  return all;
}

/// Operators that come apart into several definitions, as steps of growth besides those.
static void growByOperators(const Program &program, llvm::ArrayRef<uint32_t> nodes,
                            const SpaceOptions &options, Growth &growth, ScheduleTable &table) {
  SpaceOptions untold = options;
  untold.log = nullptr; // None of them has to be kept whole.
  std::vector<Nodes> operators = wholeOperators(program, nodes, untold, growth, table);
  if (operators.size() == nodes.size())
    return;
  std::vector<double> seconds;
  for (const Nodes &each : operators)
    seconds.push_back(table.priceOf(growth.groupOf(each), true).seconds.value_or(0));
  growth.alsoByOperators(operators, seconds);
}

Expected<Space> buildSpace(const Program &program, llvm::ArrayRef<uint32_t> nodes,
                           const SpaceOptions &options) {
  Space space;
  space.program = &program;
  ScheduleMemo ownMemo;
  ScheduleMemo &memo = options.memo ? *options.memo : ownMemo;
  ScheduleTable table(program, options, memo, options.log);
  std::string reason;
  Growth growth(program, nodes, options);
  std::vector<Nodes> parts = eachAlone(nodes);
  if (options.keepsOperators) {
    parts = wholeOperators(program, nodes, options, growth, table);
    growth.keepWhole(parts);
  } else if (options.fuse && options.caps.byOperators && !options.likely) {
    growByOperators(program, nodes, options, growth, table);
  }
  std::vector<GrownAhead> ahead = scheduleAhead(program, growth, parts, options, memo);
  for (const Nodes &part : parts) {
    Candidate alone = table.candidateOf(growth.groupOf(part), reason);
    if (!alone.kernel)
      return internalError("'" + program.value(program.resultsOf(part.back())[0]).name +
                           "' has no schedule: " + reason);
    growth.setAlone(part.back(), cost::roughSeconds(*alone.kernel, options.schedule.machine));
    space.candidates.push_back(std::move(alone));
  }
  unsigned fuel = options.fuel;
  for (auto [number, part] : llvm::enumerate(parts)) {
    if (!options.fuse)
      break;
    unsigned own = shareOf(fuel, parts.size() - number), given = own;
    auto add = [&](Candidate candidate) -> std::optional<double> {
      if (!candidate.kernel)
        return std::nullopt;
      double seconds = cost::roughSeconds(*candidate.kernel, options.schedule.machine);
      space.candidates.push_back(std::move(candidate));
      return seconds;
    };
    if (GrownAhead grown = std::move(ahead[number]); grown.isDone && grown.fuel < own) {
      for (const Nodes &offer : grown.offers)
        add(table.candidateOf(growth.groupOf(offer), reason));
      own -= grown.fuel;
    } else {
      growth.from(part.back(), own, [&](loops::Group group) {
        return add(table.candidateOf(std::move(group), reason));
      });
    }
    fuel -= given - own;
    space.outOfFuel |= own == 0;
  }
  if (options.keepsOperators || (options.fuse && options.caps.byOperators))
    for (Candidate &candidate : space.candidates)
      candidate.keepsOperators = growth.keepsOperators(candidate.group.nodes);
  space.scheduled = table.size();
  if (options.log)
    options.log->add({"space",
                      "program '" + program.name + "'",
                      space.outOfFuel ? "growth ran out of fuel" : "grown to the end",
                      {},
                      {{"definitions", static_cast<double>(nodes.size()), ""},
                       {"candidates", static_cast<double>(space.candidates.size()), ""},
                       {"distinct groups", static_cast<double>(space.scheduled), ""}}});
  return space;
}

} // namespace kintsugi::space
