//===- matrix.h - Products on matrix units ----------------------------------===//
//
// Where a machine's warps multiply small matrices in one instruction, a nest that sums products of
// two factors is the work of those units: a block brings both factors through a ring of stages in
// scratch and keeps its results in the registers of its warps. This says which nests are such
// products, and chooses how much of one a block has at once by the cycles that it takes.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SCHEDULE_MATRIX_H
#define KINTSUGI_SCHEDULE_MATRIX_H

#include "schedule/threads.h"

namespace kintsugi::schedule {

/// A nest as a product of matrices.
struct MatrixProduct {
  ElementType element;    ///< Of the units' operands.
  unsigned columnsFactor; ///< Of the body's two, the one that the columns' iterators change.
  llvm::SmallVector<unsigned> rows, columns, batch; ///< Parallel iterators, outermost first.
  int64_t numRows = 1, numColumns = 1, numBatch = 1, depth = 1;
};

/// What a block has, and what its products may become.
struct BlockLimits {
  std::optional<ElementType> rounded; ///< That factors in f32 may be rounded to; none: no type.
  int64_t scratchBytes = 0;
  int64_t ringBytes = 0;   ///< Where four warps multiply together; 0: they can't.
  bool bulk = false;       ///< Whether those may have boxes brought.
  unsigned blocks = 1;     ///< That may share a product's sums,
  int cores = 1;           ///< on so many cores,
  machine::BlockCore core; ///< of this kind.
};

/// nullopt: it is none, or its factors would have to be rounded to a type that they are not of.
/// `rounded`: the type that factors in f32 may be rounded to; none: no type.
std::optional<MatrixProduct> matrixProductOf(const LoopNest &nest,
                                             std::optional<ElementType> rounded);

/// Sets nest.matrix (but for where its ring lies) and the order of its sums; nullopt, and the nest
/// stays as it is, where no matrix tile of the schedule's threads is within the limits, or not the
/// one that is wished for. The cycles are those of each block.
std::optional<BlockCycles> chooseMatrix(LoopNest &nest, const MatrixProduct &product,
                                        const Schedule &schedule, const BlockLimits &limits,
                                        Wish wish = {});

/// That a thread needs, about, for a nest that has a matrix tile.
int registersOf(const LoopNest &nest, const Schedule &schedule);

} // namespace kintsugi::schedule

#endif // KINTSUGI_SCHEDULE_MATRIX_H
