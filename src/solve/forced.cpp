#include "solve/forced.h"

#include "solve/binary_program.h"

#include <algorithm>
#include <cassert>

namespace kintsugi::solve {

namespace {

bool overlaps(const Column &column, const std::vector<bool> &items) {
  return std::ranges::any_of(column.covers, [&](ItemId item) { return items[index(item)]; });
}

/// Some of a problem's columns, by their numbers in it.
struct Part {
  Problem problem;
  std::vector<ColumnId> columns;
};

/// The columns that a plan with `forced` of at most `limit` may have.
Part partOf(const Problem &problem, ColumnId forced, const std::vector<double> &least,
            double limit) {
  constexpr double tolerance = 1e-7; // Of the relaxation's.
  std::vector<bool> items(problem.items.size());
  for (ItemId item : problem.columns[index(forced)].covers)
    items[index(item)] = true;
  Part part;
  part.problem.name = problem.name;
  part.problem.room = problem.room;
  part.problem.items = problem.items;
  part.problem.resources = problem.resources;
  for (size_t i = 0; i < problem.columns.size(); ++i) {
    ColumnId id = static_cast<ColumnId>(i);
    bool isExcluded = least[i] > limit * (1 + tolerance) || overlaps(problem.columns[i], items);
    if (isExcluded && id != forced)
      continue;
    part.problem.addColumn(problem.columns[i]);
    part.columns.push_back(id);
  }
  return part;
}

/// Looks among ever more columns.
class Search {
public:
  Search(const Problem &problem, ColumnId forced, const std::vector<double> &least,
         const SolverOptions &options)
      : problem(problem), forced(forced), least(least), options(options) {
    this->options.start.clear();
  }

  /// Whether there is nothing more to find, or no fuel to find it.
  Expected<bool> lookWithin(double limit) {
    Part part = partOf(problem, forced, least, limit);
    KINTSUGI_ASSIGN(Solution found, solveCbc(part.problem, options));
    best.iterations += found.iterations;
    best.nodes += found.nodes;
    options.iterations -= std::min(options.iterations, found.iterations);
    options.nodes -= std::min(options.nodes, found.nodes);
    best.outOfFuel = found.outOfFuel || options.iterations == 0;
    if (found.hasPlan() && (!hasPlan() || found.objective < best.objective)) {
      best.status = SolutionStatus::Feasible;
      best.objective = found.objective;
      best.columns.clear();
      for (ColumnId id : found.columns)
        best.columns.push_back(part.columns[index(id)]);
    }
    // A plan within the limit has columns of this part alone.
    bool isInfeasible = found.status == SolutionStatus::Infeasible;
    best.bound = std::max(best.bound, isInfeasible ? limit : std::min(limit, found.bound));
    bool isOptimal = found.status == SolutionStatus::Optimal && best.objective <= limit;
    return isOptimal || best.outOfFuel;
  }

  bool hasPlan() const { return best.hasPlan(); }
  double objective() const { return best.objective; }

  Solution result() {
    best.bound = std::max(best.bound, least[index(forced)]);
    if (!hasPlan()) {
      best.status = best.outOfFuel ? SolutionStatus::Unknown : SolutionStatus::Infeasible;
      return best;
    }
    constexpr double tolerance = 1e-9;
    best.bound = std::min(best.bound, best.objective);
    best.gap = best.objective > 0 ? (best.objective - best.bound) / best.objective : 0;
    if (best.gap > tolerance)
      return best;
    best.status = SolutionStatus::Optimal;
    best.bound = best.objective;
    best.gap = 0;
    return best;
  }

private:
  const Problem &problem;
  ColumnId forced;
  const std::vector<double> &least;
  SolverOptions options;
  Solution best;
};

} // namespace

Expected<std::vector<double>> leastCosts(const Problem &problem, int64_t iterations) {
  std::vector<bool> usable = usableColumns(problem);
  BinaryProgram program;
  for (const Column &column : problem.columns)
    program.costs.push_back(column.cost);
  program.rows = initialRows(problem, Incidence(problem), usable);
  KINTSUGI_ASSIGN(std::vector<double> least, leastCostsCbc(program, iterations));
  for (size_t i = 0; i < least.size(); ++i)
    if (!usable[i])
      least[i] = unbounded;
  return least;
}

Expected<Solution> solveForced(const Problem &problem, ColumnId column,
                               const std::vector<double> &least, const SolverOptions &options) {
  assert(!problem.columns[index(column)].covers.empty() && "nothing is excluded by it");
  // Most prices are near their bounds, so that few columns find most plans.
  constexpr double firstShare = 5e-4, nearBound = 1.1, growth = 8, most = 100;
  double base = *std::ranges::min_element(least);
  double step = nearBound * (least[index(column)] - base) + firstShare * base;
  Search search(problem, column, least, options);
  for (double limit = base + step;;) {
    KINTSUGI_ASSIGN(bool isDone, search.lookWithin(limit));
    if (isDone || limit == unbounded)
      return search.result();
    step *= growth;
    double wider = step > most * base ? unbounded : base + step;
    // What costs more than a plan that is known needs no look.
    double next = search.hasPlan() ? search.objective() : wider;
    limit = next > limit ? next : unbounded;
  }
}

} // namespace kintsugi::solve
