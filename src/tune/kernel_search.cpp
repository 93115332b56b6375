#include "tune/kernel_search.h"

#include "search/point_text.h"
#include "tune/records.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::tune {

using loops::MatrixTile;
using loops::Point;
using search::NestChoices;
using search::ScheduleResult;
using search::Tried;

/// All that differs between schedules of a group. Points may differ and say the same.
static std::string textOf(const loops::Schedule &schedule) {
  Point choices;
  choices.threads = schedule.threads;
  for (const loops::LoopNest &nest : schedule.nests)
    choices.registers.push_back(nest.matrix ? loops::NestChoice(loops::chosenOf(*nest.matrix))
                                            : loops::NestChoice(nest.registers));
  return schedule.print() + search::pointText(choices);
}

void KernelSearch::Candidate::prepare(cost::Measurer &measurer) {
  if (ready || !problem.empty())
    return;
  auto prepared = measurer.prepare(schedule);
  if (prepared.ok())
    ready = std::move(*prepared);
  else
    problem = prepared.error().message;
}

KernelSearch::KernelSearch(const te::Program &program, loops::Group group,
                           search::ScheduleOptions options, Fuel fuel)
    : program(program), group(std::move(group)), options(std::move(options)), fuel(fuel) {
  ScheduleResult found = search::scheduleGroup(program, this->group, this->options, &tilings);
  ended = !found.schedule;
  if (found.schedule) {
    seen = {textOf(*found.schedule)};
    usual = std::make_shared<Candidate>(
        Candidate{std::move(found.point), std::move(*found.schedule), nullptr, ""});
  }
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
  ScheduleResult result = search::scheduleAt(program, group, options, best);
  if (share >= 1 || !result.schedule)
    return;
  seen.insert(textOf(*result.schedule));
  better = std::make_shared<Candidate>(Candidate{best, std::move(*result.schedule), nullptr, ""});
  bestShare = share;
}

/// Some in each direction: nobody knows which one leads on.
KernelSearch::Batch KernelSearch::propose() {
  if (ended)
    return {};
  Batch batch{usual};
  if (better)
    batch.push_back(better);
  size_t third = (fuel.aBatch + 2) / 3, all = known() + fuel.aBatch;
  addChoices(batch, known() + third);
  addTilings(batch, known() + 2 * third);
  addStages(batch, all);
  addNeighbours(batch, all);
  addChoices(batch, all);
  addTilings(batch, all);
  ended = batch.size() == known();
  return ended ? Batch() : batch;
}

/// The others run against what is best so far.
Status KernelSearch::judge(const Batch &batch, cost::Measurer &measurer) {
  if (!usual->ready)
    return machineError(usual->problem);
  if (better && !better->ready) // Of an earlier run: it is a point, and no kernel any more.
    better = nullptr, bestShare = 1;
  std::vector<std::shared_ptr<Candidate>> runners{better ? better : usual};
  for (const std::shared_ptr<Candidate> &candidate : batch)
    if (candidate->ready && candidate != usual && candidate != better)
      runners.push_back(candidate);
  pointsSpent += llvm::count_if(batch, [&](const std::shared_ptr<Candidate> &candidate) {
    return candidate != usual && candidate != better;
  });
  bool hasFound = false;
  if (runners.size() > 1) {
    llvm::SmallVector<const cost::Contender *> contenders;
    for (const std::shared_ptr<Candidate> &runner : runners)
      contenders.push_back(runner->ready.get());
    KINTSUGI_ASSIGN(std::vector<cost::Timed> times,
                    measurer.measure(contenders, cost::Effort::Compare));
    if (seconds == 0)
      seconds = times[0].seconds / bestShare;
    size_t quickest = 1;
    for (size_t i = 2; i < times.size(); ++i)
      if (times[i].share < times[quickest].share)
        quickest = i;
    double before = bestShare;
    if (times[quickest].share < clearGain)
      KINTSUGI_RETURN_IF_ERROR(take(runners[quickest], measurer));
    hasFound = bestShare != before;
  }
  fruitless = hasFound ? 0 : fruitless + 1;
  constexpr unsigned mostFruitless = 5; // Batches, one after the other.
  ended = pointsSpent >= fuel.points || fruitless >= mostFruitless;
  return Status::success();
}

