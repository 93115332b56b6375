//===- matrix_product.h - Which nests are products of matrices -------------===//
//
// Where a machine's warps multiply small matrices in one instruction, a nest that sums products of
// two factors can be the work of those units: a block brings both factors through a ring of stages
// in scratch and keeps its results in the registers of its warps. This says which nests are such
// products, and how their factors come to the ring.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_MATRIX_PRODUCT_H
#define KINTSUGI_LOOPS_MATRIX_PRODUCT_H

#include "loops/factor_move.h"

namespace kintsugi::loops {

/// A nest as a product of matrices.
struct MatrixProduct {
  ElementType element;    ///< Of the units' operands.
  unsigned columnsFactor; ///< Of the body's two, the one that the columns' iterators change.
  llvm::SmallVector<unsigned> rows, columns, batch; ///< Parallel iterators, outermost first.
  int64_t numRows = 1, numColumns = 1, numBatch = 1, depth = 1;
};

/// nullopt: it is none, or its factors would have to be rounded to a type that they were not of.
std::optional<MatrixProduct> matrixProductOf(const LoopNest &nest);

/// How both factors come.
struct FactorMoves {
  FactorMove rows, columns;
};
FactorMoves factorMovesOf(const LoopNest &nest, const MatrixProduct &product,
                          const Schedule &schedule);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_MATRIX_PRODUCT_H
