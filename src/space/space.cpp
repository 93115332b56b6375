#include "space/space.h"

#include "space/growth.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::space {

using namespace te;

namespace {

/// Schedules each distinct group once.
class ScheduleTable {
public:
  ScheduleTable(const Program &program, const SpaceOptions &options)
      : program(program), options(options.schedule), tuned(options.tuned),
        memo(options.memo ? *options.memo : ownMemo), log(options.log) {}

  /// The candidate of a group; no kernel (and `reason`) where it can't be scheduled.
  Candidate candidateOf(schedule::Group group, std::string &reason) {
    GroupKey key = keyOf(program, group);
    auto [entry, fresh] = kernels.try_emplace(key.text);
    if (fresh)
      entry->second = scheduleOnce(group, key);
    reason = entry->second.reason;
    Candidate candidate{std::move(group), entry->second.kernel, {}};
    if (!candidate.kernel)
      return candidate;
    const KernelShape &kernel = *candidate.kernel;
    for (const schedule::Buffer &buffer : kernel.schedule.buffers) {
      if (buffer.home != schedule::Home::Memory)
        continue;
      const auto *position = llvm::find(kernel.key.values, buffer.value);
      candidate.operands.push_back(key.values[position - kernel.key.values.begin()]);
    }
    return candidate;
  }

  unsigned size() const { return kernels.size(); }

private:
  using Entry = ScheduleMemo::Entry;

  Entry scheduleOnce(const schedule::Group &group, const GroupKey &key) {
    auto [found, fresh] = memo.entries.try_emplace(key.text);
    if (fresh)
      found->second = search(group, key);
    const Entry &usual = found->second;
    if (!usual.kernel && log)
      log->add({"space", namesOf(group), "no schedule", {usual.reason}, {}});
    return usual.kernel ? Entry{withTunedSchedule(group, usual.kernel), ""} : usual;
  }

  Entry search(const schedule::Group &group, const GroupKey &key) const {
    schedule::ScheduleResult result = schedule::scheduleGroup(program, group, options);
    if (!result.schedule)
      return {nullptr, result.reason};
    return {std::make_shared<KernelShape>(KernelShape{
                key, std::move(*result.schedule), result.computeSeconds, result.point, {}}),
            ""};
  }

  /// The same kernel with the schedule that measuring found, if any.
  std::shared_ptr<const KernelShape> withTunedSchedule(const schedule::Group &group,
                                                       std::shared_ptr<const KernelShape> kernel) {
    if (!tuned)
      return kernel;
    auto found = tuned->find(tuningKey(kernel->key, options));
    if (found == tuned->end())
      return kernel;
    const TunedSchedule &better = found->second;
    schedule::ScheduleResult result = schedule::scheduleAt(program, group, options, better.point);
    if (log)
      log->add({"space",
                namesOf(group),
                result.schedule ? "tuned schedule" : "no such schedule as was tuned",
                {better.point.print()},
                {{"share of the default's time", better.gain, ""}}});
    if (!result.schedule)
      return kernel;
    return std::make_shared<KernelShape>(KernelShape{kernel->key, std::move(*result.schedule),
                                                     result.computeSeconds, better.point, kernel,
                                                     better.gain});
  }

  std::string namesOf(const schedule::Group &group) const {
    std::string names;
    for (uint32_t node : group.nodes)
      names += (names.empty() ? "group '" : ", '") +
               program.value(program.resultsOf(node)[0]).name + "'";
    return names;
  }

  const Program &program;
  const schedule::ScheduleOptions &options;
  const TunedSchedules *tuned;
  ScheduleMemo ownMemo;
  ScheduleMemo &memo;
  explain::Log *log;
  std::map<std::string, Entry> kernels;
};

} // namespace

Hash128 tuningKey(const GroupKey &key, const schedule::ScheduleOptions &options) {
  return Hasher("tuned")
      .add(key.text)
      .add(options.scalar)
      .add(options.packing)
      .add(options.copies)
      .add(options.scratchLimit)
      .add(options.ringLimit)
      .add(int64_t(options.clusterBlocks))
      .finish();
}

/// Arithmetic, memory and start, enough to tell a good group from a bad one; cost/ knows better.
static double roughSeconds(const KernelShape &kernel, const machine::Machine &machine) {
  if (kernel.untuned)
    return kernel.gain * roughSeconds(*kernel.untuned, machine);
  double bytes = kernel.schedule.bytesRead + kernel.schedule.bytesWritten;
  double moving = bytes / std::max(1e9, machine.memory().bytesPerSecondAll);
  return machine.stageSeconds + kernel.computeSeconds + moving;
}

Expected<Space> buildSpace(const Program &program, llvm::ArrayRef<uint32_t> nodes,
                           const SpaceOptions &options) {
  Space space;
  space.program = &program;
  ScheduleTable table(program, options);
  std::string reason;
  Growth growth(program, nodes, options);
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
    growth.from(node, [&](schedule::Group group) -> std::optional<double> {
      Candidate candidate = table.candidateOf(std::move(group), reason);
      if (!candidate.kernel)
        return std::nullopt;
      double seconds = roughSeconds(*candidate.kernel, options.schedule.machine);
      space.candidates.push_back(std::move(candidate));
      return seconds;
    });
  }
  space.scheduled = table.size();
  space.outOfFuel = growth.outOfFuel();
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
