//===- multiply_adds.h - Whether fewer multiply-adds are a gain ---------------===//
//
// Rules that only know how much arithmetic they spare, since what kernels there will be is the
// solver's choice, ask here whether that is worth a form, and whether no form needs to be without
// it (Rule::applyDominant).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_MULTIPLY_ADDS_H
#define KINTSUGI_DERIVE_MULTIPLY_ADDS_H

#include "machine/machine.h"

namespace kintsugi::derive {

/// What some definitions compute, and what others compute that stand in their place.
struct MultiplyAdds {
  double before = 0, after = 0;
  double bytes = 0;         ///< Of the results of those in their place.
  unsigned definitions = 0; ///< In their place, at most.
  bool areNarrow = false;   ///< Factors are stored in 16 bits, for units of matrices.

  /// Whether what they save is worth more than `margin` launches for each definition.
  bool saveLaunches(const machine::Machine &machine, double margin) const;
  /// The same, of which the share is worth a form too.
  bool areFewer(const machine::Machine &machine, double margin) const;
  /// Whether what is replaced takes longer by its arithmetic at the machine's peak than what comes
  /// in its place is estimated to take at most.
  bool areDominant(const machine::Machine &machine) const;

  /// Of what is replaced, at the machine's peak.
  double secondsBefore(const machine::Machine &machine) const { return before / rateOn(machine); }

private:
  /// Of multiply-adds, by all of the machine.
  double rateOn(const machine::Machine &machine) const;
};

/// Whether a constant that is computed for others that were read has a size like theirs: a table of
/// all that could be is no gain.
bool isLikeConstants(double elements, double elementsOfOthers);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_MULTIPLY_ADDS_H
