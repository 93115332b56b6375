//===- scales.h - Powers of two that values are stored without --------------===//
//
// A value whose elements would leave the range of a narrow type lies in memory divided by a power
// of two, which changes no digit of what is not small beside the greatest: readers multiply by it,
// products and sums of what they read leave it out to the end. How large values become was seen in
// a run; their bounds from the expressions alone would be far off for anything deep.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_SCALES_H
#define KINTSUGI_SIMPLIFY_SCALES_H

#include "te/program.h"

namespace kintsugi::simplify {

/// The exponent of the power that what a read gives is divided by.
using ExponentOfRead = llvm::function_ref<int(const te::Expr &read)>;

/// What an f32 expression may be divided by for that its reads are, without an operation more.
int commonExponent(const te::Expr &expr, ExponentOfRead exponentOf);

/// An expression over reads that are divided, itself divided by 2^exponent.
te::Expr dividedBy(int exponent, const te::Expr &expr, ExponentOfRead exponentOf);

class Scales {
public:
  /// No value is divided.
  Scales(const te::Program &program, ElementType narrow);

  /// Which values lie in memory as f32 for another reason than their range.
  struct Wide {
    std::vector<bool> unread; ///< Products of matrices don't read them.
    std::vector<bool> plain;  ///< Only copies for products may be divided.
  };
  /// `greatest`: see tried.h.
  void find(const std::vector<bool> &constantNodes, const Wide &wide,
            llvm::ArrayRef<double> greatest);

  /// The value lies in memory divided by 2 to this power.
  int of(te::ValueId id) const { return stored[id.number]; }
  /// Its sum is divided by this one, of a product of matrices; else the same.
  int ofSum(te::ValueId id) const { return summed[id.number]; }
  /// What products of matrices read of it, which may be a narrow copy of a value that others type.
  int ofFactor(te::ValueId id) const { return of(id) + copied[id.number]; }
  /// Whether the narrow type has no place, or no digits, for what is stored.
  bool isBeyond(te::ValueId id) const;

private:
  std::vector<bool> findTyped() const;
  std::vector<bool> findCompared() const;
  void scale(const te::Definition &definition, bool isUnread, bool isCompared);
  int exponentFor(double greatest) const;
  int exponentOfCopy(double greatest) const;
  bool isTiny(double greatest) const;
  bool fits(double greatest, int exponent) const;

  const te::Program &program;
  double last;                             ///< The end of the narrow type's range.
  std::vector<double> seen;                ///< The greatest magnitudes, by value; 0: not known.
  std::vector<int> stored, summed, copied; ///< By value.
};

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_SCALES_H
