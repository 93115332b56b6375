//===- search.h - Labels of least cost --------------------------------------===//
//
// A labelling gives each variable one of its labels; its cost is a sum of factors, each over a few
// variables. The search starts from some labellings and takes whatever move lowers the sum until
// none does. It knows nothing of formats: what moves are worth trying is the caller's knowledge.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LAYOUT_SEARCH_H
#define KINTSUGI_LAYOUT_SEARCH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <vector>

namespace kintsugi::layout {

/// By variable.
using Labelling = std::vector<unsigned>;

struct FactorGraph {
  unsigned variables = 0;
  std::vector<llvm::SmallVector<unsigned, 4>> factors; ///< The variables of each.
  /// What a factor costs; infinity forbids.
  std::function<double(unsigned factor, const Labelling &labelling)> cost;
};

struct Change {
  unsigned variable, label;
  auto operator<=>(const Change &) const = default;
};

/// Changes that are taken together.
using Move = std::vector<Change>;

struct SearchResult {
  Labelling labelling;
  double cost = 0;
};

double costOf(const FactorGraph &graph, const Labelling &labelling);

/// The best labelling found from the given ones. No more than `fuel` moves are tried from each.
SearchResult search(const FactorGraph &graph, llvm::ArrayRef<Labelling> starts,
                    llvm::ArrayRef<Move> moves, unsigned fuel);

} // namespace kintsugi::layout

#endif // KINTSUGI_LAYOUT_SEARCH_H
