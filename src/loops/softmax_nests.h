//===- softmax_nests.h - Which nests are attention --------------------------===//
//
// Whether four nests in a row are what streamed_softmax.h makes one loop of, and serve nothing
// else.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_SOFTMAX_NESTS_H
#define KINTSUGI_LOOPS_SOFTMAX_NESTS_H

#include "loops/matrix_product.h"

namespace kintsugi::loops {

struct SoftmaxNests {
  MatrixProduct scores, weighted; ///< The first and the last nest.
  /// How many neighbouring columns, from a multiple of that on, are shown or hidden together for
  /// all rows of a tile: all blocks that divide it may be left out. 0: there is no such condition.
  int64_t uniformColumns = 0;
};

/// Of the first four nests, which the schedule's own nests precede. nullopt: they are something
/// else.
std::optional<SoftmaxNests> softmaxNestsOf(llvm::ArrayRef<LoopNest> nests,
                                           const Schedule &schedule);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_SOFTMAX_NESTS_H
