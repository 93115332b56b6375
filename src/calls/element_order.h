//===- element_order.h - Elements of any type as numbers with their order ---===//
#ifndef KINTSUGI_CALLS_ELEMENT_ORDER_H
#define KINTSUGI_CALLS_ELEMENT_ORDER_H

#include "base/half.h"
#include "base/tensor.h"

#include <cmath>
#include <span>
#include <type_traits>

namespace kintsugi::calls {

/// Whether elements of a type have an order: numbers and booleans.
inline bool isOrdered(ElementType type) {
  return isFloat(type) || isInteger(type) || type == ElementType::Bool;
}

/// What `visit` gives of a 0 of the unsigned type that is as wide as elements of whole bytes.
template <typename Visit> auto withBitsOf(ElementType type, Visit visit) {
  switch (bitsOf(type)) {
  case 8:
    return visit(uint8_t(0));
  case 16:
    return visit(uint16_t(0));
  case 32:
    return visit(uint32_t(0));
  default:
    return visit(uint64_t(0));
  }
}

/// Makes unsigned integers of elements' width that are ordered as their numbers: both zeros are the
/// same, NaN is the greatest. Not of storage-only types.
template <typename Bits> class Order {
public:
  explicit Order(ElementType type)
      : isReal(isFloat(type)), isWithSign(isSigned(type)),
        infinity(isReal ? static_cast<Bits>(encodeFloat(type, INFINITY)) : Bits(0)) {}

  Bits operator()(Bits bits) const {
    if (!isReal)
      return isWithSign ? Bits(bits ^ sign) : bits;
    return ofReal(bits);
  }

  /// Of elements `step` apart, as many as there are orders.
  template <typename Wide>
  void ofAll(const Bits *elements, int64_t step, std::span<Wide> orders) const {
    if (!isReal)
      for (size_t e = 0; e < orders.size(); ++e)
        orders[e] = (*this)(elements[int64_t(e) * step]);
    else if (step == 1) // Compilers make vectors of this one.
      for (size_t e = 0; e < orders.size(); ++e)
        orders[e] = ofReal(elements[e]);
    else
      for (size_t e = 0; e < orders.size(); ++e)
        orders[e] = ofReal(elements[int64_t(e) * step]);
  }

private:
  static constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);

  /// Without branches: signs are as good as random.
  Bits ofReal(Bits bits) const {
    using Signed = std::make_signed_t<Bits>;
    Bits magnitude = bits & Bits(~sign);
    auto negative = static_cast<Bits>(Signed(bits) >> (sizeof(Bits) * 8 - 1));
    auto isNaN = static_cast<Bits>(-Bits(Signed(magnitude) > Signed(infinity)));
    return Bits(((magnitude ^ negative) - negative) + sign) | isNaN;
  }

  bool isReal, isWithSign;
  Bits infinity;
};

} // namespace kintsugi::calls

#endif // KINTSUGI_CALLS_ELEMENT_ORDER_H
