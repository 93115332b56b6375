#include "schedule/block.h"

#include "schedule/loop_order.h"
#include "schedule/matrix.h"
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

BlockCycles chooseInBlock(LoopNest &nest, const Schedule &schedule,
                          std::optional<ElementType> rounded, int64_t scratchLimit, bool inFours) {
  unsigned dimensions = schedule.space.size();
  orderForThreads(nest, dimensions, schedule.buffers);
  std::optional<MatrixProduct> product = matrixProductOf(nest, rounded);
  if (!product)
    return chooseThreads(nest, schedule);
  int64_t taken = int64_t(llvm::alignTo(scratchOf(schedule), inFours ? ringAlignment : alignment));
  LoopNest onUnits = nest;
  std::optional<BlockCycles> matrix = chooseMatrix(onUnits, *product, dimensions, schedule.buffers,
                                                   schedule.threads, scratchLimit - taken, inFours);
  BlockCycles cycles = chooseThreads(nest, schedule);
  if (!matrix || matrix->worth() > cycles.worth())
    return cycles;
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
      bytes = StreamBytes(*nest.matrix, *weighted.matrix, terms).all;
    }
    schedule.scratchBytes = std::max(schedule.scratchBytes, start + bytes);
  }
}

int64_t bytesOfBlock(const Schedule &schedule) {
  int64_t exchanged = 0;
  for (const LoopNest &nest : schedule.nests)
    exchanged = std::max(exchanged, exchangeBytesOf(nest, schedule.threads));
  return schedule.scratchBytes + exchanged;
}

} // namespace kintsugi::schedule
