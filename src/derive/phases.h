//===- phases.h - Which taps of a stride meet where -------------------------===//
//
// With a stride s and taps d apart, input i and tap r meet at place s * i + d * r. What both have
// in common, `apart`, is how far places lie apart at which anything meets; counted in these steps
// stride and dilation are coprime. Tap r = phase + t * stride then meets, of input i, the place
//     i * stride + r * dilation = phase * dilation + (i + t * dilation) * stride,
// so a place tells its phase, and the phase's quotient i + t * dilation. Each phase is a
// convolution over quotients, with taps of its own, the last first, and the same input. Where taps
// lie in the other direction they are counted from the last.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_PHASES_H
#define KINTSUGI_DERIVE_PHASES_H

#include "derive/strided_sum.h"

namespace kintsugi::derive {

class Phases {
public:
  /// Of so many places of the result, and taps.
  Phases(const Stride &stride, int64_t outputs, int64_t taps);

  int64_t count() const { return stride; }
  int64_t taps() const { return (allTaps + stride - 1) / stride; } ///< Of a phase.
  /// Numbers of taps that some phases don't have.
  te::Interval missingTaps() const {
    int64_t end = stride * taps();
    return fromLast ? te::Interval{allTaps - end, -1} : te::Interval{allTaps, end - 1};
  }
  /// From a quotient to the next tap's input.
  int64_t dilation() const { return spread; }
  int64_t quotients() const; ///< Of any phase; none where nothing meets.

  /// The input's element of the first quotient and the first tap.
  int64_t firstInput() const { return firstQuotient() - (taps() - 1) * spread; }
  /// Which of all taps it is.
  te::Index tapOf(const te::Index &phase, const te::Index &tap) const;

  int64_t apart() const { return common; }
  /// What has to be divisible by `apart` for anything to meet at a place.
  te::Index meeting(const te::Index &output) const { return output + offset; }
  te::Index phaseOf(const te::Index &output) const;
  /// Counted from the first.
  te::Index quotientOf(const te::Index &output) const;

private:
  int64_t firstPlace() const;
  int64_t lastPlace() const;
  int64_t firstQuotient() const;
  te::Index placeOf(const te::Index &output) const { return meeting(output).floorDiv(common); }

  int64_t common, stride, spread; ///< Stride and dilation, coprime.
  int64_t offset, outputs, allTaps;
  bool fromLast; ///< Whether taps are counted from the last.
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_PHASES_H
