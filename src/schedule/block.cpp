#include "schedule/block.h"

#include "schedule/loop_order.h"
#include "schedule/scratch.h"
#include "schedule/streamed_softmax.h"
#include "llvm/Support/MathExtras.h"

namespace kintsugi::schedule {

static constexpr int64_t alignment = 128;
static constexpr int64_t ringAlignment = 1024; ///< Of what four warps multiply together.

/// If no two buffers shared any.
static int64_t scratchOf(const Schedule &schedule) {
  int64_t bytes = 0;
  for (const Buffer &buffer : schedule.buffers)
    if (buffer.home == Home::Scratch && !buffer.standsIn)
      bytes += int64_t(llvm::alignTo(buffer.elements * bytesOfElement(buffer.type), alignment));
  return bytes;
}

/// That no choice of threads' registers is worth less than: a multiply-add of each lane in a cycle.
static double leastOfThreads(const LoopNest &nest) {
  constexpr double lanes = 128;
  double terms = 1;
  for (unsigned k = 0; k < nest.parallel.size() + nest.numReductions(); ++k)
    terms *= double(nest.extentOf(k));
  BlockCycles cycles{terms / lanes, terms / lanes};
  return cycles.worth();
}

std::optional<BlockCycles> chooseInBlock(LoopNest &nest, const Schedule &schedule,
                                         const BlockLimits &limits, ThreadMemo &memo, Wish wish) {
  unsigned dimensions = schedule.space.size();
  orderForThreads(nest, dimensions, schedule.buffers);
  std::optional<MatrixProduct> product = matrixProductOf(nest, limits.rounded);
  if (!product)
    return chooseThreads(nest, schedule, memo, wish);
  int64_t taken =
      int64_t(llvm::alignTo(scratchOf(schedule), limits.ringBytes ? ringAlignment : alignment));
  BlockLimits left = limits;
  left.scratchBytes -= taken;
  left.ringBytes -= limits.ringBytes ? taken : 0;
  LoopNest onUnits = nest;
  std::optional<BlockCycles> matrix = chooseMatrix(onUnits, *product, schedule, left, wish);
  if (!matrix || matrix->worth() > leastOfThreads(nest)) {
    std::optional<BlockCycles> cycles = chooseThreads(nest, schedule, memo, wish);
    if (!matrix || (cycles && matrix->worth() > cycles->worth()))
      return cycles;
  }
  nest = std::move(onUnits);
  return *matrix;
}

void placeRings(Schedule &schedule) {
  const int64_t taken = schedule.scratchBytes;
  for (size_t number = 0; number < schedule.nests.size(); ++number) {
    LoopNest &nest = schedule.nests[number];
    if (!nest.matrix)
      continue;
    int64_t start = int64_t(llvm::alignTo(taken, nest.matrix->inFours ? ringAlignment : alignment));
    int64_t bytes = nest.matrix->ringBytes();
    nest.matrix->ring = start;
    if (nest.streamed) {
      LoopNest &weighted = schedule.nests[number += 3];
      weighted.matrix->ring = start;
      int64_t terms = 1;
      for (const te::Iterator &iterator : nest.reduction->iterators)
        terms *= iterator.extent.constant();
      int64_t blocks = weighted.extentOf(weighted.parallel.size()) / weighted.matrix->depth;
      int64_t listed = nest.skipsBlocks ? blocks : 0;
      bytes = streamBytes(*nest.matrix, *weighted.matrix, terms, listed);
    }
    schedule.scratchBytes = std::max(schedule.scratchBytes, start + bytes);
  }
}

bool fitsInBlock(const Schedule &schedule, const BlockLimits &limits) {
  int64_t exchanged = 0, least = 0;
  bool inFours = false;
  for (const LoopNest &nest : schedule.nests) {
    exchanged = std::max(exchanged, exchangeBytesOf(nest, schedule.threads));
    if (!nest.matrix || !nest.matrix->inFours)
      continue;
    inFours = true;
    MatrixTile shortest = *nest.matrix;
    shortest.stages = 2;
    least = std::max(least, shortest.ring + shortest.ringBytes());
  }
  return least + exchanged <= limits.scratchBytes &&
         schedule.scratchBytes + exchanged <= (inFours ? limits.ringBytes : limits.scratchBytes);
}

} // namespace kintsugi::schedule
