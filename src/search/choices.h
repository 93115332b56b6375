//===- choices.h - What a nest could do in a block of threads --------------===//
//
// Those who choose how a block computes a nest take what their estimate says is best. Whoever has
// measured knows better: a wish names the choice to take, if it is one, or wants to hear of all.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_CHOICES_H
#define KINTSUGI_SEARCH_CHOICES_H

#include "loops/point.h"

#include <vector>

namespace kintsugi::search {

struct RankedChoice {
  double cost; ///< As BlockCycles::cost.
  loops::NestChoice choice;
};

struct Wish {
  const loops::NestChoice *wanted = nullptr; ///< Null: the best.
  std::vector<RankedChoice> *all = nullptr;  ///< Told of each that there is; may be null.

  /// Whether the estimate decides alone, so that those that it can't take need no look.
  bool isNone() const { return !wanted && !all; }

  template <typename Tile> bool allows(const Tile &tile) const {
    const Tile *own = wanted ? std::get_if<Tile>(wanted) : nullptr;
    return !wanted || (own && *own == tile);
  }
  template <typename Tile> void tell(double cost, const Tile &tile) const {
    if (all)
      all->push_back({cost, tile});
  }
};

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_CHOICES_H
