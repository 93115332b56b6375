//===- visit.h - Every index of a nest --------------------------------------===//
//
// Joining and splitting iterators both have to see each sum in which an iterator can stand: the
// indices themselves and those inside divisions, remainders and gathers.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_VISIT_H
#define KINTSUGI_LOOPS_VISIT_H

#include "loops/schedule.h"

namespace kintsugi::loops {

void forEachIndex(const LoopNest &nest, llvm::function_ref<void(const te::Index &)> visit);

/// Each read in a nest's bodies, in what it keeps and in its epilogue, but for those of
/// accumulators.
void forEachRead(const LoopNest &nest, llvm::function_ref<void(const te::Expr &)> visit);

/// Which of the first `iterators` an expression's own indices use, not those of its operands: a bit
/// for each.
uint64_t usedByIndices(const te::Expr &expr, unsigned iterators);

/// Substitutes iterators in all of a nest's expressions and its destination.
void replaceIterators(LoopNest &nest, llvm::ArrayRef<te::Index> replacements);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_VISIT_H
