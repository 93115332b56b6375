//===- warp_moves.h - What moves of a warp's threads take ---------------------===//
//
// Threads that run in step move one element, or several in a row, each at once. Scratch has banks
// of four bytes that are one after the other: threads that want different words of one bank have
// them in turn. Several elements move together where all positions that a thread comes to are
// multiples of as many.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_WARP_MOVES_H
#define KINTSUGI_LOOPS_WARP_MOVES_H

#include "loops/schedule.h"

namespace kintsugi::loops {

/// How often scratch is asked for one move of a warp: `offsets` in bytes by thread, each of which
/// moves `bytes` from there on.
double bankTurns(llvm::ArrayRef<int64_t> offsets, int64_t bytes);

/// The power of two that divides a flat position wherever the iterators stand, save `along`, and
/// tiles start; at most `most`. Of `along` blocks of `most` points are counted.
int64_t alignedElements(const LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                        const te::Index &position, unsigned along, int64_t most);

/// Elements from one row of a copy in scratch to the next, of so many of so many bytes: both rows
/// and columns of it can be walked without threads that meet in a bank.
int64_t rowPitch(int64_t elements, int64_t bytes);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_WARP_MOVES_H
