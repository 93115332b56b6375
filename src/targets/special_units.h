//===- special_units.h - What a machine approximates in one instruction ----===//
//
// Units beside the multiply-adders give 1 / x and 2^x of scalars in f32, right but for the last
// bit or two. Functions made from them take a third of the instructions of polynomials. A machine
// that has such units offers them to code that targets share through Threads (threads.h).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_SPECIAL_UNITS_H
#define KINTSUGI_TARGETS_SPECIAL_UNITS_H

#include "targets/emit.h"

namespace kintsugi::targets {

/// Of f32 scalars.
class SpecialUnits {
public:
  virtual ~SpecialUnits() = default;
  /// 1 / x, where both are normal numbers: within a unit in the last place.
  virtual mlir::Value inverse(Emit &emit, mlir::Value x) const = 0;
  /// a / b, within two units in the last place; infinities, zeros and NaN as IEEE says.
  virtual mlir::Value quotient(Emit &emit, mlir::Value a, mlir::Value b) const = 0;
  /// e^x, relatively within 3e-7 + 1.4e-8 |x|, infinities and NaN included; 0 where that is less
  /// than 2^-126.
  virtual mlir::Value exponential(Emit &emit, mlir::Value x) const = 0;
  /// The greater or lesser of two; NaN if either is.
  virtual mlir::Value extremum(Emit &emit, mlir::Value a, mlir::Value b, bool isMax) const = 0;

  /// 1 / x rounded, where both are normal numbers.
  mlir::Value roundedInverse(Emit &emit, mlir::Value x) const;
  /// The inverse of a divisor, finite unless that is zero: zeros over it stay zeros.
  mlir::Value factorOfDivisor(Emit &emit, mlir::Value divisor) const;
};

/// Whether nothing is made of it but, by smooth arithmetic, numbers that are rounded to 16 bits.
bool isNarrowed(mlir::Value value);

/// A power of two with which a divisor has an inverse; `byUnits`: which is no number next to the
/// smallest.
mlir::Value scaleOfDivisor(Emit &emit, mlir::Value divisor, bool byUnits);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_SPECIAL_UNITS_H
