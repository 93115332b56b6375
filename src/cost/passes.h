//===- passes.h - Long sums in passes over operands that stay near ----------===//
//
// A block of rows and vectors that sums to the end reads a whole panel of one operand; the next
// block reads it again. Where the panel and the other operand together leave the near cache on the
// way, all blocks first do a part of the sum: an outer loop over slices of the reduction, between
// which running values wait in the destination (the K loop of Goto's matrix product).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_PASSES_H
#define KINTSUGI_COST_PASSES_H

#include "loops/schedule.h"

namespace kintsugi::cost {

/// Whether a nest's running values may wait in its destination, whatever its registers: those of a
/// parallel iterator's vectors may, where blocks don't overlap.
bool valuesMayWait(const loops::LoopNest &nest, llvm::ArrayRef<loops::TileDimension> space,
                   llvm::ArrayRef<loops::Buffer> buffers);

/// Whether blocks of rows and vectors would each come back to every row of a matrix that is too
/// large to stay near, for a piece of it: as a sum of columns does. In passes of a few rows, rows
/// are read whole.
bool comesBackToRows(const loops::LoopNest &nest, const loops::RegisterTile &tile,
                     const te::Expr &read, llvm::ArrayRef<loops::TileDimension> space,
                     llvm::ArrayRef<loops::Buffer> buffers, int64_t nearBytes);

/// Sets nest.inPasses where that keeps operands in `nearBytes`, after its registers and its loops'
/// order are chosen, and returns the cycles that this costs. The order of each sum stays as it is.
double choosePasses(loops::LoopNest &nest, llvm::ArrayRef<loops::TileDimension> space,
                    llvm::ArrayRef<loops::Buffer> buffers, int64_t nearBytes);

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_PASSES_H
