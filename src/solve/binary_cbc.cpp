//===- binary_cbc.cpp - Binary programs through COIN-OR's CBC -------------===//
//
// The only file that sees CBC's headers: it needs run-time type information and may throw.
//
//===----------------------------------------------------------------------===//

#include "solve/components.h"

#include <CbcHeuristic.hpp>
#include <CbcHeuristicDiveCoefficient.hpp>
#include <CbcModel.hpp>
#include <CglClique.hpp>
#include <CglGomory.hpp>
#include <CglProbing.hpp>
#include <CglTwomir.hpp>
#include <CoinError.hpp>
#include <CoinMessageHandler.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <new>

namespace kintsugi::solve {
namespace {

/// CBC's tolerances are absolute, so costs are brought near 1: the largest to [512, 1024). A power
/// of two, so that nothing is rounded.
double scaleOf(const std::vector<double> &costs) {
  double most = costs.empty() ? 0 : *std::ranges::max_element(costs);
  return most > 0 ? std::exp2(9 - std::floor(std::log2(most))) : 1;
}

/// Swallows every message: a library never prints.
class SilentHandler : public CoinMessageHandler {
public:
  SilentHandler() { setLogLevel(0); }
  int print() override { return 0; }
  CoinMessageHandler *clone() const override { return new SilentHandler(*this); }
};

void load(OsiClpSolverInterface &lp, const BinaryProgram &program, double scale) {
  int columns = static_cast<int>(program.costs.size());
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> positions;
  std::vector<double> values, lower, upper;
  for (const Row &row : program.rows) {
    positions.insert(positions.end(), row.plus.begin(), row.plus.end());
    values.insert(values.end(), row.weights.begin(), row.weights.end());
    values.resize(positions.size(), 1.0);
    positions.insert(positions.end(), row.minus.begin(), row.minus.end());
    values.resize(positions.size(), -1.0);
    starts.push_back(static_cast<CoinBigIndex>(positions.size()));
    lower.push_back(row.lower == -unbounded ? -COIN_DBL_MAX : row.lower);
    upper.push_back(row.upper == unbounded ? COIN_DBL_MAX : row.upper);
  }
  CoinPackedMatrix matrix(false, columns, static_cast<int>(program.rows.size()), starts.back(),
                          values.data(), positions.data(), starts.data(), nullptr);
  std::vector<double> zeros(program.costs.size()), ones(program.costs.size(), 1.0);
  std::vector<double> costs(program.costs);
  for (double &cost : costs)
    cost *= scale;
  lp.loadProblem(matrix, zeros.data(), ones.data(), costs.data(), lower.data(), upper.data());
  for (int i = 0; i < columns; ++i)
    lp.setInteger(i);
}

std::vector<ColumnId> rounded(const double *values, size_t count) {
  std::vector<ColumnId> chosen;
  for (size_t i = 0; i < count; ++i)
    if (values[i] > 0.5)
      chosen.push_back(static_cast<ColumnId>(i));
  return chosen;
}

bool isIntegral(const double *values, size_t count) {
  return std::all_of(values, values + count,
                     [](double value) { return std::abs(value - std::round(value)) < 1e-7; });
}

void addCuts(CbcModel &model) {
  CglProbing probing;
  probing.setUsingObjective(1);
  probing.setMaxPass(1);
  probing.setMaxPassRoot(1);
  probing.setMaxProbe(10);
  probing.setMaxProbeRoot(50);
  probing.setMaxLook(10);
  probing.setMaxLookRoot(10);
  probing.setRowCuts(3);
  CglClique clique;
  clique.setStarCliqueReport(false);
  clique.setRowCliqueReport(false);
  // Those of many columns close most gaps before anything is branched on.
  CglGomory gomory;
  gomory.setLimitAtRoot(4000);
  gomory.setLimit(2000);
  CglTwomir twomir;
  twomir.setMaxElements(1000);
  model.addCutGenerator(&probing, -1, "probing");
  model.addCutGenerator(&clique, -1, "clique");
  model.addCutGenerator(&gomory, -1, "gomory");
  model.addCutGenerator(&twomir, -1, "twomir");
}

double costOf(const BinaryProgram &program, const std::vector<ColumnId> &chosen) {
  double total = 0;
  for (ColumnId id : chosen)
    total += program.costs[index(id)];
  return total;
}

constexpr int64_t mostInt = std::numeric_limits<int>::max() / 2;

/// A node takes as long as the relaxation has elements: so many that large programs end as well.
int64_t nodesFor(const OsiClpSolverInterface &lp) {
  constexpr int64_t mostElements = 4000000, least = 8;
  return std::max<int64_t>(least, mostElements / std::max<int64_t>(1, lp.getNumElements()));
}

/// Branch and bound from the solved relaxation `lp` on; `result` holds what that one spent and
/// proved.
BinaryResult branch(OsiClpSolverInterface &lp, const BinaryProgram &program,
                    const BinaryLimits &limits, const std::vector<ColumnId> &start, double scale,
                    BinaryResult result) {
  // Relaxations of several threads are solved at once; what Cbc keeps besides models is its own.
  static std::mutex oneAtATime;
  std::lock_guard<std::mutex> lock(oneAtATime);
  SilentHandler silent;
  CbcModel model(lp);
  model.passInMessageHandler(&silent);
  model.setLogLevel(0);
  model.setRandomSeed(1);
  model.setMaximumNodes(static_cast<int>(
      std::clamp<int64_t>(std::min(limits.nodes - result.nodes, nodesFor(lp)), 0, mostInt)));
  model.setMaximumNumberIterations(
      static_cast<int>(std::clamp<int64_t>(limits.iterations - result.iterations, 0, mostInt)));
  model.setAllowableFractionGap(limits.relativeGap);
  model.setAllowableGap(0);
  addCuts(model);
  CbcRounding rounding(model);
  model.addHeuristic(&rounding);
  CbcHeuristicDiveCoefficient dive(model);
  dive.setMaxTime(1e100); // Fuel ends it, not a clock.
  model.addHeuristic(&dive);
  if (!start.empty()) {
    std::vector<double> values(program.costs.size());
    for (ColumnId id : start)
      values[index(id)] = 1;
    model.setBestSolution(values.data(), static_cast<int>(values.size()),
                          costOf(program, start) * scale, true);
  }
  model.branchAndBound();

  result.nodes += model.getNodeCount();
  result.iterations += model.getIterationCount();
  result.found = model.bestSolution() != nullptr;
  result.infeasible = model.isProvenInfeasible() && !result.found;
  result.complete = model.isProvenOptimal() || result.infeasible;
  if (!result.found)
    return result;
  result.chosen = rounded(model.bestSolution(), program.costs.size());
  double objective = costOf(program, result.chosen);
  double proven = result.complete ? objective * (1 - limits.relativeGap)
                                  : model.getBestPossibleObjValue() / scale;
  result.bound = std::min(objective, std::max(result.bound, proven));
  return result;
}

/// The solved relaxation of a program.
class Relaxation {
public:
  Relaxation(const BinaryProgram &program, int64_t iterations)
      : scale(scaleOf(program.costs)), count(program.costs.size()) {
    lp.passInMessageHandler(&silent);
    lp.setLogLevel(0);
    lp.setHintParam(OsiDoReducePrint, true, OsiHintTry);
    load(lp, program, scale);
    lp.setIntParam(OsiMaxNumIteration,
                   static_cast<int>(std::clamp<int64_t>(iterations, 0, mostInt)));
    lp.setHintParam(OsiDoPresolveInInitial, false, OsiHintTry); // Slower here, hides iterations.
    lp.initialSolve();
  }

