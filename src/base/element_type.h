//===- element_type.h - The element types of tensors ----------------------===//
//
// The C++ face of abi/element_type.h: the same numbers as a scoped enumeration, so that an element
// type can't be mistaken for an integer. All of `base` lives in namespace kintsugi.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_ELEMENT_TYPE_H
#define KINTSUGI_BASE_ELEMENT_TYPE_H

#include "abi/element_type.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace kintsugi {

enum class ElementType : uint8_t {
  Invalid = KIN_ELEMENT_INVALID,
  F32 = KIN_F32,
  U8 = KIN_U8,
  I8 = KIN_I8,
  U16 = KIN_U16,
  I16 = KIN_I16,
  I32 = KIN_I32,
  I64 = KIN_I64,
  Str = KIN_STR,
  Bool = KIN_BOOL,
  F16 = KIN_F16,
  F64 = KIN_F64,
  U32 = KIN_U32,
  U64 = KIN_U64,
  C64 = KIN_C64,
  C128 = KIN_C128,
  BF16 = KIN_BF16,
  F8E4M3FN = KIN_F8E4M3FN,
  F8E4M3FNUZ = KIN_F8E4M3FNUZ,
  F8E5M2 = KIN_F8E5M2,
  F8E5M2FNUZ = KIN_F8E5M2FNUZ,
  U4 = KIN_U4,
  I4 = KIN_I4,
  F4E2M1 = KIN_F4E2M1,
  F8E8M0 = KIN_F8E8M0,
  U2 = KIN_U2,
  I2 = KIN_I2,
  F6E2M3 = KIN_F6E2M3,
  F6E3M2 = KIN_F6E3M2,
};

inline int32_t toInt(ElementType type) { return static_cast<int32_t>(type); }

/// Bits of one element; 0 for strings. See kinElementBits for how narrow ones are packed.
inline uint32_t bitsOf(ElementType type) { return kinElementBits(toInt(type)); }

/// "f32", "bf16", "i64", ...
inline std::string_view nameOf(ElementType type) { return kinElementName(toInt(type)); }

inline bool isFloat(ElementType type) { return kinElementIsFloat(toInt(type)); }
inline bool isInteger(ElementType type) { return kinElementIsInteger(toInt(type)); }
inline bool isSigned(ElementType type) { return kinElementIsSigned(toInt(type)); }
inline bool isComplex(ElementType type) { return kinElementIsComplex(toInt(type)); }

/// Whether numbers are only kept in the type: floats of 8 and fewer bits, integers of fewer than 8.
/// Nothing computes in them; they are converted to what it is computed in.
inline bool isStorageOnly(ElementType type) {
  return isFloat(type) ? bitsOf(type) <= 8 : isInteger(type) && bitsOf(type) < 8;
}

/// The unsigned integer of so many bits; nothing where there is none.
inline std::optional<ElementType> unsignedOfBits(unsigned bits) {
  switch (bits) {
  case 8:
    return ElementType::U8;
  case 16:
    return ElementType::U16;
  case 32:
    return ElementType::U32;
  case 64:
    return ElementType::U64;
  default:
    return std::nullopt;
  }
}

/// Nothing for a name that is no element type's.
inline std::optional<ElementType> elementTypeFromName(std::string_view name) {
  auto type = static_cast<ElementType>(kinElementFromName(name.data(), name.size()));
  return type == ElementType::Invalid ? std::nullopt : std::optional(type);
}

/// From ONNX's TensorProto.DataType; nothing for UNDEFINED and numbers not known.
inline std::optional<ElementType> elementTypeFromOnnx(int32_t onnxType) {
  auto type = static_cast<ElementType>(kinElementFromOnnx(onnxType));
  return type == ElementType::Invalid ? std::nullopt : std::optional(type);
}

inline int32_t elementTypeToOnnx(ElementType type) { return kinElementToOnnx(toInt(type)); }

/// The element type whose elements are laid out as the C++ type T: elementTypeFor<float> is F32.
template <typename T> inline constexpr ElementType elementTypeFor = ElementType::Invalid;
template <> inline constexpr ElementType elementTypeFor<float> = ElementType::F32;
template <> inline constexpr ElementType elementTypeFor<double> = ElementType::F64;
template <> inline constexpr ElementType elementTypeFor<int8_t> = ElementType::I8;
template <> inline constexpr ElementType elementTypeFor<int16_t> = ElementType::I16;
template <> inline constexpr ElementType elementTypeFor<int32_t> = ElementType::I32;
template <> inline constexpr ElementType elementTypeFor<int64_t> = ElementType::I64;
template <> inline constexpr ElementType elementTypeFor<uint8_t> = ElementType::U8;
template <> inline constexpr ElementType elementTypeFor<uint16_t> = ElementType::U16;
template <> inline constexpr ElementType elementTypeFor<uint32_t> = ElementType::U32;
template <> inline constexpr ElementType elementTypeFor<uint64_t> = ElementType::U64;
template <> inline constexpr ElementType elementTypeFor<bool> = ElementType::Bool;

} // namespace kintsugi

#endif // KINTSUGI_BASE_ELEMENT_TYPE_H
