#include "orchestrate/launch_columns.h"

#include "base/parallel.h"
#include "cost/cost.h"
#include "cost/margins.h"
#include "solve/plan.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace kintsugi::orchestrate {

using solve::ColumnId;
using solve::Problem;
using solve::ResourceId;

/// Of plans whose launches become columns: more of them found nothing more.
static constexpr unsigned mostRounds = 3;

static solve::Column &columnOf(Problem &problem, ColumnId id) {
  return problem.columns[static_cast<size_t>(id)];
}
static const solve::Column &columnOf(const Problem &problem, ColumnId id) {
  return problem.columns[static_cast<size_t>(id)];
}

void LaunchColumns::setKernel(ColumnId column, const space::Candidate &candidate) {
  const loops::KernelShape &kernel = *candidate.kernel;
  auto known = kernels.find(column); // Of several forms, one may know its operators.
  bool keepsOperators =
      candidate.keepsOperators || (known != kernels.end() && known->second.keepsOperators);
  kernels[column] = {&kernel, candidate.operands.size(), cost::predictSeconds(kernel, machine),
                     shares && sharing.canShare(kernel), keepsOperators};
}

/// Those columns of a plan that can share launches, by how much that can't (calls, scans, kernels)
/// is on the longest way to them; the levels count what runs before in the same depth.
std::map<unsigned, LaunchColumns::Runs> LaunchColumns::runsOf(const Problem &problem,
                                                              llvm::ArrayRef<ColumnId> plan) const {
  using Place = std::pair<unsigned, unsigned>; // Depth and level.
  std::map<ResourceId, Place> written;         ///< The first place after it.
  std::map<unsigned, Runs> byDepth;
  for (ColumnId id : plan) {
    Place place{0, 0};
    for (ResourceId resource : columnOf(problem, id).consumes)
      if (auto its = written.find(resource); its != written.end())
        place = std::max(place, its->second);
    auto [depth, level] = place;
    auto found = kernels.find(id);
    bool canShare = found != kernels.end() && found->second.canShare;
    for (ResourceId resource : columnOf(problem, id).produces)
      written[resource] = canShare ? Place{depth, level + 1} : Place{depth + 1, 0};
    if (!canShare)
      continue;
    const Kernel &kernel = found->second;
    Runs &runs = byDepth[depth];
    runs.columns.push_back(id);
    runs.kernels.push_back({kernel.kernel, kernel.operands, kernel.seconds, level});
  }
  return byDepth;
}

void LaunchColumns::addParts(Problem &problem, ColumnId column, llvm::ArrayRef<ColumnId> parts) {
  for (const auto &[depth, runs] : runsOf(problem, parts))
    for (const Launch &launch : sharing.launchesOf(runs.kernels))
      if (launch.numRuns() == parts.size()) {
        addLaunch(problem, launch, runs.columns);
        if (launch.seconds <= kernels.at(column).seconds)
          needless.insert(column);
      }
}

std::set<ColumnId> LaunchColumns::kernelsOf(const Shared &shared) {
  std::set<ColumnId> kernels;
  for (const LaunchPhase &phase : shared.launch.phases)
    for (unsigned run : phase.runs)
      kernels.insert(shared.columns[run]);
  return kernels;
}

/// Its column, and whether that is new.
std::pair<ColumnId, bool> LaunchColumns::addLaunch(Problem &problem, Launch launch,
                                                   std::vector<ColumnId> columns) {
  Shared shared{std::move(launch), std::move(columns)};
  ColumnId id = static_cast<ColumnId>(problem.columns.size());
  auto [entry, isNew] = known.try_emplace(kernelsOf(shared), id);
  if (!isNew)
    return {entry->second, false};
  solve::Column column;
  double apart = 0;
  std::set<ResourceId> consumes, produces;
  for (const LaunchPhase &phase : shared.launch.phases)
    for (unsigned run : phase.runs) {
      const solve::Column &each = columnOf(problem, shared.columns[run]);
      apart += each.cost;
      column.takes += each.takes;
      llvm::append_range(column.covers, each.covers);
      for (ResourceId resource : each.consumes)
        if (!produces.count(resource))
          consumes.insert(resource);
      produces.insert(each.produces.begin(), each.produces.end());
    }
  llvm::sort(column.covers);
  column.covers.erase(llvm::unique(column.covers), column.covers.end());
  column.consumes.assign(consumes.begin(), consumes.end());
  column.produces.assign(produces.begin(), produces.end());
  column.name = "l" + std::to_string(id);
  double further = static_cast<double>(shared.launch.numRuns() - 1);
  double unit = apart / shared.launch.apart; // With margins that its kernels have.
  double margin = further * cost::Margins().sharedLaunches * machine.stageSeconds;
  column.cost = unit * (shared.launch.seconds + margin);
  problem.addColumn(std::move(column));
  launches[id] = std::move(shared);
  return {id, true};
}

