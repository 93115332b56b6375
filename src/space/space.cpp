#include "space/space.h"

#include "space/growth.h"
#include "space/schedule_ahead.h"
#include "space/schedule_table.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::space {

using namespace te;

Hash128 tuningKey(const GroupKey &key, const schedule::ScheduleOptions &options) {
  return Hasher("tuned")
      .add(key.text)
      .add(options.scalar)
      .add(options.packing)
      .add(options.copies)
      .add(options.scratchLimit)
      .add(options.ringLimit)
      .add(options.bulk)
      .add(int64_t(options.clusterBlocks))
      .add(int64_t(options.precision))
      .finish();
}

Expected<Space> buildSpace(const Program &program, llvm::ArrayRef<uint32_t> nodes,
                           const SpaceOptions &options) {
  Space space;
  space.program = &program;
  ScheduleMemo ownMemo;
  ScheduleMemo &memo = options.memo ? *options.memo : ownMemo;
  scheduleAhead(program, nodes, options, memo);
  ScheduleTable table(program, options, memo, options.log);
  std::string reason;
  Growth growth(program, nodes, options);
  unsigned fuel = options.fuel;
  for (uint32_t node : nodes) {
    Candidate alone = table.candidateOf(growth.groupOf({node}), reason);
    if (!alone.kernel)
      return internalError("'" + program.value(program.resultsOf(node)[0]).name +
                           "' has no schedule: " + reason);
    growth.setAlone(node, roughSeconds(*alone.kernel, options.schedule.machine));
    space.candidates.push_back(std::move(alone));
  }
  for (uint32_t node : nodes) {
    if (!options.fuse)
      break;
    growth.from(node, fuel, [&](schedule::Group group) -> std::optional<double> {
      Candidate candidate = table.candidateOf(std::move(group), reason);
      if (!candidate.kernel)
        return std::nullopt;
      double seconds = roughSeconds(*candidate.kernel, options.schedule.machine);
      space.candidates.push_back(std::move(candidate));
      return seconds;
    });
  }
  space.scheduled = table.size();
  space.outOfFuel = fuel == 0;
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
