//===- greedy.cpp - The separate plan, and greedy improvement of it -------===//

#include "solve/making.h"
#include "solve/plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

namespace kintsugi::solve {
namespace {

class PlanBuilder {
public:
  explicit PlanBuilder(const Problem &problem) : problem(problem), incidence(problem) {}

  /// Sets `home`, item by item as what they consume is there, to the cheapest column that covers
  /// the item alone, conversions counted; `sparing`: of those that take least. Columns that make
  /// nothing leave an item to others: they are for what nothing else can cover. False where some
  /// item is left over.
  bool separate(bool sparing);
  /// Takes further columns by cost saved over the separate plan: several at a time, as long as they
  /// save together what each does alone.
  void improve();
  /// An order that runs the homes and the optional columns they need, if there is one and room.
  std::optional<std::vector<ColumnId>> plan() const;
  /// No plan costs less than what each item costs at its cheapest, shared evenly in each column.
  double bound() const;

private:
  using Queue = std::span<const std::pair<double, ColumnId>>; ///< What columns save, and which.
  struct Batch {
    size_t count = 0, first = 0, end = 0; ///< Where in the queue its first column and its end are.
    double saved = 0;                     ///< By each alone, in sum.
  };
  /// Makes columns homes that share no item with each other or with what is taken, up to so many.
  Batch take(Queue queue, size_t most);
  /// Columns that save time over the separate plan, and how much, most first.
  std::vector<std::pair<double, ColumnId>> bySaving() const;
  double saving(ColumnId id) const;
  std::vector<bool> inputs() const;
  std::vector<ResourceId> lacking(const std::vector<bool> &available, ColumnId id) const;

