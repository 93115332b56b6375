#include "layout/layout.h"

#include "layout/candidates.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <set>

namespace kintsugi::layout {

using namespace te;

namespace {

/// What formats must save of the time of the definitions that they concern: below it the estimate
/// says little, and what it leaves out (fusion, caches) is at its best row-major.
constexpr double leastSaving = 0.005;

class Chooser {
public:
  Chooser(const Program &program, const LayoutOptions &options)
      : program(program), options(options),
        costs(program, options.schedule, options.fuel, options.memo) {}

  std::optional<Program> run() {
    candidates = findCandidates(program, costs, options.open);
    if (candidates.variables.empty())
      return std::nullopt;
    makeGraph();
    makeMoves();
    Labelling rowMajor(graph.variables, 0);
    SearchResult best = search(graph, starts(rowMajor), moves, options.moveFuel);
    keepWhatPays(rowMajor, best);
    explain(rowMajor, best);
    if (best.labelling == rowMajor)
      return std::nullopt;
    std::vector<Order> orders(program.numValues());
    for (uint32_t value = 0; value < program.numValues(); ++value)
      orders[value] = candidates.orderOf({value}, best.labelling);
    return reorder(program, orders);
  }

private:
  int variableOf(ValueId value) const { return candidates.variableOf[value.number]; }

  /// One factor for each definition that writes or reads a variable.
  void makeGraph() {
    graph.variables = candidates.variables.size();
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      if (!std::holds_alternative<Definition>(program.nodes[node]))
        continue;
      llvm::SmallVector<unsigned, 4> scope;
      auto add = [&](ValueId value) {
        if (variableOf(value) >= 0 && !llvm::is_contained(scope, variableOf(value)))
          scope.push_back(variableOf(value));
      };
      add(program.resultsOf(node)[0]);
      llvm::for_each(program.operandsOf(node), add);
      if (scope.empty())
        continue;
      graph.factors.push_back(scope);
      nodeOf.push_back(node);
    }
    known.resize(graph.factors.size());
    graph.cost = [this](unsigned factor, const Labelling &labelling) {
      llvm::SmallVector<unsigned, 4> labels;
      for (unsigned variable : graph.factors[factor])
        labels.push_back(labelling[variable]);
      auto [entry, fresh] = known[factor].try_emplace(std::move(labels), 0.0);
      if (fresh)
        entry->second = costs.seconds(nodeOf[factor], [&](ValueId value) -> const Order & {
          return candidates.orderOf(value, labelling);
        });
      return entry->second;
    };
  }

  struct Flood {
    Move move;
    bool isEach = true; ///< Whether the same is reached from all of it: no variable is met in two.
  };
  /// What is reached from a variable's dimension along links, each in the dimension that moves with
  /// it. Links of reductions are passed only if `throughReductions`.
  Flood flood(unsigned variable, unsigned label, bool throughReductions) const {
    Flood result{{{variable, label}}};
    Move &move = result.move;
    std::map<unsigned, unsigned> reached = {{variable, label}};
    for (size_t next = 0; next < move.size(); ++next) {
      unsigned at = move[next].variable;
      int dimension = candidates.variables[at].dimensions[move[next].label];
      auto reach = [&](unsigned other, unsigned otherDimension) {
        int label = candidates.variables[other].labelOf(static_cast<int>(otherDimension));
        if (label <= 0)
          return;
        auto [entry, isNew] = reached.try_emplace(other, label);
        if (isNew)
          move.push_back({other, static_cast<unsigned>(label)});
        result.isEach &= entry->second == static_cast<unsigned>(label);
      };
      for (const Link *link : linksOf[at]) {
        if (link->reduces && !throughReductions)
          continue;
        if (link->from == at && static_cast<int>(link->fromDimension) == dimension)
          reach(link->to, link->toDimension);
        if (link->to == at && static_cast<int>(link->toDimension) == dimension)
          reach(link->from, link->fromDimension);
      }
    }
    return result;
  }

  static Move toRowMajor(Move move) {
    for (Change &change : move)
      change.label = 0;
    return move;
  }

  /// Single variables, linked pairs, and runs of linked variables; each also back to row-major.
  void makeMoves() {
    linksOf.resize(graph.variables);
    for (const Link &link : candidates.links) {
      linksOf[link.from].push_back(&link);
      linksOf[link.to].push_back(&link);
    }
    std::set<Move> seen;
    auto offer = [&](Move move) {
      llvm::sort(move);
      for (const Move &m : {toRowMajor(move), move})
        if (seen.insert(m).second)
          moves.push_back(m);
    };
    for (auto [number, variable] : llvm::enumerate(candidates.variables))
      for (unsigned label = 1; label < variable.dimensions.size(); ++label)
        offer({{static_cast<unsigned>(number), label}});
    for (const Link &link : candidates.links) {
      int from = candidates.variables[link.from].labelOf(static_cast<int>(link.fromDimension));
      int to = candidates.variables[link.to].labelOf(static_cast<int>(link.toDimension));
      if (from > 0 && to > 0 && link.from != link.to)
        offer({{link.from, static_cast<unsigned>(from)}, {link.to, static_cast<unsigned>(to)}});
    }
    for (bool throughReductions : {false, true}) {
      std::set<Change> flooded;
      for (auto [number, variable] : llvm::enumerate(candidates.variables))
        for (unsigned label = 1; label < variable.dimensions.size(); ++label) {
          if (flooded.count({static_cast<unsigned>(number), label}))
            continue;
          Flood its = flood(number, label, throughReductions);
          if (its.isEach)
            flooded.insert(its.move.begin(), its.move.end());
          offer(std::move(its.move));
        }
    }
  }

