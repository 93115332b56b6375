//===- streamed_softmax.h - Attention whose scores are in registers --------===//
//
// Four nests in a row, in a block of threads with matrix units: scores (a product), the maximum and
// sum of a softmax over each row of them, their powers exp(x - m), and the sum of those with values
// (a product). They become one loop over blocks of terms: scores of a block are made on the units,
// turned into powers in registers, and multiplied with the block's values; where a row's maximum
// grows, what is summed so far is scaled (FlashAttention-2; Dao 2023, section 3.1). Scores and
// powers stand in scratch only for what works in place of threads on a processor.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_STREAMED_SOFTMAX_H
#define KINTSUGI_LOOPS_STREAMED_SOFTMAX_H

#include "loops/fuse.h"

namespace kintsugi::loops {

/// Whether members may become such nests in tiles of few rows.
bool mayStreamSoftmax(llvm::ArrayRef<Member> members);

/// Rows from a multiple of that on, of a tile of more, that are open in the same blocks.
constexpr int64_t rowsOpenTogether = 64;

/// What the loop takes in memory, in bytes from the ring's start: the rows of the scores' product,
/// the stages, each a block of its columns and one of values, and a list of open blocks, out of
/// `listed` (0: there is none). Of subgroups of so many threads.
int64_t streamBytes(const MatrixTile &scores, const MatrixTile &weighted, int64_t terms,
                    int64_t listed, int subgroup);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_STREAMED_SOFTMAX_H
