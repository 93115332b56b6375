#include "orchestrate/prices.h"

#include "orchestrate/choice.h"
#include "solve/forced.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace kintsugi::orchestrate {

using namespace solve;

namespace {

constexpr size_t mostOfKernel = 6;      ///< Told beside each kernel,
constexpr size_t mostOfAll = 3000;      ///< and in all.
constexpr size_t mostCharacters = 1500; ///< Of a kernel's expressions.
constexpr int64_t nodesOfEach = 10;     ///< As where forms are chosen.
constexpr int64_t fuelOfEach = 20000;   ///< Iterations.
constexpr int64_t fuelOfAll = 400000;   ///< Likewise.

class Pricer {
public:
  Pricer(const Pricing &pricing, explain::Choice &choice)
      : pricing(pricing), problem(pricing.problem), choice(choice),
        chosenOf(problem.items.size(), none) {}

  Status run() {
    addChosen();
    KINTSUGI_ASSIGN(least, leastCosts(problem, fuelOfAll));
    std::vector<ColumnId> told = interesting();
    std::vector<ColumnId> priced = differing(told);
    for (ColumnId id : told)
      choice.alternatives.push_back(alternativeOf(id));
    for (ColumnId id : priced)
      KINTSUGI_RETURN_IF_ERROR(price(id, choice.alternatives[llvm::find(told, id) - told.begin()]));
    sortByPrice();
    return Status::success();
  }

private:
  static constexpr size_t none = ~size_t(0);

  const Column &column(ColumnId id) const { return problem.columns[static_cast<size_t>(id)]; }

  void addChosen() {
    for (ColumnId id : pricing.solution.columns) {
      if (!pricing.runs(id))
        continue;
      for (ItemId item : column(id).covers)
        chosenOf[static_cast<size_t>(item)] = choice.chosen.size();
      choice.chosen.push_back(described(id));
      choice.chosen.back().expressions.clear(); // Those of what runs are told elsewhere.
    }
  }

  explain::ChoosableKernel described(ColumnId id) const {
    explain::ChoosableKernel kernel = pricing.describe(id);
    kernel.seconds = column(id).cost / microseconds;
    kernel.forms = pricing.formsOf(id);
    return kernel;
  }

  /// Chosen kernels that have items of a column.
  std::vector<size_t> insteadOf(ColumnId id) const {
    std::set<size_t> kernels;
    for (ItemId item : column(id).covers)
      if (size_t kernel = chosenOf[static_cast<size_t>(item)]; kernel != none)
        kernels.insert(kernel);
    return {kernels.begin(), kernels.end()};
  }

  double leastOf(ColumnId id) const { return least[static_cast<size_t>(id)]; }

  /// Of each chosen kernel those with the least bounds, dear kernels first.
  std::vector<ColumnId> interesting() {
    std::vector<std::vector<ColumnId>> others(choice.chosen.size());
    std::set<ColumnId> taken(pricing.solution.columns.begin(), pricing.solution.columns.end());
    for (size_t number = 0; number < problem.columns.size(); ++number) {
      ColumnId id = static_cast<ColumnId>(number);
      if (taken.count(id) || !std::isfinite(leastOf(id)) || !pricing.runs(id))
        continue;
      std::vector<size_t> kernels = insteadOf(id);
      if (!kernels.empty()) // What has parts of several is told at the first.
        others[kernels.front()].push_back(id);
    }
    std::vector<ColumnId> all;
    for (std::vector<ColumnId> &its : others) {
      llvm::sort(its, [&](ColumnId a, ColumnId b) {
        return std::pair(leastOf(a), a) < std::pair(leastOf(b), b);
      });
      its = ofEachFormFirst(its);
      size_t told = std::min({its.size(), mostOfKernel, mostOfAll - all.size()});
      choice.notTold += its.size() - told;
      its.resize(told);
      llvm::append_range(all, its);
    }
    return all;
  }

  /// Or else the ways in which one form can be cut would hide what others are.
  std::vector<ColumnId> ofEachFormFirst(llvm::ArrayRef<ColumnId> columns) const {
    std::vector<ColumnId> first, others;
    std::set<std::vector<size_t>> known;
    for (ColumnId id : columns)
      (known.insert(pricing.formsOf(id)).second ? first : others).push_back(id);
    llvm::append_range(first, others);
    return first;
  }

