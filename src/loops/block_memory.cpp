#include "loops/block_memory.h"

#include "loops/scratch.h"
#include "loops/streamed_softmax.h"
#include "llvm/Support/MathExtras.h"

namespace kintsugi::loops {

using namespace te;

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

BlockLimits leftForRings(const BlockLimits &limits, const Schedule &schedule) {
  int64_t taken =
      int64_t(llvm::alignTo(scratchOf(schedule), limits.ringBytes ? ringAlignment : alignment));
  BlockLimits left = limits;
  left.scratchBytes -= taken;
  left.ringBytes -= limits.ringBytes ? taken : 0;
  return left;
}

/// Behind the ring of the product, or of the attention, that begins with the first nest.
/// `isElsewhere`: where no four warps multiply together, rings of attention, and of products for
/// four warps, have as few stages as they can.
static int64_t endOfRing(llvm::ArrayRef<LoopNest> nests, int subgroup, bool isElsewhere) {
  const LoopNest &nest = nests.front();
  if (!nest.streamed) {
    MatrixTile tile = *nest.matrix;
    if (isElsewhere && tile.inFours)
      tile.stages = fewestStages;
    return tile.ring + tile.ringBytes();
  }
  const LoopNest &weighted = nests[3];
  int64_t terms = 1;
  for (const Iterator &iterator : nest.reduction->iterators)
    terms *= iterator.extent.constant();
  int64_t columns = weighted.extentOf(weighted.parallel.size());
  int64_t listed = nest.skipsBlocks ? columns / (nest.matrix->columns / nest.matrix->across) : 0;
  MatrixTile scores = *nest.matrix;
  if (isElsewhere)
    scores.stages = fewestStages;
  return scores.ring + streamBytes(scores, *weighted.matrix, terms, listed, subgroup);
}

void placeRings(Schedule &schedule, int subgroup) {
  const int64_t taken = schedule.scratchBytes;
  for (size_t number = 0; number < schedule.nests.size(); ++number) {
    LoopNest &nest = schedule.nests[number];
    if (!nest.matrix)
      continue;
    int64_t start = int64_t(llvm::alignTo(taken, nest.matrix->inFours ? ringAlignment : alignment));
    nest.matrix->ring = start;
    auto from = llvm::ArrayRef(schedule.nests).drop_front(number);
    if (nest.streamed)
      schedule.nests[number += 3].matrix->ring = start;
    schedule.scratchBytes = std::max(schedule.scratchBytes, endOfRing(from, subgroup, false));
  }
}

BlockMemory memoryOf(const Schedule &schedule, int subgroup) {
  BlockMemory memory{.scratch = schedule.scratchBytes};
  for (size_t number = 0; number < schedule.nests.size(); ++number) {
    const LoopNest &nest = schedule.nests[number];
    memory.exchanged =
        std::max(memory.exchanged, exchangeBytesOf(nest, schedule.threads, subgroup));
    if (!nest.matrix)
      continue;
    memory.hasRings = true;
    auto from = llvm::ArrayRef(schedule.nests).drop_front(number);
    memory.elsewhere = std::max(memory.elsewhere, endOfRing(from, subgroup, true));
    number += nest.streamed ? 3 : 0;
  }
  if (!memory.hasRings)
    memory.elsewhere = memory.scratch;
  return memory;
}

void BlockMemory::add(const BlockMemory &other) {
  scratch = std::max(scratch, other.scratch);
  elsewhere = std::max(elsewhere, other.elsewhere);
  exchanged = std::max(exchanged, other.exchanged);
  hasRings |= other.hasRings;
}

bool BlockMemory::isWithin(const BlockLimits &limits) const {
  int64_t most = hasRings ? std::max(limits.ringBytes, limits.scratchBytes) : limits.scratchBytes;
  return elsewhere + exchanged <= limits.scratchBytes && scratch + exchanged <= most;
}

int64_t joinBytesOf(const LoopNest &nest) {
  if (!nest.reduction)
    return 0;
  const Reduction &reduction = *nest.reduction;
  bool isArg = isArgForm(reduction.combiner);
  uint32_t bits = bitsOf(reduction.accumulator);
  if (isArg) // Two places alike, of a key and of what belongs to it.
    bits = std::max(bits, bitsOf(nest.bodies[1].type()));
  bool hasTwo = isArg || reduction.combiner == Combiner::SoftmaxStats;
  return int64_t(llvm::divideCeil(bits, 8)) * (hasTwo ? 2 : 1);
}

int64_t bytesOfJoin(const RegisterTile &tile, int threads, int subgroup, int64_t bytesOfResult) {
  bool inMemory = tile.lanes > 1 && tile.lanes * tile.apart > unsigned(subgroup);
  int64_t places = tile.apart == 1 ? threads / subgroup : threads;
  return inMemory ? int64_t(tile.rows) * tile.columns * places * bytesOfResult : 0;
}

int64_t exchangeBytesOf(const LoopNest &nest, int threads, int subgroup) {
  return nest.matrix ? 0 : bytesOfJoin(nest.registers, threads, subgroup, joinBytesOf(nest));
}

} // namespace kintsugi::loops
