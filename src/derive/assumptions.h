//===- assumptions.h - What derivations take for granted ------------------------===//
//
// Some derived forms are equal only where values are finite, which facts can't prove of what a
// model is given: there an infinity or NaN may reach other elements of a result, or none. They are
// used all the same, since they save much, and whoever uses them says so here, for the user to be
// told.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_ASSUMPTIONS_H
#define KINTSUGI_DERIVE_ASSUMPTIONS_H

#include <algorithm>

namespace kintsugi::derive {

/// How many results hold for finite values only.
struct Assumptions {
  unsigned maskedScores = 0; ///< Of softmaxes, of which hidden ones are not looked at.
  unsigned hiddenRows = 0;   ///< Of softmaxes, whose weights are zeros where a row is hidden.
  unsigned windows = 0;      ///< That slide by bilinear algorithms, which mix neighbours.

  /// What holds of either of two programs.
  void join(const Assumptions &other) {
    maskedScores = std::max(maskedScores, other.maskedScores);
    hiddenRows = std::max(hiddenRows, other.hiddenRows);
    windows = std::max(windows, other.windows);
  }
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_ASSUMPTIONS_H
