//===- bilinear.h - Short convolutions with fewer multiplications -----------===//
//
// A bilinear algorithm F(m, r) computes m outputs y[i] = sum_j d[i + j] g[j] of an r-tap filter
// from m + r - 1 inputs with as many multiplications:
//
//   y = output ((kernel g) * (input d)), the product taken point by point
//
// (Winograd, Arithmetic Complexity of Computations, 1980; Lavin and Gray, 2015). Each is an entry
// of a table, and an entry is right if an identity of integers holds: `isRight` checks it in full.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_BILINEAR_H
#define KINTSUGI_DERIVE_BILINEAR_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace kintsugi::derive {

struct BilinearAlgorithm {
  const char *name;
  int64_t outputs, taps;
  llvm::ArrayRef<int64_t> input;        ///< points x points, row-major: numerators ...
  int64_t inputDenominator;             ///< ... over this, a power of two.
  llvm::ArrayRef<int64_t> kernel;       ///< points x taps: numerators of each row ...
  llvm::ArrayRef<int64_t> denominators; ///< ... over the row's denominator.
  llvm::ArrayRef<int64_t> output;       ///< outputs x points: numerators ...
  int64_t outputDenominator;            ///< ... over this, a power of two.

  int64_t points() const { return outputs + taps - 1; }
  /// Whether y[i] = sum_j d[i + j] g[j] for all d and g.
  bool isRight() const;
};

/// For filters of 2 (a phase of a transposed convolution of 4), 3 and 5 taps; more outputs at a
/// time lose accuracy.
llvm::ArrayRef<BilinearAlgorithm> bilinearAlgorithms();

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_BILINEAR_H