  /// Each variable's first label, and its neighbours in line with it; those that gain most first.
  Labelling preferred() const {
    std::vector<unsigned> order(graph.variables);
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return std::pair(-candidates.variables[a].gain, a) <
             std::pair(-candidates.variables[b].gain, b);
    });
    Labelling labelling(graph.variables, 0);
    for (unsigned variable : order)
      if (labelling[variable] == 0)
        for (Change change : flood(variable, 1, true).move)
          if (labelling[change.variable] == 0)
            labelling[change.variable] = change.label;
    return labelling;
  }

  /// Row-major, as each would have it, and everything that can in line with one dimension.
  std::vector<Labelling> starts(const Labelling &rowMajor) const {
    std::vector<Labelling> all = {rowMajor, preferred()};
    constexpr int most = 4;
    for (int dimension = 0; dimension < most; ++dimension) {
      Labelling uniform = rowMajor;
      for (auto [number, variable] : llvm::enumerate(candidates.variables))
        uniform[number] = std::max(0, variable.labelOf(dimension));
      if (uniform != rowMajor)
        all.push_back(std::move(uniform));
    }
    return all;
  }

  /// The factors of each part of the graph that no factor joins to the rest.
  std::vector<std::vector<unsigned>> parts() const {
    llvm::EquivalenceClasses<unsigned> joined;
    for (llvm::ArrayRef<unsigned> scope : graph.factors)
      for (unsigned variable : scope)
        joined.unionSets(scope.front(), variable);
    std::map<unsigned, std::vector<unsigned>> factors;
    for (auto [factor, scope] : llvm::enumerate(graph.factors))
      factors[joined.getLeaderValue(scope.front())].push_back(factor);
    std::vector<std::vector<unsigned>> result;
    for (auto &[leader, list] : factors)
      result.push_back(std::move(list));
    return result;
  }

  /// Parts that save too little go back to row-major.
  void keepWhatPays(const Labelling &rowMajor, SearchResult &best) const {
    for (const std::vector<unsigned> &part : parts()) {
      double before = 0, after = 0;
      for (unsigned factor : part) {
        before += graph.cost(factor, rowMajor);
        after += graph.cost(factor, best.labelling);
      }
      if (before - after >= leastSaving * before)
        continue;
      for (unsigned factor : part)
        for (unsigned variable : graph.factors[factor])
          best.labelling[variable] = 0;
    }
    best.cost = costOf(graph, best.labelling);
  }

  /// What the definitions that write and read a variable take together.
  double around(unsigned variable, const Labelling &labelling) const {
    double seconds = 0;
    for (auto [factor, scope] : llvm::enumerate(graph.factors))
      if (llvm::is_contained(scope, variable))
        seconds += graph.cost(factor, labelling);
    return seconds;
  }

  void explain(const Labelling &rowMajor, const SearchResult &best) const {
    if (!options.log)
      return;
    unsigned changed = 0;
    for (auto [number, variable] : llvm::enumerate(candidates.variables)) {
      if (best.labelling[number] == 0)
        continue;
      ++changed;
      const Order &order = variable.orders[best.labelling[number]];
      options.log->add({"formats",
                        "value '" + program.value(program.resultsOf(variable.node)[0]).name + "'",
                        "dimensions stored in the order " + textOf(order),
                        {},
                        {{"readers and writer before", around(number, rowMajor), "s"},
                         {"after", around(number, best.labelling), "s"}}});
    }
    options.log->add({"formats",
                      "program '" + program.name + "'",
                      costs.outOfFuel() ? "the search ran out of fuel" : "searched to the end",
                      {},
                      {{"values that could change", static_cast<double>(graph.variables), ""},
                       {"changed", static_cast<double>(changed), ""},
                       {"schedules", static_cast<double>(costs.scheduled()), ""},
                       {"before", costOf(graph, rowMajor), "s"},
                       {"after", best.cost, "s"}}});
  }

  const Program &program;
  const LayoutOptions &options;
  DefinitionCosts costs;
  Candidates candidates;
  FactorGraph graph;
  std::vector<uint32_t> nodeOf; ///< By factor.
  std::vector<std::map<llvm::SmallVector<unsigned, 4>, double>> known;
  std::vector<llvm::SmallVector<const Link *, 8>> linksOf;
  std::vector<Move> moves;
};

} // namespace

std::optional<Program> chooseFormats(const Program &program, const LayoutOptions &options) {
  return Chooser(program, options).run();
}

} // namespace kintsugi::layout
