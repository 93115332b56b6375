//===- precision.h - What floats the user lets a model be computed in ------===//
//
// The words of --precision. All but f32 are conversions that the user asks for: nothing else ever
// lowers the precision of a model.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_PRECISION_H
#define KINTSUGI_BASE_PRECISION_H

#include "base/element_type.h"

namespace kintsugi {

enum class Precision : uint8_t {
  F32,  ///< As the model says.
  F16,  ///< f32 values are stored as f16.
  BF16, ///< f32 values are stored as bf16.
};

inline std::string_view nameOf(Precision precision) {
  constexpr std::string_view names[] = {"f32", "f16", "bf16"};
  return names[static_cast<unsigned>(precision)];
}

inline std::optional<Precision> precisionFromName(std::string_view name) {
  for (Precision precision : {Precision::F32, Precision::F16, Precision::BF16})
    if (nameOf(precision) == name)
      return precision;
  return std::nullopt;
}

/// What f32 values are stored as, where that is another type.
inline std::optional<ElementType> storageOf(Precision precision) {
  switch (precision) {
  case Precision::F16:
    return ElementType::F16;
  case Precision::BF16:
    return ElementType::BF16;
  default:
    return std::nullopt;
  }
}

/// The float type whose rounding errors are those of values that were rounded so.
inline ElementType roundingOf(Precision precision) {
  return storageOf(precision).value_or(ElementType::F32);
}

} // namespace kintsugi

#endif // KINTSUGI_BASE_PRECISION_H
