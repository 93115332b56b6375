//===- special_units.h - What a GPU approximates in one instruction ---------===//
//
// Units beside a GPU's multiply-adders give 1 / x and 2^x of scalars in f32, right but for the last
// bit or two. Functions made from them take a third of the instructions of polynomials.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_SPECIAL_UNITS_H
#define KINTSUGI_TARGETS_SPECIAL_UNITS_H

#include "targets/emit.h"

namespace kintsugi::targets {

/// 1 / x, where both are normal numbers: within a unit in the last place, and rounded.
mlir::Value inverseByUnits(Emit &emit, mlir::Value x);
mlir::Value roundedInverseByUnits(Emit &emit, mlir::Value x);

/// a / b, within two units in the last place; infinities, zeros and NaN as IEEE says.
mlir::Value quotientByUnits(Emit &emit, mlir::Value a, mlir::Value b);

/// Whether nothing is made of it but, by smooth arithmetic, numbers that are rounded to 16 bits.
bool isNarrowed(mlir::Value value);

/// A power of two with which a divisor has an inverse; `byUnits`: which is no number next to the
/// smallest.
mlir::Value scaleOfDivisor(Emit &emit, mlir::Value divisor, bool byUnits);

/// The inverse of a divisor, finite unless that is zero: zeros over it stay zeros.
mlir::Value factorOfDivisor(Emit &emit, mlir::Value divisor);

/// e^x, relatively within 3e-7 + 1.4e-8 |x|, infinities and NaN included; 0 where that is less than
/// 2^-126.
mlir::Value exponentialByUnits(Emit &emit, mlir::Value x);

/// The greater or lesser of two; NaN if either is.
mlir::Value extremumByUnits(Emit &emit, mlir::Value a, mlir::Value b, bool isMax);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_SPECIAL_UNITS_H
