//===- tile_search.h - Which tiles are tried --------------------------------===//
//
// Walks the sizes of tiles from whole ones to small ones, by what tilings of them are predicted to
// take. It knows nothing of how a tiling is made.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_TILE_SEARCH_H
#define KINTSUGI_SEARCH_TILE_SEARCH_H

#include "loops/region.h"
#include "search/scheduler.h"

#include <cmath>
#include <map>

namespace kintsugi::search {

/// A tiling with all that was chosen for it.
struct Trial {
  loops::Schedule schedule;
  double computeSeconds = 0;
  loops::Point point;
};

/// Of another trial's time: by so much the estimate can be believed.
constexpr double better = 0.98;

/// Whether a trial is quicker than another by that.
bool isBetter(const std::optional<Trial> &a, const std::optional<Trial> &b);

/// What transforms made of the members.
struct CopiesOnTheWay {
  bool areMade = false;     ///< Of operands, which may be packed.
  bool changeOrder = false; ///< Tiles are cut along the result's iterators in either order.
};

class TileSearch {
public:
  /// May end without a trial where some of the choices say that it takes `most` seconds.
  using Attempt = llvm::function_ref<std::optional<Trial>(const loops::TileSizes &, double most)>;

  /// Of members that are tiled by the last one's iterators; all outlive this. `isOpen`: of a size
  /// that a run says, tiles are left out.
  TileSearch(const ScheduleOptions &options, llvm::ArrayRef<loops::Member> members,
             CopiesOnTheWay copies, bool isOpen, Attempt attempt)
      : options(options), members(members), copies(copies), isOpen(isOpen), make(attempt),
        vectorBits(options.scalar ? 0 : options.machine.vectorBits) {}

  /// The best that is found. `worthCutting`: whether other tiles than whole ones are looked at,
  /// which a group's first search says, so that those with and without copies compare.
  std::optional<Trial> run(std::optional<bool> &worthCutting);

private:
  std::optional<Trial> attempt(const loops::TileSizes &sizes, double most = INFINITY);
  /// Of interest where it takes less than so much of the best.
  std::optional<Trial> attemptBelow(const std::optional<Trial> &best, double factor,
                                    const loops::TileSizes &sizes);
  /// Tiles of about as many points along each iterator, from few of them to many, and of whole
  /// rows, which share what is summed along those; from the best of them, steps to either side.
  void refineBlocks(std::optional<Trial> &best);
  static bool usesMatrixUnits(const std::optional<Trial> &trial);
  /// Of tiles whose sizes double, the best may leave a third of the cores idle: so one between two
  /// of them, where it cuts the extent evenly.
  bool threeFourths(loops::TileSizes &sizes, size_t k, std::optional<Trial> &best);
  /// Taken where it costs less than so much of the best.
  void consider(const loops::TileSizes &sizes, loops::TileSizes &bestSizes,
                std::optional<Trial> &best, double enough = better);
  double tilesOf(const loops::TileSizes &sizes) const;
  /// Cuts the first `count` iterators, each time the one of the most points, until there are so
  /// many tiles for each core.
  void cutEvenly(llvm::ArrayRef<double> tilesACore, size_t count, loops::TileSizes &bestSizes,
                 std::optional<Trial> &best);
  /// Each of the last four iterators half, as it is, or twice: rows of a product that come of
  /// several iterators fill a tile of the units only where these fit together.
  bool stepTogether(loops::TileSizes &sizes, std::optional<Trial> &best);
  /// As many tiles of another shape: less along one iterator, more along another.
  bool exchange(loops::TileSizes &sizes, std::optional<Trial> &best);
  loops::TileSizes wholeSizes() const;
  /// Enough tiles to keep every core busy to the end; more, if each is still worth its start.
  bool tooManyTiles(const loops::TileSizes &sizes, const std::optional<Trial> &best) const;
  /// Coordinate descent from whole tiles: each iterator in turn by halving; then, where members
  /// share scratch, steps to either side. Which iterator is cut first decides how often a copy is
  /// made, and whether what is turned is read or written in long runs: there both orders are tried.
  void refine(const loops::TileSizes &sizes, std::optional<Trial> &best);
  /// Whether it does nothing but transpose blocks in registers.
  static bool transposesBlocks(const std::optional<Trial> &trial);
  void sweep(loops::TileSizes &sizes, size_t k, std::optional<Trial> &best);
  /// Of blocks that are turned, one more or less may be better than twice or half as many.
  void fineStep(loops::TileSizes &sizes, size_t k, std::optional<Trial> &best);
  bool doubleOrHalve(loops::TileSizes &sizes, size_t k, std::optional<Trial> &best);
  int64_t extentOf(size_t k) const;
  /// About half; so that tiles start at whole vectors where there are several of them, and those of
  /// blocks are whole warps' shares.
  int64_t smaller(int64_t size, int64_t extent) const;

  const ScheduleOptions &options;
  llvm::ArrayRef<loops::Member> members;
  const CopiesOnTheWay copies;
  const bool isOpen; ///< Tiles may be left out.
  Attempt make;
  const unsigned vectorBits;
  std::map<std::vector<int64_t>, double> leastSeconds; ///< Of tiles that were tried.
};

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_TILE_SEARCH_H