  double objective() const { return std::max(0.0, lp.getObjValue() / scale); }
  bool isChosen(size_t column) const { return lp.getColSolution()[column] > 1e-6; }
  /// By how much a choice with the column must cost more than the relaxation.
  double reducedCost(size_t column) const { return lp.getReducedCost()[column] / scale; }

  SilentHandler silent;
  OsiClpSolverInterface lp;
  double scale;
  size_t count;
};

/// Branch and bound over some of the columns, from a solution among them.
BinaryResult branchAmong(const BinaryProgram &program, const std::vector<bool> &kept,
                         const BinaryLimits &limits, const std::vector<ColumnId> &start,
                         BinaryResult result) {
  Component part = restrictedTo(program, kept);
  std::vector<ColumnId> itsStart;
  for (size_t i = 0; i < part.columns.size(); ++i)
    if (std::ranges::binary_search(start, part.columns[i]))
      itsStart.push_back(static_cast<ColumnId>(i));
  Relaxation relaxed(part.program, limits.iterations - result.iterations);
  result.iterations += 1 + relaxed.lp.getIterationCount();
  if (!relaxed.lp.isProvenOptimal())
    return result;
  result = branch(relaxed.lp, part.program, limits, itsStart, relaxed.scale, std::move(result));
  for (ColumnId &id : result.chosen)
    id = part.columns[index(id)];
  return result;
}

/// Columns beyond so many cost more to look at than choices among them save: a node of the search
/// takes as long as all their elements do.
constexpr size_t mostAtOnce = 8000;

/// Of the columns that cost at most so much more than the relaxation those that cost least, beside
/// those that are kept already. Whether they are all.
bool keepCheapest(const Relaxation &relaxed, double most, std::vector<bool> &kept) {
  std::vector<std::pair<double, size_t>> added;
  for (size_t column = 0; column < relaxed.count; ++column)
    if (!kept[column] && relaxed.reducedCost(column) <= most)
      added.push_back({relaxed.reducedCost(column), column});
  bool isAll = added.size() <= mostAtOnce;
  if (!isAll) {
    std::ranges::nth_element(added, added.begin() + mostAtOnce);
    added.resize(mostAtOnce);
  }
  for (const auto &[cost, column] : added)
    kept[column] = true;
  return isAll;
}

/// Of many columns few are of use: those that the relaxation takes give a good solution, and what
/// costs more than that one saves is not looked at (reduced-cost fixing).
BinaryResult branchAmongFew(Relaxation &relaxed, const BinaryProgram &program,
                            const BinaryLimits &limits, std::vector<ColumnId> best,
                            BinaryResult result) {
  constexpr double near = 1.0 / 16; // A better one is made of such columns first of all.
  double least = result.bound;
  std::vector<bool> kept(relaxed.count);
  for (size_t column = 0; column < relaxed.count; ++column)
    kept[column] = relaxed.isChosen(column);
  for (ColumnId id : best)
    kept[index(id)] = true;
  if (!limits.startIsDraft) {
    result = branchAmong(program, kept, limits, best, std::move(result));
    if (result.found)
      best = result.chosen;
  }
  // What is known when only some columns were looked at.
  auto soFar = [&]() -> const BinaryResult & {
    result.found = true;
    result.chosen = best;
    result.bound = least;
    result.complete = costOf(program, best) * (1 - limits.relativeGap) <= least;
    return result;
  };
  for (double share : {near, 1.0}) {
    if (soFar().complete || limits.isDraft || result.nodes >= limits.nodes)
      return result;
    double most = costOf(program, best);
    bool isAll = keepCheapest(relaxed, share * (most - least) + 1e-9 * most, kept);
    result = branchAmong(program, kept, limits, best, std::move(result));
    if (result.found)
      best = result.chosen;
    if (!isAll)
      return soFar();
  }
  return result;
}

/// The relaxation, and branch and bound unless that one is integral.
BinaryResult solve(const BinaryProgram &program, const BinaryLimits &limits,
                   const std::vector<ColumnId> &start) {
  constexpr size_t many = 500;
  Relaxation relaxed(program, limits.iterations);
  BinaryResult result;
  result.iterations =
      1 + relaxed.lp.getIterationCount(); // No relaxation is free: fuel bounds the rounds too.
  if (relaxed.lp.isProvenPrimalInfeasible()) {
    result.infeasible = result.complete = true;
    return result;
  }
  if (!relaxed.lp.isProvenOptimal())
    return result;
  result.bound = relaxed.objective();
  if (isIntegral(relaxed.lp.getColSolution(), relaxed.count)) {
    result.found = result.complete = true;
    result.chosen = rounded(relaxed.lp.getColSolution(), relaxed.count);
    result.bound = costOf(program, result.chosen);
    return result;
  }
  if (relaxed.count > many && !start.empty())
    return branchAmongFew(relaxed, program, limits, start, std::move(result));
  return branch(relaxed.lp, program, limits, start, relaxed.scale, std::move(result));
}

std::vector<double> leastCosts(const BinaryProgram &program, int64_t iterations) {
  std::vector<double> least(program.costs.size(), 0.0);
  Relaxation relaxed(program, iterations);
  if (!relaxed.lp.isProvenOptimal())
    return least;
  for (size_t column = 0; column < least.size(); ++column)
    least[column] = relaxed.objective() + std::max(0.0, relaxed.reducedCost(column));
  return least;
}

/// CBC's exceptions as errors.
template <typename Result, typename Work> Expected<Result> guarded(Work work) {
  try {
    return work();
  } catch (CoinError &error) {
    return internalError("CBC failed: " + error.message());
  } catch (const std::bad_alloc &) {
    return machineError("there is not enough memory to choose kernels");
  } catch (const std::exception &error) {
    return internalError(std::string("CBC failed: ") + error.what());
  }
}

} // namespace

Expected<BinaryResult> solveBinaryCbc(const BinaryProgram &program, const BinaryLimits &limits,
                                      const std::vector<ColumnId> &start) {
  return guarded<BinaryResult>([&] { return solve(program, limits, start); });
}

Expected<std::vector<double>> leastCostsCbc(const BinaryProgram &program, int64_t iterations) {
  return guarded<std::vector<double>>([&] { return leastCosts(program, iterations); });
}

} // namespace kintsugi::solve
