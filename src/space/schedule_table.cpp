#include "space/schedule_table.h"

#include "cost/cost.h"
#include "search/point_text.h"
#include "space/lone_group.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::space {

using namespace te;

ScheduleTable::ScheduleTable(const Program &program, const SpaceOptions &options,
                             ScheduleMemo &memo, explain::Log *log)
    : program(program), keys(program), options(options.schedule), measured(options.measured),
      memo(memo), log(log) {
  this->options.choiceMemo = &memo.choices;
}

Candidate ScheduleTable::candidateOf(loops::Group group, std::string &reason) {
  GroupKey key = keys.of(group);
  const Scheduled &entry = *scheduled(group, key, true);
  reason = entry.reason;
  Candidate candidate{std::move(group), entry.kernel, {}};
  if (!candidate.kernel)
    return candidate;
  for (const loops::Buffer &buffer : candidate.kernel->schedule.buffers)
    if (buffer.home == loops::Home::Memory)
      candidate.operands.push_back(key.values[buffer.value.number]);
  return candidate;
}

ScheduleTable::Price ScheduleTable::priceOf(const loops::Group &group, bool waits) {
  const Scheduled *entry = scheduled(group, keys.of(group), waits);
  if (!entry)
    return {std::nullopt, false};
  if (!entry->kernel)
    return {};
  return {cost::roughSeconds(*entry->kernel, options.machine)};
}

const Scheduled *ScheduleTable::scheduled(const loops::Group &group, const GroupKey &key,
                                          bool waits) {
  if (auto found = kernels.find(key.text); found != kernels.end())
    return &found->second;
  auto make = [&] { return search(group, key); };
  const Scheduled *usual = waits ? &memo.at(key.text, make) : memo.atIfFree(key.text, make);
  if (!usual)
    return nullptr;
  if (!usual->kernel && log)
    log->add({"space", namesOf(group), "no schedule", {usual->reason}, {}});
  Scheduled entry = usual->kernel ? Scheduled{asMeasured(group, key, usual->kernel), ""} : *usual;
  return &kernels.emplace(key.text, std::move(entry)).first->second;
}

/// The kernel speaks of values by their numbers in the key.
Scheduled ScheduleTable::search(const loops::Group &group, const GroupKey &key) const {
  LoneGroup alone = loneGroupOf(program, group, key);
  search::ScheduleResult result = search::scheduleGroup(alone.program, alone.group, options);
  if (!result.schedule)
    return {nullptr, result.reason};
  return {std::make_shared<KernelShape>(KernelShape{
              alone.key, std::move(*result.schedule), result.computeSeconds, result.point, {}}),
          ""};
}

/// The same kernel with the schedule that measuring found, if any.
std::shared_ptr<const KernelShape>
ScheduleTable::withTunedSchedule(const loops::Group &group, const GroupKey &key,
                                 std::shared_ptr<const KernelShape> kernel) {
  auto found = measured->schedules.find(tuningKey(key, options));
  if (found == measured->schedules.end())
    return kernel;
  const TunedSchedule &better = found->second;
  LoneGroup alone = loneGroupOf(program, group, key);
  search::ScheduleResult result =
      search::scheduleAt(alone.program, alone.group, options, better.point);
  if (log)
    log->add({"space",
              namesOf(group),
              result.schedule ? "tuned schedule" : "no such schedule as was tuned",
              {search::pointText(better.point)},
              {{"share of the default's time", better.gain, ""}}});
  if (!result.schedule)
    return kernel;
  return std::make_shared<KernelShape>(KernelShape{kernel->key, std::move(*result.schedule),
                                                   result.computeSeconds, better.point, kernel,
                                                   better.gain});
}

/// The same kernel at the seconds that it was measured to take.
std::shared_ptr<const KernelShape>
ScheduleTable::asMeasured(const loops::Group &group, const GroupKey &key,
                          std::shared_ptr<const KernelShape> kernel) {
  if (!measured)
    return kernel;
  kernel = withTunedSchedule(group, key, std::move(kernel));
  if (measured->seconds.empty())
    return kernel;
  auto priced = std::make_shared<KernelShape>(*kernel);
  priced->bias = measured->bias;
  auto found = measured->seconds.find(timingKey(key, options, kernel->point));
  if (found != measured->seconds.end())
    priced->measuredSeconds = found->second;
  return priced;
}

std::string ScheduleTable::namesOf(const loops::Group &group) const {
  std::string names;
  for (uint32_t node : group.nodes)
    names +=
        (names.empty() ? "group '" : ", '") + program.value(program.resultsOf(node)[0]).name + "'";
  return names;
}

} // namespace kintsugi::space