/// Becomes the best where it beats the default as clearly when the two are timed for longer, and
/// more clearly than what was best so far.
Status KernelSearch::take(const std::shared_ptr<Candidate> &candidate, cost::Measurer &measurer) {
  KINTSUGI_ASSIGN(
      std::vector<cost::Timed> times,
      measurer.measure({usual->ready.get(), candidate->ready.get()}, cost::Effort::Confirm));
  seconds = times[0].seconds;
  if (!times[1].agrees)
    wrong.push_back(candidate->point);
  if (!times[1].agrees || times[1].share >= clearGain || times[1].share >= bestShare)
    return Status::success();
  better = candidate;
  bestShare = times[1].share;
  return Status::success();
}

/// Adds a point that the group has and that was not measured, unless there are `most` already.
void KernelSearch::consider(Point point, Batch &batch, size_t most) {
  if (batch.size() >= most || !seen.insert(search::pointText(point)).second)
    return;
  ScheduleResult result = search::scheduleAt(program, group, options, point);
  if (result.schedule && seen.insert(textOf(*result.schedule)).second)
    batch.push_back(std::make_shared<Candidate>(
        Candidate{std::move(point), std::move(*result.schedule), nullptr, ""}));
}

void KernelSearch::addTilings(Batch &batch, size_t most) {
  constexpr double stillPossible = 4; ///< Times the best estimate.
  for (const Tried &tried : tilings)
    if (tried.computeSeconds < stillPossible * tilings.front().computeSeconds)
      consider(tried.point, batch, most);
}

static Point withChoice(Point point, size_t nest, loops::NestChoice choice) {
  if (point.registers.size() <= nest)
    point.registers.resize(nest + 1);
  point.registers[nest] = std::move(choice);
  return point;
}

void KernelSearch::addChoices(Batch &batch, size_t most) {
  constexpr double worthIt = 0.1; ///< Share of the kernel's cycles.
  std::vector<NestChoices> nests;
  const Point from = start().point;
  search::scheduleAt(program, group, options, from, &nests);
  size_t ranks = 0;
  for (const NestChoices &nest : nests)
    ranks = std::max(ranks, nest.registers.size());
  for (size_t rank = 0; rank < ranks && batch.size() < most; ++rank)
    for (auto [number, nest] : llvm::enumerate(nests))
      if (nest.share >= worthIt && rank < nest.registers.size())
        consider(withChoice(from, number, nest.registers[rank]), batch, most);
}

/// Rings of other lengths; what a core then has no room for follows from the rest.
void KernelSearch::addStages(Batch &batch, size_t most) {
  for (auto [number, nest] : llvm::enumerate(start().schedule.nests)) {
    if (!nest.matrix)
      continue;
    for (unsigned stages : {nest.matrix->stages + 1, nest.matrix->stages - 1}) {
      MatrixTile tile = loops::chosenOf(*nest.matrix);
      tile.stages = stages;
      consider(withChoice(start().point, number, tile), batch, most);
    }
  }
}

void KernelSearch::addNeighbours(Batch &batch, size_t most) {
  const Point from = start().point;
  auto considerBoth = [&](Point point) {
    consider(point, batch, most);
    point.registers.clear();
    consider(std::move(point), batch, most);
  };
  for (int threads : {from.threads / 2, 2 * from.threads}) {
    Point point = from;
    point.threads = threads;
    if (threads > 0)
      considerBoth(std::move(point));
  }
  // The last iterator is the one that vectors run along most often.
  for (size_t k = from.sizes.size(); k-- > 0;)
    for (int64_t size : {from.sizes[k] / 2, 2 * from.sizes[k], from.sizes[k] * 3 / 2}) {
      Point point = from;
      point.sizes[k] = size;
      considerBoth(std::move(point));
    }
}

} // namespace kintsugi::tune
