//===- nonzeros.h - Where a constant factor of a sum is not zero ------------===//
//
// One-hot rows, diagonals, permutations, blocks along a diagonal, bands and windows that were
// padded with zeros are constants that models hold densely.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_NONZEROS_H
#define KINTSUGI_DERIVE_NONZEROS_H

#include "derive/factor_elements.h"
#include "derive/sum_window.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

/// What is left of a factor where its zeros are skipped. A row is a point of its row iterators.
struct Nonzeros {
  llvm::SmallVector<SumWindow, 3> windows; ///< By summed iterator.
  double share = 1;                        ///< Of the factor's points, those in windows;
  bool areOnes = false;                    ///< each element there is a one.

  bool hasTable() const {
    return llvm::any_of(windows, [](const SumWindow &window) { return !window.table.empty(); });
  }
  bool leaves() const {
    return llvm::any_of(windows, [](const SumWindow &window) { return window.leaves; });
  }
};

/// Whether some elements of a constant have so many zeros among them that all should be looked at.
bool hasManyZeros(const FactorElements &elements, const std::byte *data);
/// nullopt where windows leave all of a factor. `data`: the constant's bytes.
std::optional<Nonzeros> nonzerosOf(const FactorElements &elements, const std::byte *data);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_NONZEROS_H
