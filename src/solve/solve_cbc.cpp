//===- solve_cbc.cpp - Rows, parts, CBC, and lazy cuts in a loop ----------===//

#include "solve/components.h"
#include "solve/solvers.h"

#include <algorithm>
#include <map>

namespace kintsugi::solve {
namespace {

/// What the parts of one round add up to.
struct Round {
  bool infeasible = false;
  bool found = true;    ///< Every part has a solution.
  bool complete = true; ///< Every part is solved within the gap.
  double bound = 0;
  std::vector<ColumnId> chosen; ///< Ascending.
};

class Search {
public:
  Search(const Problem &problem, const SolverOptions &options, const Solution &start)
      : problem(problem), options(options), incidence(problem), usable(usableColumns(problem)),
        rows(initialRows(problem, incidence, usable)), incumbent(start.columns),
        hasIncumbent(start.hasPlan()), bound(start.bound) {
    for (const Column &column : problem.columns)
      costs.push_back(column.cost);
    std::ranges::sort(incumbent);
  }

  Expected<Solution> run();

private:
  Expected<Round> solveRound();
  Expected<BinaryResult> solvePart(const Component &part);
  Solution infeasible() const;
  Solution best(const std::vector<ColumnId> *order) const;
  Solution spent(Solution solution) const;

  const Problem &problem;
  const SolverOptions &options;
  Incidence incidence;
  std::vector<bool> usable;
  std::vector<double> costs;
  std::vector<Row> rows;
  std::vector<ColumnId> incumbent; ///< A plan to start from and to fall back on, ascending.
  bool hasIncumbent;
  std::map<std::string, BinaryResult> solved; ///< By program: parts that rows did not touch again.
  double bound;                               ///< No plan costs less.
  int64_t nodes = 0, iterations = 0, cuts = 0;
  bool outOfFuel = false;
  bool knowsRoom = false; ///< Whether the row of what columns take is among the rows.
  bool isDraft = true;    ///< Rows that a plan has to respect are found with quick solutions first.
};

Expected<BinaryResult> Search::solvePart(const Component &part) {
  std::string key = programKey(part.program);
  auto known = solved.find(key);
  if (known != solved.end() && (known->second.complete || isDraft))
    return known->second;
  bool hasDraft = known != solved.end() && known->second.found;
  std::vector<ColumnId> start;
  if (hasDraft)
    start = known->second.chosen;
  for (size_t i = 0; !hasDraft && i < part.columns.size(); ++i)
    if (std::ranges::binary_search(incumbent, part.columns[i]))
      start.push_back(static_cast<ColumnId>(i));
  BinaryLimits limits{std::max<int64_t>(0, options.nodes - nodes),
                      std::max<int64_t>(0, options.iterations - iterations), options.relativeGap,
                      isDraft, hasDraft};
  KINTSUGI_ASSIGN(BinaryResult result, solveBinaryCbc(part.program, limits, start));
  nodes += result.nodes;
  iterations += result.iterations;
  bool isSpent = nodes >= options.nodes || iterations >= options.iterations;
  outOfFuel |= !result.complete && (!isDraft || !result.found || isSpent);
  solved.insert_or_assign(std::move(key), result);
  return result;
}

Expected<Round> Search::solveRound() {
  Round round;
  for (const Component &part : splitIntoComponents(costs, rows)) {
    KINTSUGI_ASSIGN(BinaryResult result, solvePart(part));
    if (result.infeasible) {
      round.infeasible = true;
      return round;
    }
    round.found &= result.found;
    round.complete &= result.complete;
    round.bound += result.bound;
    for (ColumnId id : result.chosen)
      round.chosen.push_back(part.columns[index(id)]);
  }
  std::ranges::sort(round.chosen);
  return round;
}

Solution Search::spent(Solution solution) const {
  solution.nodes = nodes;
  solution.iterations = iterations;
  solution.cuts = cuts;
  solution.outOfFuel = outOfFuel;
  return solution;
}

Solution Search::infeasible() const {
  Solution solution;
  solution.status = SolutionStatus::Infeasible;
  auto noneUsable = [&](const std::vector<ColumnId> &ids) {
    return std::ranges::none_of(ids, [&](ColumnId id) { return usable[index(id)]; });
  };
  solution.reason = "no columns that cover each item once can be put in an order";
  for (size_t r = problem.resources.size(); r-- > 0;)
    if (problem.resources[r].output && problem.resources[r].kind != ResourceKind::Input &&
        noneUsable(incidence.producers[r]))
      solution.reason =
          "no column that can run produces output '" + problem.resources[r].name + "'";
  for (size_t i = problem.items.size(); i-- > 0;)
    if (noneUsable(incidence.coverers[i]))
      solution.reason = "no column that can run covers item '" + problem.items[i].name + "'";
  return spent(std::move(solution));
}

Solution Search::best(const std::vector<ColumnId> *order) const {
  bool useIncumbent =
      hasIncumbent && (!order || totalCost(problem, incumbent) < totalCost(problem, *order));
  if (!order && !useIncumbent) {
    Solution solution;
    solution.bound = bound;
    solution.reason = "the fuel ran out before a plan was found";
    return spent(std::move(solution));
  }
  return spent(makePlan(problem, useIncumbent ? execute(problem, incumbent).order : *order, bound));
}

Expected<Solution> Search::run() {
  for (;;) {
    KINTSUGI_ASSIGN(Round round, solveRound());
    if (round.infeasible && hasIncumbent)
      return internalError("CBC calls '" + problem.name + "' infeasible, which has a plan");
    if (round.infeasible)
      return infeasible();
    bound = std::max(bound, round.bound);
    if (!round.found)
      return best(nullptr);
    Execution execution = execute(problem, round.chosen);
    std::vector<Row> violated = lazyRows(problem, incidence, usable, execution);
    // A row that most columns are in joins parts that are solved apart without it.
    if (!hasRoom(problem, round.chosen) && !knowsRoom) {
      violated.push_back(roomRow(problem, usable));
      knowsRoom = true;
    }
    if (violated.empty() && isDraft && !round.complete) {
      isDraft = false;
      std::ranges::sort(incumbent = execution.order);
      hasIncumbent = true;
      continue;
    }
    if (violated.empty())
      return best(&execution.order);
    if (outOfFuel || iterations >= options.iterations || nodes > options.nodes) {
      outOfFuel = true;
      return best(nullptr);
    }
    cuts += static_cast<int64_t>(violated.size());
    std::ranges::move(violated, std::back_inserter(rows));
    isDraft = true;
  }
}

} // namespace

Expected<Solution> solveCbc(const Problem &problem, const SolverOptions &options) {
  if (options.start.empty()) {
    KINTSUGI_ASSIGN(Solution start, solveGreedy(problem, options));
    return Search(problem, options, start).run();
  }
  Solution start = makePlan(problem, execute(problem, options.start).order, 0);
  KINTSUGI_RETURN_IF_ERROR(problem.verify(start));
  return Search(problem, options, start).run();
}

} // namespace kintsugi::solve
