#include "tune/kernel_search.h"

#include "tune/records.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::tune {

using schedule::NestChoices;
using schedule::Point;
using schedule::RegisterTile;
using schedule::ScheduleResult;
using schedule::Tried;

/// All that differs between schedules of a group. Points may differ and say the same.
static std::string textOf(const schedule::Schedule &schedule) {
  std::string text = schedule.print();
  for (const schedule::LoopNest &nest : schedule.nests)
    text += " " + std::to_string(nest.registers.rowIterator);
  return text;
}

KernelSearch::KernelSearch(const te::Program &program, schedule::Group group,
                           schedule::ScheduleOptions options, Fuel fuel)
    : program(program), group(std::move(group)), options(std::move(options)), fuel(fuel) {
  defaults = schedule::scheduleGroup(program, this->group, this->options, &tilings);
  ended = !defaults.schedule;
  if (defaults.schedule)
    seen = {textOf(*defaults.schedule)};
  std::vector<std::pair<double, size_t>> order;
  for (auto [number, tried] : llvm::enumerate(tilings))
    order.emplace_back(tried.computeSeconds, number);
  llvm::sort(order);
  std::vector<Tried> sorted;
  for (auto [estimate, number] : order)
    sorted.push_back(std::move(tilings[number]));
  tilings = std::move(sorted);
}

void KernelSearch::resume(const Point &best, double share, int64_t spent) {
  pointsSpent = spent;
  ended |= spent >= fuel.points;
  ScheduleResult result = schedule::scheduleAt(program, group, options, best);
  if (share >= 1 || !result.schedule)
    return;
  bestPoint = best;
  bestShare = share;
  seen.insert(textOf(*result.schedule));
}

Status KernelSearch::step(cost::Measurer &measurer) {
  std::vector<Candidate> batch = nextBatch();
  if (batch.empty()) {
    ended = true;
    return Status::success();
  }
  ScheduleResult current = schedule::scheduleAt(program, group, options, start());
  llvm::SmallVector<const schedule::Schedule *> schedules{&*current.schedule};
  for (const Candidate &candidate : batch)
    schedules.push_back(&candidate.schedule);
  KINTSUGI_ASSIGN(std::vector<cost::Timed> times,
                  measurer.measure(schedules, cost::Effort::Compare));
  pointsSpent += batch.size();
  if (seconds == 0)
    seconds = times[0].seconds / bestShare;
  size_t quickest = 1;
  for (size_t i = 2; i < times.size(); ++i)
    if (times[i].share < times[quickest].share)
      quickest = i;
  Point before = start();
  if (times[quickest].share < clearGain)
    KINTSUGI_RETURN_IF_ERROR(take(batch[quickest - 1], measurer));
  fruitless = start() == before ? fruitless + 1 : 0;
  constexpr unsigned mostFruitless = 5; // Batches, one after the other.
  ended = pointsSpent >= fuel.points || fruitless >= mostFruitless;
  return Status::success();
}

/// Becomes the best where it beats the default as clearly when the two are timed for longer, and
/// more clearly than what was best so far.
Status KernelSearch::take(const Candidate &candidate, cost::Measurer &measurer) {
  KINTSUGI_ASSIGN(
      std::vector<cost::Timed> times,
      measurer.measure({&*defaults.schedule, &candidate.schedule}, cost::Effort::Confirm));
  seconds = times[0].seconds;
  if (times[1].share >= clearGain || times[1].share >= bestShare)
    return Status::success();
  bestPoint = candidate.point;
  bestShare = times[1].share;
  return Status::success();
}

/// Some in each direction: nobody knows which one leads on.
std::vector<KernelSearch::Candidate> KernelSearch::nextBatch() {
  std::vector<Candidate> batch;
  size_t third = (fuel.aBatch + 2) / 3;
  addRegisters(batch, third);
  addTilings(batch, 2 * third);
  addNeighbours(batch, fuel.aBatch);
  addRegisters(batch, fuel.aBatch);
  addTilings(batch, fuel.aBatch);
  return batch;
}

/// Adds a point that the group has and that was not measured, unless there are `most` already.
void KernelSearch::consider(Point point, std::vector<Candidate> &batch, size_t most) {
  if (batch.size() >= most || !seen.insert(point.print()).second)
    return;
  ScheduleResult result = schedule::scheduleAt(program, group, options, point);
  if (result.schedule && seen.insert(textOf(*result.schedule)).second)
    batch.push_back({std::move(point), std::move(*result.schedule)});
}

void KernelSearch::addTilings(std::vector<Candidate> &batch, size_t most) {
  constexpr double stillPossible = 4; ///< Times the best estimate.
  for (const Tried &tried : tilings)
    if (tried.computeSeconds < stillPossible * tilings.front().computeSeconds)
      consider(tried.point, batch, most);
}

void KernelSearch::addRegisters(std::vector<Candidate> &batch, size_t most) {
  constexpr double worthIt = 0.1; ///< Share of the kernel's cycles.
  std::vector<NestChoices> nests;
  const Point from = start();
  schedule::scheduleAt(program, group, options, from, &nests);
  size_t ranks = 0;
  for (const NestChoices &nest : nests)
    ranks = std::max(ranks, nest.registers.size());
  for (size_t rank = 0; rank < ranks; ++rank)
    for (auto [number, nest] : llvm::enumerate(nests)) {
      if (nest.share < worthIt || rank >= nest.registers.size())
        continue;
      Point point = from;
      if (point.registers.size() <= number)
        point.registers.resize(number + 1);
      point.registers[number] = nest.registers[rank];
      consider(std::move(point), batch, most);
    }
}

void KernelSearch::addNeighbours(std::vector<Candidate> &batch, size_t most) {
  const Point from = start();
  // The last iterator is the one that vectors run along most often.
  for (size_t k = from.sizes.size(); k-- > 0;)
    for (int64_t size : {from.sizes[k] / 2, 2 * from.sizes[k], from.sizes[k] * 3 / 2}) {
      Point point = from;
      point.sizes[k] = size;
      consider(point, batch, most);
      point.registers.clear();
      consider(std::move(point), batch, most);
    }
}

} // namespace kintsugi::tune
