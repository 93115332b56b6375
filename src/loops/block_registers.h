//===- block_registers.h - Registers of the threads of a block -------------===//
//
// How many registers a thread needs for its share of a tile, about: as many blocks run at once on a
// core as have room in its registers.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_BLOCK_REGISTERS_H
#define KINTSUGI_LOOPS_BLOCK_REGISTERS_H

#include "loops/matrix_product.h"

namespace kintsugi::loops {

/// That a thread needs, about: running values, and what is on its way to them.
int registersOf(const RegisterTile &tile, bool isSum);

/// The same for a product's tile, in a block of so many threads.
int registersOf(const MatrixTile &tile, int threads, const FactorMoves &moves);
/// Of a nest that has one.
int registersOf(const LoopNest &nest, const Schedule &schedule);

/// The same for attention in one loop, with the tiles of its two products.
int registersOfStream(const LoopNest &scores, const LoopNest &stats, const MatrixTile &ofScores,
                      const MatrixTile &ofWeighted);

/// That a thread of the schedule's blocks is thought to need at most.
int registersOf(const Schedule &schedule);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_BLOCK_REGISTERS_H
