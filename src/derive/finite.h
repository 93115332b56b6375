//===- finite.h - Factors that are known to be finite -----------------------===//
//
// Zero times a number is left out where the number is finite; of infinities and NaN it is NaN.
// Rules that leave such terms out ask here whether it is an assumption.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_FINITE_H
#define KINTSUGI_DERIVE_FINITE_H

#include "te/program.h"

namespace kintsugi::derive {

/// The read that a factor of a sum is, behind casts; null if it is something else.
const te::Expr *readBehindCasts(const te::Expr &factor);

/// Whether a factor is finite, by its facts or since it is made of finite factors and constants,
/// which are looked at, those that are stored in another type as well.
bool isFiniteFactor(const te::Expr &factor, const te::Program &program);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_FINITE_H
