//===- store_narrow.h - f32 values stored in fewer bits ---------------------===//
//
// The user's word `--precision f16` or `bf16`: values between definitions, and constants, lie in
// memory as that type, and every body still computes in f32. Inputs and outputs keep their types.
// What would not survive it stays f32 (magnitude.h), and so do values that integers or waves are
// made from.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_STORE_NARROW_H
#define KINTSUGI_SIMPLIFY_STORE_NARROW_H

#include "explain/log.h"
#include "simplify/tried.h"
#include "te/program.h"

namespace kintsugi::simplify {

/// A program of the same inputs and outputs. Factors of contractions are read as `narrow` and
/// multiplied and summed in f32; a sum is rounded once, when all that finishes it is done. `log` is
/// told how each value is stored, and why.
te::Program storeNarrow(const te::Program &program, ElementType narrow, const Tried &tried = {},
                        explain::Log *log = nullptr);

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_STORE_NARROW_H
