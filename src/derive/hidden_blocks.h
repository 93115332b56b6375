//===- hidden_blocks.h - Scores of blocks that a constant mask hides --------===//
//
// Where what hides the scores of a softmax is constant (score_mask.h), whole blocks of rows and
// columns may be hidden by it. A table of constants says which blocks are open, and the others'
// scores are minus infinity without being computed:
//
//     x[i, j] = s[i, j] + m[i, j]   =>   x[i, j] = cases { open[i // 64, j // 64]: s[i, j] + m[i,
//     j];
//                                                          else: -inf }
//
// A loop over blocks of columns (loops/streamed_softmax.h) then leaves them out. In a block of
// rows of which one is hidden as a whole every block counts as open, so such rows keep their
// meaning. A mask that hides nothing, all zeros, is left out. For softmaxes whose sums are divided
// late (behind_sums.h). STOF (Dai et al. 2025, block masks).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_HIDDEN_BLOCKS_H
#define KINTSUGI_DERIVE_HIDDEN_BLOCKS_H

#include "derive/assumptions.h"
#include "explain/log.h"
#include "te/program.h"

namespace kintsugi::derive {

/// An equal program, but for hidden scores that are no finite numbers, and the values that they
/// would weigh. `log` is told of each mask, `assumed` of each that hides.
Expected<te::Program> hideBlocks(const te::Program &program, explain::Log *log = nullptr,
                                 Assumptions *assumed = nullptr);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_HIDDEN_BLOCKS_H
