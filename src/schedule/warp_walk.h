//===- warp_walk.h - Where a warp's threads stand in a nest -----------------===//
//
// The threads of a warp stand at blocks of points that follow each other: first along a sum that
// neighbours share, then along the parallel iterators, the innermost one first. What one access of
// all of them takes follows from the strides of its position along these iterators.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_WARP_WALK_H
#define KINTSUGI_SCHEDULE_WARP_WALK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace kintsugi::schedule {

class WarpWalk {
public:
  static constexpr int64_t threads = 32;
  static constexpr int64_t lineBytes = 128; ///< That a core moves at once.

  /// The next iterator along which threads stand: `count` blocks, `step` points apart.
  void add(unsigned iterator, int64_t step, int64_t count);
  /// Whether every thread has its place.
  bool isFull() const { return left <= 1; }

  /// Lines that one element of each thread, of so many bytes, lies in; strides are in elements, by
  /// iterator. What is alike for all is one.
  double linesOf(llvm::ArrayRef<int64_t> strides, int64_t bytes) const;
  /// How many of the threads' elements differ.
  double differing(llvm::ArrayRef<int64_t> strides) const;
  /// Turns of scratch's banks for one move of `moved` bytes of each thread; nullopt where it is not
  /// known how far apart the threads' elements lie.
  std::optional<double> turnsOf(llvm::ArrayRef<int64_t> strides, int64_t bytes,
                                int64_t moved) const;

private:
  struct Stretch {
    unsigned iterator;
    int64_t step;
    int64_t count; ///< More than one, and no more than there are threads for.
  };
  llvm::SmallVector<Stretch, 5> stretches;
  int64_t left = threads; ///< For each place so far.
};

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_WARP_WALK_H
