//===- conversion.h - Conversions between element types ---------------------===//
//
// What ONNX's Cast leaves to attributes: what becomes of numbers that are out of an 8-bit float's
// range, and which way one is rounded to a power of two. An expression's cast has one answer, so
// the number is brought into range, or onto a power, before.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_CONVERSION_H
#define KINTSUGI_IMPORT_OPS_CONVERSION_H

#include "base/half.h"
#include "import/op_context.h"

namespace kintsugi::import {

struct Conversion {
  ElementType type = ElementType::Invalid;
  OutOfRange outOfRange = OutOfRange::Clamp;  ///< Of 8-bit floats.
  PowerRounding rounding = PowerRounding::Up; ///< Of f8e8m0.
};

/// What the attributes `saturate` and `round_mode` say of a conversion to a type; an error for a
/// type that nothing can be converted to.
Expected<Conversion> conversionTo(OpContext &c, ElementType type);

Expr converted(const Expr &value, const Conversion &conversion);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_CONVERSION_H