/// The launches that the kernels of a plan would share. False: all are known.
bool LaunchColumns::addLaunches(Problem &problem, llvm::ArrayRef<ColumnId> plan) {
  bool added = false;
  for (const auto &[depth, runs] : runsOf(problem, kernelsOf(plan)))
    for (const Launch &launch : sharing.launchesOf(runs.kernels))
      if (launch.numRuns() > 1)
        added |= addLaunch(problem, launch, runs.columns).second;
  return added;
}

/// The problem in which a kernel costs what it adds to a launch of another like it.
Problem LaunchColumns::asIfShared(const Problem &problem) const {
  Problem shared = problem;
  for (const auto &[id, kernel] : kernels) {
    if (!kernel.canShare || !cost::mayShareLaunch({kernel.kernel, kernel.kernel}))
      continue;
    double two = cost::predictTogetherSeconds({kernel.kernel, kernel.kernel}, machine);
    columnOf(shared, id).cost *= std::clamp(two / kernel.seconds - 1, 0.0, 1.0);
  }
  return shared;
}

/// The problem in which launches are not known, and some kernels are nothing that plans take.
Problem LaunchColumns::without(const Problem &problem, const std::set<ColumnId> &some) const {
  constexpr double forbidding = 100;
  Problem others = problem;
  for (ColumnId id : some)
    columnOf(others, id).cost *= forbidding;
  for (const auto &[id, shared] : launches)
    columnOf(others, id).cost *= forbidding;
  return others;
}

/// A plan with known launches in the place of their kernels, largest first, as long as all can run.
std::vector<ColumnId> LaunchColumns::withLaunches(const Problem &problem,
                                                  llvm::ArrayRef<ColumnId> plan) const {
  std::vector<ColumnId> result = kernelsOf(plan);
  std::vector<std::pair<size_t, ColumnId>> bySize;
  for (const auto &[id, shared] : launches)
    bySize.push_back({kernelsOf(shared).size(), id});
  llvm::sort(bySize, [](const auto &a, const auto &b) {
    return std::pair(b.first, a.second) < std::pair(a.first, b.second);
  });
  for (const auto &[size, id] : bySize) {
    std::set<ColumnId> its = kernelsOf(launches.at(id));
    std::vector<ColumnId> with;
    llvm::copy_if(result, std::back_inserter(with), [&](ColumnId c) { return !its.count(c); });
    if (with.size() + size != result.size())
      continue;
    with.push_back(id);
    if (solve::execute(problem, with).stuck.empty())
      result = std::move(with);
  }
  return result;
}

/// Those whose launches become columns; the first is the one that is known.
std::vector<std::vector<ColumnId>>
LaunchColumns::plansForLaunches(const Problem &problem, const std::vector<ColumnId> &known,
                                Solve solve) const {
  std::set<ColumnId> partsOfOperators;
  for (const auto &[id, kernel] : kernels)
    if (!kernel.keepsOperators)
      partsOfOperators.insert(id);
  std::vector<Problem> others{asIfShared(problem)};
  if (!needless.empty() || !launches.empty()) // Otherwise it is the same problem.
    others.push_back(without(problem, needless));
  if (!partsOfOperators.empty())
    others.push_back(without(problem, partsOfOperators));
  const size_t count = others.size();
  auto found = makeInParallel(2 * count + 1, threads, [&](size_t number) {
    if (number < count)
      return solve(others[number], known);
    return solve::solveGreedy(number < 2 * count ? others[number - count] : problem);
  });
  std::vector<std::vector<ColumnId>> plans{known};
  for (Expected<solve::Solution> &each : found)
    if (each.ok() && each->hasPlan()) // What fails finds no launches, and no more.
      plans.push_back(std::move(each->columns));
  return plans;
}

