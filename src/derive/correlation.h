//===- correlation.h - Sums along which a window slides ---------------------===//
//
// y[.., h, ..] = sum[.., r, ..] x[.., h + dilation r + offset, ..] * k[.., r, ..]: recognized from
// the indices alone, whatever operator it came from and in whatever order dimensions lie. The
// kernel may be read anyhow along r: a phase i of a transposed convolution reads k[.., i - 2 r,
// ..].
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_CORRELATION_H
#define KINTSUGI_DERIVE_CORRELATION_H

#include "te/program.h"

namespace kintsugi::derive {

/// One dimension along which the window slides.
struct Window {
  unsigned output; ///< The parallel iterator h.
  unsigned tap;    ///< The reduction iterator r, numbered after the parallel ones.
  unsigned inputDimension;
  int64_t dilation, offset;
  int64_t extent, taps; ///< Of h and r.
};

struct Correlation {
  te::Expr input, kernel; ///< The two reads.
  llvm::SmallVector<Window, 3> windows;
  int64_t depth = 1; ///< Points of the other reduction iterators.

  bool isTap(unsigned iterator) const;
  /// The window that slides along a dimension of the input; null: none.
  const Window *windowAlong(unsigned inputDimension) const;
};

/// Finds windows of one step in a definition; nullopt where there are none. Outside of the input,
/// if the windows leave it, there are zeros.
std::optional<Correlation> findCorrelation(const te::Program &program,
                                           const te::Definition &definition);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_CORRELATION_H
