//===- bfloat_bits.h - bf16 as plain bits ----------------------------------===//
//
// Processors up to x86-64-v4 have no instructions for bf16. LLVM then takes elements for f32 here
// and there, and calls a runtime library, which code objects don't have, to round them back. So
// what handles bf16 is spelled out over i16: moves need no arithmetic, widening is a shift, and
// rounding is a sum of integers.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_BFLOAT_BITS_H
#define KINTSUGI_TARGETS_BFLOAT_BITS_H

#include "llvm/IR/Module.h"

namespace kintsugi::targets {

/// Leaves no value of type bfloat in a module but for operands and results of calls that it does
/// not know. Rounding is to nearest even; a NaN stays a NaN.
void spellOutBFloat(llvm::Module &module);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_BFLOAT_BITS_H
