//===- matrix.h - Products on matrix units ----------------------------------===//
//
// How much of a product (loops/matrix_product.h) a block has at once, by the cycles that it takes.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SEARCH_MATRIX_H
#define KINTSUGI_SEARCH_MATRIX_H

#include "loops/block_memory.h"
#include "loops/matrix_product.h"
#include "search/threads.h"

namespace kintsugi::search {

/// Sets nest.matrix (but for where its ring lies) and the order of its sums; nullopt, and the nest
/// stays as it is, where no matrix tile of the schedule's threads is within the limits, or not the
/// one that is wished for. The cycles are those of each block.
std::optional<cost::BlockCycles> chooseMatrix(loops::LoopNest &nest,
                                              const loops::MatrixProduct &product,
                                              const loops::Schedule &schedule,
                                              const loops::BlockLimits &limits, Wish wish = {});

} // namespace kintsugi::search

#endif // KINTSUGI_SEARCH_MATRIX_H