  const Problem &problem;
  Incidence incidence;
  std::vector<ColumnId> home; ///< By item: the column that covers it.
  std::vector<bool> taken;    ///< By item: whether that is a column which improve has taken.
};

bool PlanBuilder::separate(bool sparing) {
  home.assign(problem.items.size(), -1);
  std::vector<bool> available = inputs();
  auto take = [&](ColumnId id) {
    for (ResourceId resource : problem.columns[index(id)].produces)
      available[index(resource)] = true;
  };
  auto settle = [&](size_t item, bool mayMakeNothing) {
    constexpr double most = std::numeric_limits<double>::infinity();
    std::pair least(most, most); // What it takes, where that counts, and its cost.
    Making chosen;
    for (ColumnId id : incidence.coverers[item]) {
      const Column &column = problem.columns[index(id)];
      if (column.covers.size() != 1 || (column.produces.empty() && !mayMakeNothing))
        continue;
      auto needed = makeCheaply(problem, incidence, available, lacking(available, id));
      if (!needed)
        continue;
      std::pair its(sparing ? column.takes : 0, needed->price + column.cost);
      if (its < least) {
        least = its;
        home[item] = id;
        chosen = std::move(*needed);
      }
    }
    if (home[item] < 0)
      return false;
    std::ranges::for_each(chosen.columns, take);
    take(home[item]);
    return true;
  };
  auto settleAny = [&](bool mayMakeNothing) {
    size_t settled = 0;
    for (size_t item = 0; item < home.size(); ++item)
      if (home[item] < 0 && settle(item, mayMakeNothing)) {
        ++settled;
        if (mayMakeNothing)
          break; // Others may need what this one does not make, or have it now.
      }
    return settled;
  };
  for (size_t left = home.size(), settled; left > 0; left -= settled) {
    settled = settleAny(false);
    if (settled == 0)
      settled = settleAny(true);
    if (settled == 0)
      return false;
  }
  return true;
}

std::vector<bool> PlanBuilder::inputs() const {
  std::vector<bool> available;
  for (const Resource &resource : problem.resources)
    available.push_back(resource.kind == ResourceKind::Input);
  return available;
}

std::vector<ResourceId> PlanBuilder::lacking(const std::vector<bool> &available,
                                             ColumnId id) const {
  std::vector<ResourceId> needed;
  for (ResourceId resource : problem.columns[index(id)].consumes)
    if (!available[index(resource)])
      needed.push_back(resource);
  return needed;
}

std::optional<std::vector<ColumnId>> PlanBuilder::plan() const {
  std::vector<ColumnId> chosen(home);
  std::ranges::sort(chosen);
  chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
  std::vector<bool> available = inputs();
  for (ColumnId id : chosen)
    for (ResourceId resource : problem.columns[index(id)].produces)
      available[index(resource)] = true;

  std::vector<ResourceId> needed;
  for (size_t r = 0; r < available.size(); ++r)
    if (problem.resources[r].output && !available[r])
      needed.push_back(static_cast<ResourceId>(r));
  for (ColumnId id : chosen)
    std::ranges::copy(lacking(available, id), std::back_inserter(needed));
  auto extra = makeCheaply(problem, incidence, available, needed);
  if (!extra)
    return std::nullopt;
  chosen.insert(chosen.end(), extra->columns.begin(), extra->columns.end());

  Execution run = execute(problem, chosen);
  if (!run.stuck.empty() || !producesOutputs(problem, run))
    return std::nullopt;
  std::vector<ColumnId> order = withoutIdle(problem, run.order);
  return hasRoom(problem, order) ? std::optional(std::move(order)) : std::nullopt;
}

double PlanBuilder::saving(ColumnId id) const {
  double alone = 0;
  for (ItemId item : problem.columns[index(id)].covers)
    alone += problem.columns[index(home[index(item)])].cost;
  return alone - problem.columns[index(id)].cost;
}

std::vector<std::pair<double, ColumnId>> PlanBuilder::bySaving() const {
  std::vector<std::pair<double, ColumnId>> columns;
  for (size_t i = 0; i < problem.columns.size(); ++i)
    if (double saved = saving(static_cast<ColumnId>(i));
        !problem.columns[i].covers.empty() && saved > 0)
      columns.push_back({saved, static_cast<ColumnId>(i)});
  std::ranges::sort(columns, {},
                    [](const auto &each) { return std::pair(-each.first, each.second); });
  return columns;
}

PlanBuilder::Batch PlanBuilder::take(Queue queue, size_t most) {
  Batch batch;
  for (; batch.end < queue.size() && batch.count < most; ++batch.end) {
    auto [saved, id] = queue[batch.end];
    const std::vector<ItemId> &covers = problem.columns[index(id)].covers;
    if (std::ranges::any_of(covers, [&](ItemId item) { return taken[index(item)]; }))
      continue;
    for (ItemId item : covers) {
      home[index(item)] = id;
      taken[index(item)] = true;
    }
    batch.saved += saved;
    if (batch.count++ == 0)
      batch.first = batch.end;
  }
  return batch;
}

void PlanBuilder::improve() {
  auto start = plan();
  if (!start)
    return;
  double total = totalCost(problem, *start);
  const std::vector<std::pair<double, ColumnId>> all = bySaving();
  taken.assign(problem.items.size(), false);
  size_t most = 1;
  for (Queue queue = all; !queue.empty();) {
    const std::vector<ColumnId> homeBefore(home);
    const std::vector<bool> takenBefore(taken);
    Batch batch = take(queue, most);
    if (batch.count == 0)
      return;
    auto with = plan();
    double cost = with ? totalCost(problem, *with) : 0;
    bool savesAll = batch.count == 1 || cost <= (total - batch.saved) * (1 + 1e-9);
    if (with && cost < total && savesAll) {
      total = cost;
      queue = queue.subspan(batch.end);
      most *= 2;
      continue;
    }
    home = homeBefore;
    taken = takenBefore;
    if (batch.count == 1)
      queue = queue.subspan(batch.first + 1);
    most = std::max<size_t>(1, batch.count / 4);
  }
}

double PlanBuilder::bound() const {
  double total = 0;
  for (const auto &columns : incidence.coverers) {
    double least = std::numeric_limits<double>::infinity();
    for (ColumnId id : columns) {
      const Column &column = problem.columns[index(id)];
      least = std::min(least, column.cost / static_cast<double>(column.covers.size()));
    }
    total += columns.empty() ? 0 : least;
  }
  return total;
}

Expected<Solution> build(const Problem &problem, bool improve) {
  KINTSUGI_RETURN_IF_ERROR(problem.check());
  PlanBuilder builder(problem);
  Solution none;
  none.bound = builder.bound();
  none.reason = "the columns that cover one item each do not make a plan";
  bool isPlan = builder.separate(false) && builder.plan();
  if (!isPlan && !(builder.separate(true) && builder.plan()))
    return none;
  if (improve)
    builder.improve();
  auto order = builder.plan();
  if (!order)
    return none;
  return makePlan(problem, *order, builder.bound());
}

} // namespace

Expected<Solution> solveSeparate(const Problem &problem, const SolverOptions &options) {
  return build(problem, false);
}

Expected<Solution> solveGreedy(const Problem &problem, const SolverOptions &options) {
  return build(problem, true);
}

} // namespace kintsugi::solve
