//===- bfloat_moves.h - bf16 moves as plain bits ---------------------------===//
//
// A processor without instructions for bf16 lets LLVM take its elements for f32 wherever a masked
// access falls apart into single ones, and call a runtime library to round them back. What only
// moves elements needs no arithmetic.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_BFLOAT_MOVES_H
#define KINTSUGI_TARGETS_BFLOAT_MOVES_H

#include "llvm/IR/Module.h"

namespace kintsugi::targets {

/// Masked accesses, loads of one element, stores, selects and what puts vectors together become
/// such of i16.
void moveBFloatAsIntegers(llvm::Module &module);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_BFLOAT_MOVES_H
