#include "derive/phases.h"

#include <numeric>
#include <utility>

namespace kintsugi::derive {

using namespace te;

namespace {

int64_t floorQuotient(int64_t a, int64_t b) { return Index(a).floorDiv(b).constantTerm(); }

/// x with x * a = 1 modulo m, which are coprime (Euclid's algorithm).
int64_t inverseOf(int64_t a, int64_t m) {
  int64_t b = a % m, ofA = 0, ofB = 1;
  for (int64_t r = m; b > 1;) {
    ofA = std::exchange(ofB, ofA - r / b * ofB);
    r = std::exchange(b, r % b);
  }
  return ofB < 0 ? ofB + m : ofB;
}

} // namespace

Phases::Phases(const Stride &s, int64_t outputs, int64_t taps)
    : common(std::gcd(s.stride, s.step)), stride(s.stride / common),
      spread(std::abs(s.step) / common), offset(s.offset), outputs(outputs), allTaps(taps),
      fromLast(s.step > 0) {
  if (fromLast)
    offset += s.step * (taps - 1);
}

int64_t Phases::firstPlace() const { return floorQuotient(offset + common - 1, common); }
int64_t Phases::lastPlace() const { return floorQuotient(offset + outputs - 1, common); }

int64_t Phases::firstQuotient() const {
  return floorQuotient(firstPlace(), stride) - (stride - 1) * spread / stride;
}

int64_t Phases::quotients() const {
  return lastPlace() < firstPlace() ? 0 : floorQuotient(lastPlace(), stride) - firstQuotient() + 1;
}

Index Phases::tapOf(const Index &phase, const Index &tap) const {
  Index number = phase + (Index(taps() - 1) - tap) * stride;
  return fromLast ? Index(allTaps - 1) - number : number;
}

Index Phases::phaseOf(const Index &output) const {
  return (placeOf(output) * inverseOf(spread, stride)).mod(stride);
}

Index Phases::quotientOf(const Index &output) const {
  Index before = (phaseOf(output) * spread).floorDiv(stride);
  return placeOf(output).floorDiv(stride) - before - firstQuotient();
}

} // namespace kintsugi::derive