  /// Those that are solved for: layers that repeat have equal alternatives, of which one says as
  /// much as all.
  std::vector<ColumnId> differing(llvm::ArrayRef<ColumnId> told) const {
    std::map<size_t, std::vector<ColumnId>> byKernel;
    std::set<std::pair<int64_t, int64_t>> known; // Cost and bound, to a millionth of the whole.
    double unit = std::max(choice.objective * microseconds, 1e-300) * 1e-6;
    for (ColumnId id : told)
      if (known.insert({std::llround(column(id).cost / unit), std::llround(leastOf(id) / unit)})
              .second)
        byKernel[insteadOf(id).front()].push_back(id);
    std::vector<std::pair<double, size_t>> order;
    for (const auto &[kernel, ids] : byKernel)
      order.push_back({-choice.chosen[kernel].seconds, kernel});
    llvm::sort(order);
    std::vector<ColumnId> all;
    for (size_t place = 0; place < mostOfKernel; ++place)
      for (auto [seconds, kernel] : order)
        if (place < byKernel[kernel].size() && all.size() < pricing.priced)
          all.push_back(byKernel[kernel][place]);
    return all;
  }

  explain::Alternative alternativeOf(ColumnId id) const {
    explain::Alternative alternative;
    alternative.kernel = described(id);
    alternative.insteadOf = insteadOf(id);
    alternative.moreAtLeast = moreThanBest(leastOf(id));
    return alternative;
  }

  /// Seconds; less than 0 where the best plan is not proven to be that. What rounding makes is 0.
  double moreThanBest(double cost) const {
    constexpr double tolerance = 1e-9;
    double best = pricing.solution.objective;
    return std::abs(cost - best) <= tolerance * best ? 0 : (cost - best) / microseconds;
  }

  Status price(ColumnId id, explain::Alternative &alternative) {
    if (fuel <= 0)
      return Status::success();
    SolverOptions options;
    options.nodes = nodesOfEach;
    options.iterations = std::min(fuel, fuelOfEach);
    KINTSUGI_ASSIGN(Solution solution, solveForced(problem, id, least, options));
    fuel -= solution.iterations;
    if (!solution.hasPlan())
      return Status::success();
    alternative.more = moreThanBest(solution.objective);
    alternative.moreAtLeast = std::max(alternative.moreAtLeast, moreThanBest(solution.bound));
    alternative.isProven = solution.status == SolutionStatus::Optimal;
    for (ColumnId other : solution.columns)
      if (other != id && pricing.runs(other) &&
          !llvm::is_contained(pricing.solution.columns, other))
        llvm::append_range(alternative.with, pricing.describe(other).stores);
    return Status::success();
  }

  void sortByPrice() {
    auto key = [](const explain::Alternative &each) {
      return std::tuple(each.insteadOf.front(), each.more.value_or(each.moreAtLeast),
                        each.kernel.seconds, each.kernel.definitions);
    };
    llvm::sort(choice.alternatives, [&](const auto &a, const auto &b) { return key(a) < key(b); });
  }

  const Pricing &pricing;
  const Problem &problem;
  explain::Choice &choice;
  std::vector<size_t> chosenOf; ///< By item: the chosen kernel that has it.
  std::vector<double> least;    ///< By column.
  int64_t fuel = fuelOfAll;
};

} // namespace

void describeKernel(const te::Program &program, llvm::ArrayRef<uint32_t> nodes,
                    llvm::ArrayRef<te::ValueId> stored, explain::ChoosableKernel &launch) {
  for (te::ValueId value : stored)
    launch.stores.push_back(program.value(value).name);
  for (uint32_t node : nodes) {
    for (te::ValueId result : program.resultsOf(node))
      launch.definitions.push_back(program.value(result).name);
    for (const std::string &origin : program.origins[node])
      if (!llvm::is_contained(launch.nodes, origin))
        launch.nodes.push_back(origin);
    if (launch.expressions.size() < mostCharacters)
      launch.expressions += te::printNode(program, node) + "\n";
  }
  if (launch.expressions.size() > mostCharacters) {
    launch.expressions.resize(mostCharacters);
    launch.expressions += "...\n";
  }
}

void tellPrices(const Pricing &pricing, explain::Choice choice, explain::Log &log) {
  choice.program = pricing.problem.name;
  choice.definitions = pricing.problem.items.size();
  choice.candidates = pricing.problem.columns.size();
  choice.objective = pricing.solution.objective / microseconds;
  choice.bound = pricing.solution.bound / microseconds;
  choice.gap = pricing.solution.gap;
  if (Status status = Pricer(pricing, choice).run(); status.ok())
    log.add(std::move(choice));
  else
    log.add({"orchestrate",
             "program '" + choice.program + "'",
             "prices left out",
             {status.error().message},
             {}});
}

} // namespace kintsugi::orchestrate
