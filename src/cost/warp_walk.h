//===- warp_walk.h - Where a warp's threads stand in a nest -----------------===//
//
// The threads of a warp stand at blocks of points that follow each other: first along a sum that
// neighbours share, then along the parallel iterators, the innermost one first. What one access of
// all of them takes follows from the strides of its position along these iterators.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_WARP_WALK_H
#define KINTSUGI_COST_WARP_WALK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace kintsugi::cost {

/// Turns of banks by how threads lie: most of the ways to use registers that are compared make
/// threads lie in one of few ways.
class KnownTurns {
public:
  /// Of moves of `moved` bytes. Threads stand in rows, rows in rows of those, and so on; each kind
  /// has so many, so many bytes apart.
  struct Row {
    int64_t apart, count;
  };
  double of(llvm::ArrayRef<Row> rows, int64_t moved, int64_t threads);

private:
  using Key = std::array<int64_t, 14>; ///< Two to the sixth threads: six rows are most.
  struct Hash {
    size_t operator()(const Key &key) const;
  };
  std::unordered_map<Key, double, Hash> known;
};

class WarpWalk {
public:
  /// Of so many threads; at most 64.
  explicit WarpWalk(int64_t threads) : threads(threads), left(threads) {}

  static constexpr int64_t lineBytes = 128; ///< That a core moves at once.

  /// The next iterator along which threads stand: `count` blocks, `step` points apart.
  void add(unsigned iterator, int64_t step, int64_t count);
  /// Whether every thread has its place.
  bool isFull() const { return left <= 1; }

  /// Lines that one element of each thread, of so many bytes, lies in; slopes are elements from one
  /// point to the next, by iterator. What is alike for all is one.
  double linesOf(llvm::ArrayRef<double> slopes, int64_t bytes) const;
  /// How many of the threads' elements differ, about.
  double differing(llvm::ArrayRef<double> slopes) const;
  /// Turns of scratch's banks for one move of `moved` bytes of each thread; nullopt where it is not
  /// known how far apart the threads' elements lie.
  std::optional<double> turnsOf(llvm::ArrayRef<int64_t> strides, int64_t bytes, int64_t moved,
                                KnownTurns &known) const;

private:
  struct Stretch {
    unsigned iterator;
    int64_t step;
    int64_t count; ///< More than one, and no more than there are threads for.
  };
  llvm::SmallVector<Stretch, 5> stretches;
  int64_t threads;
  int64_t left; ///< For each place so far.
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_WARP_WALK_H
