//===- streamed_softmax.h - Attention whose scores are in registers ---------===//
//
// Four nests in a row, in a block of threads with matrix units: scores (a product), the maximum and
// sum of a softmax over each row of them, their powers exp(x - m), and the sum of those with values
// (a product). They become one loop over blocks of terms: scores of a block are made on the units,
// turned into powers in registers, and multiplied with the block's values; where a row's maximum
// grows, what is summed so far is scaled (FlashAttention-2; Dao 2023, section 3.1). Scores and
// powers stand in scratch only for what works in place of threads on a processor.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_STREAMED_SOFTMAX_H
#define KINTSUGI_SCHEDULE_STREAMED_SOFTMAX_H

#include "schedule/fuse.h"
#include "schedule/matrix.h"

namespace kintsugi::schedule {

/// Whether members may become such nests in tiles of few rows.
bool mayStreamSoftmax(llvm::ArrayRef<Member> members);

/// Sets what the first four of `nests` need to run as one in blocks of schedule.threads, and marks
/// their buffers of scores and powers; nullopt where they are something else, or do not fit.
/// `rounded`: see matrixProductOf.
std::optional<BlockCycles> streamSoftmax(llvm::MutableArrayRef<LoopNest> nests, Schedule &schedule,
                                         std::optional<ElementType> rounded, int64_t scratchLimit);

/// How the loop's memory is cut, in bytes from the ring's start: the rows of the scores' product,
/// then the stages, each a block of its columns and one of values.
struct StreamBytes {
  int64_t rowStep, columnStep; ///< Of one step of the scores' sum.
  int64_t values;              ///< Where they start in a stage.
  int64_t stage, all;

  StreamBytes(const MatrixTile &scores, const MatrixTile &weighted, int64_t terms);
};

/// That a thread needs, about.
int registersOfStream(const LoopNest &scores, const LoopNest &stats, const LoopNest &weighted);

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_STREAMED_SOFTMAX_H
