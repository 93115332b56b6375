#include "layout/search.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace kintsugi::layout {

double costOf(const FactorGraph &graph, const Labelling &labelling) {
  double cost = 0;
  for (unsigned factor = 0; factor < graph.factors.size(); ++factor)
    cost += graph.cost(factor, labelling);
  return cost;
}

namespace {

class Descent {
public:
  explicit Descent(const FactorGraph &graph) : graph(graph), factorsOf(graph.variables) {
    for (auto [factor, variables] : llvm::enumerate(graph.factors))
      for (unsigned variable : variables)
        factorsOf[variable].push_back(factor);
  }

  /// Takes moves that lower the cost until none does.
  void run(Labelling &labelling, llvm::ArrayRef<Move> moves, unsigned fuel) const {
    for (bool changed = true; changed && fuel;) {
      changed = false;
      for (const Move &move : moves) {
        if (fuel == 0)
          break;
        --fuel;
        changed |= take(labelling, move);
      }
    }
  }

private:
  bool take(Labelling &labelling, const Move &move) const {
    Move back;
    std::vector<unsigned> touched;
    for (auto [variable, label] : move) {
      if (labelling[variable] == label)
        continue;
      back.push_back({variable, labelling[variable]});
      llvm::append_range(touched, factorsOf[variable]);
    }
    llvm::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    auto around = [&] {
      double seconds = 0;
      for (unsigned factor : touched)
        seconds += graph.cost(factor, labelling);
      return seconds;
    };
    double before = around();
    set(labelling, move);
    // Rounding of sums must not look like progress.
    if (around() < before * (1 - 1e-9))
      return true;
    set(labelling, back);
    return false;
  }

  static void set(Labelling &labelling, const Move &move) {
    for (auto [variable, label] : move)
      labelling[variable] = label;
  }

  const FactorGraph &graph;
  std::vector<llvm::SmallVector<unsigned, 4>> factorsOf;
};

} // namespace

SearchResult search(const FactorGraph &graph, llvm::ArrayRef<Labelling> starts,
                    llvm::ArrayRef<Move> moves, unsigned fuel) {
  Descent descent(graph);
  SearchResult best;
  for (const Labelling &start : starts) {
    Labelling labelling = start;
    descent.run(labelling, moves, fuel);
    double cost = costOf(graph, labelling);
    if (best.labelling.empty() || cost < best.cost)
      best = {std::move(labelling), cost};
  }
  return best;
}

} // namespace kintsugi::layout
