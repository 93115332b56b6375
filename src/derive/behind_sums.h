//===- behind_sums.h - What a sum does not change moves behind it -----------===//
//
// A sum is linear: a factor that is the same for all of its terms can be applied to the result.
//
//     a[i, k] = f16(f32(q[i, k]) * c)
//     s[i, j] = sum[k] f32(a[i, k]) * f32(b[j, k])   =>   t[i, j] = sum[k] f32(q[i, k]) * f32(b[j,
//     k])
//                                                         s[i, j] = t[i, j] * c
//
// and the divisor of a softmax, whose weights are then numbers from 0 to 1 whatever their sum is:
//
//     w[i, j] = exp(x[i, j] - m[i]) / z[i]
//     y[i, d] = sum[j] w[i, j] * v[j, d]             =>   t[i, d] = sum[j] exp(x[i, j] - m[i]) *
//     v[j, d]
//                                                         y[i, d] = t[i, d] / z[i]
//
// with m and z as one reduction (softmax_stats). Where weights that are NaN are replaced by zeros
// (rows that a mask hides as a whole: z is NaN then, and only then where scores are finite or minus
// infinity), the result is. Both are done where the factors of the sum have a narrow type, so that
// what is left is the work of matrix units: factors come as they lie, and scores need not be in
// memory (FlashAttention; Dao et al. 2022, section 3).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_BEHIND_SUMS_H
#define KINTSUGI_DERIVE_BEHIND_SUMS_H

#include "derive/assumptions.h"
#include "explain/log.h"
#include "te/program.h"

namespace kintsugi::derive {

/// The program with constant factors of narrow products applied to their sums. `log` is told of
/// each.
te::Program moveScalesBehindSums(const te::Program &program, explain::Log *log = nullptr);

/// The program with each softmax whose weights are only summed with values, as narrow factors,
/// divided behind that sum. `narrowFactors`: products are quicker of factors in 16 bits; else
/// weights stay in f32 where only storing rounded them. `log` is told of each, `assumed` of each
/// whose hidden rows are zeros.
te::Program divideBehindSums(const te::Program &program, bool narrowFactors = true,
                             explain::Log *log = nullptr, Assumptions *assumed = nullptr);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_BEHIND_SUMS_H