Expected<solve::Solution> LaunchColumns::solve(Problem &problem, llvm::ArrayRef<ColumnId> start,
                                               Solve solve) {
  KINTSUGI_ASSIGN(solve::Solution best, solve(problem, start));
  if (!best.hasPlan() || llvm::none_of(kernels, [](const auto &k) { return k.second.canShare; }))
    return best;
  std::vector<std::vector<ColumnId>> plans = plansForLaunches(problem, best.columns, solve);
  bool added = false;
  for (const std::vector<ColumnId> &plan : plans)
    added |= addLaunches(problem, plan);
  std::vector<ColumnId> from;
  for (const std::vector<ColumnId> &plan : plans)
    if (std::vector<ColumnId> its = withLaunches(problem, plan);
        from.empty() || solve::totalCost(problem, its) < solve::totalCost(problem, from))
      from = std::move(its);
  for (unsigned round = 0; added && round < mostRounds; ++round) {
    KINTSUGI_ASSIGN(solve::Solution next, solve(problem, from));
    if (!next.hasPlan())
      break;
    if (next.objective > best.objective) { // What launches could save beyond that, no one knows.
      best.bound = std::min(best.bound, next.bound);
      best.gap = best.objective > 0 ? (best.objective - best.bound) / best.objective : 0;
      best.status = best.gap > 0 ? solve::SolutionStatus::Feasible : best.status;
      break;
    }
    best = std::move(next);
    added = addLaunches(problem, best.columns);
    if (added)
      from = withLaunches(problem, best.columns);
  }
  return best;
}

bool LaunchColumns::runs(ColumnId column) const {
  return kernels.count(column) > 0 || launches.count(column) > 0;
}

LaunchColumns LaunchColumns::within(llvm::ArrayRef<ColumnId> columns) const {
  LaunchColumns result = *this;
  result.kernels.clear();
  result.launches.clear();
  result.known.clear();
  result.needless.clear();
  for (auto [number, id] : llvm::enumerate(columns))
    if (auto found = kernels.find(id); found != kernels.end()) {
      result.kernels[static_cast<ColumnId>(number)] = found->second;
      if (needless.count(id))
        result.needless.insert(static_cast<ColumnId>(number));
    }
  return result;
}

std::vector<ColumnId> LaunchColumns::take(Problem &problem, const LaunchColumns &within,
                                          llvm::ArrayRef<ColumnId> columns,
                                          llvm::ArrayRef<ColumnId> plan) {
  std::map<ColumnId, ColumnId> ids;
  for (auto [number, id] : llvm::enumerate(columns))
    ids[static_cast<ColumnId>(number)] = id;
  for (const auto &[number, shared] : within.launches) {
    std::vector<ColumnId> its;
    for (ColumnId column : shared.columns)
      its.push_back(ids.at(column));
    ids[number] = addLaunch(problem, shared.launch, std::move(its)).first;
  }
  std::vector<ColumnId> result;
  for (ColumnId column : plan)
    result.push_back(ids.at(column));
  return result;
}

double LaunchColumns::secondsOf(ColumnId column) const {
  auto found = launches.find(column);
  return found == launches.end() ? kernels.at(column).seconds : found->second.launch.seconds;
}

LaunchColumns::Phases LaunchColumns::phasesOf(ColumnId column) const {
  auto found = launches.find(column);
  if (found == launches.end())
    return {{column}};
  Phases phases;
  for (const LaunchPhase &phase : found->second.launch.phases)
    for (std::vector<ColumnId> &its = phases.emplace_back(); unsigned run : phase.runs)
      its.push_back(found->second.columns[run]);
  return phases;
}

std::vector<ColumnId> LaunchColumns::kernelsOf(llvm::ArrayRef<ColumnId> columns) const {
  std::vector<ColumnId> all;
  for (ColumnId id : columns)
    for (const std::vector<ColumnId> &phase : phasesOf(id))
      llvm::append_range(all, phase);
  return all;
}

} // namespace kintsugi::orchestrate
