//===- nests.h - Schedules written by hand, for tests -----------------------===//
#ifndef KINTSUGI_TEST_TARGETS_NESTS_H
#define KINTSUGI_TEST_TARGETS_NESTS_H

#include "loops/schedule.h"

namespace kintsugi::test {

inline te::Index it(unsigned iterator) { return te::Index::iterator(iterator); }

inline std::vector<te::Iterator> iterators(llvm::ArrayRef<int64_t> extents) {
  std::vector<te::Iterator> result;
  for (int64_t extent : extents)
    result.push_back({"i" + std::to_string(result.size()), extent});
  return result;
}

/// Builds a schedule nest by nest.
struct ScheduleMaker {
  loops::Schedule schedule;

  unsigned buffer(ElementType type, int64_t elements, bool written = false) {
    unsigned number = schedule.buffers.size();
    schedule.buffers.push_back({te::ValueId{number}, type, elements, loops::Home::Memory, written});
    return number;
  }
  /// After all memory buffers.
  unsigned scratch(ElementType type, int64_t elements) {
    unsigned number = schedule.buffers.size();
    schedule.buffers.push_back(
        {te::ValueId{number}, type, elements, loops::Home::Scratch, true, schedule.scratchBytes});
    schedule.scratchBytes += (elements * 8 + 63) / 64 * 64;
    return number;
  }
  void tile(int64_t extent, int64_t size) { schedule.space.push_back({extent, size}); }
  te::Expr read(unsigned buffer, te::Index index) const {
    return te::Expr::read({buffer}, schedule.buffers[buffer].type, index);
  }

  /// destination[index] = body over the parallel extents.
  loops::LoopNest &map(llvm::ArrayRef<int64_t> parallel, unsigned destination, te::Index index,
                       te::Expr body) {
    loops::LoopNest nest;
    for (te::Iterator &iterator : iterators(parallel))
      nest.parallel.push_back(iterator);
    nest.bodies.push_back(body);
    nest.destinations.push_back(destination);
    nest.destinationIndex = index;
    schedule.nests.push_back(nest);
    return schedule.nests.back();
  }

  /// destination[index] = combine over the reduction extents.
  loops::LoopNest &reduce(llvm::ArrayRef<int64_t> parallel, llvm::ArrayRef<int64_t> reduction,
                          te::Combiner combiner, unsigned destination, te::Index index,
                          te::Expr body) {
    loops::LoopNest &nest = map(parallel, destination, index, body);
    nest.reduction = te::Reduction{combiner, body.type(), {}};
    for (te::Iterator &iterator : iterators(reduction))
      nest.reduction->iterators.push_back(iterator);
    nest.epilogue.push_back(te::Expr::read(loops::LoopNest::accumulator(0), body.type(), {}));
    return nest;
  }
};

/// Pseudo-random numbers in [low, high), the same each time; whole ones if asked.
inline std::vector<double> numbers(size_t count, double low = -1, double high = 1,
                                   bool whole = false) {
  std::vector<double> result(count);
  uint64_t state = 88172645463325252ull + count;
  for (double &value : result) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    value = low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
    if (whole)
      value = static_cast<double>(static_cast<int64_t>(value));
  }
  return result;
}

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_TARGETS_NESTS_H
