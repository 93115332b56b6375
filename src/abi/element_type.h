//===- element_type.h - The element types of tensors, in plain C ----------===//
//
// One numbering of element types for models, artifacts, compiled stages, the runtime and the C API.
// The numbers are those of ONNX's TensorProto.DataType, so that the map between the two is the
// identity, and they are part of the artifact format: they never change.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ABI_ELEMENT_TYPE_H
#define KINTSUGI_ABI_ELEMENT_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum KinElementType {
  KIN_ELEMENT_INVALID = 0,
  KIN_F32 = 1,
  KIN_U8 = 2,
  KIN_I8 = 3,
  KIN_U16 = 4,
  KIN_I16 = 5,
  KIN_I32 = 6,
  KIN_I64 = 7,
  KIN_STR = 8,
  KIN_BOOL = 9, /* one byte, 0 or 1 */
  KIN_F16 = 10,
  KIN_F64 = 11,
  KIN_U32 = 12,
  KIN_U64 = 13,
  KIN_C64 = 14,  /* two f32: real, imaginary */
  KIN_C128 = 15, /* two f64 */
  KIN_BF16 = 16,
  KIN_F8E4M3FN = 17,   /* no infinity, one NaN for each sign */
  KIN_F8E4M3FNUZ = 18, /* no infinity, no negative zero, one NaN */
  KIN_F8E5M2 = 19,     /* as IEEE 754 */
  KIN_F8E5M2FNUZ = 20,
  KIN_U4 = 21,
  KIN_I4 = 22,
  KIN_F4E2M1 = 23, /* neither infinity nor NaN */
  KIN_F8E8M0 = 24, /* powers of two; no sign, no zero; one NaN */
  KIN_U2 = 25,
  KIN_I2 = 26,
  KIN_F6E2M3 = 27, /* neither infinity nor NaN */
  KIN_F6E3M2 = 28, /* neither infinity nor NaN */
  KIN_ELEMENT_TYPE_COUNT = 29
} KinElementType;

/* Every function takes any number and treats one outside the enumeration as KIN_ELEMENT_INVALID. */

/* Bits of one element: 2, 4, 6, 8, 16, 32, 64 or 128. Elements narrower than a byte are packed, the
   first in the lowest bits (ONNX's raw_data). 0 for strings, which have no fixed size, and for no
   type. */
uint32_t kinElementBits(int32_t type);

/* "f32", "bf16", "i64", "u4", "bool", "c64", "str", "f8e4m3fn", ...; "invalid" for no type. */
const char *kinElementName(int32_t type);

/* The type of that name (`length` characters, no terminator needed), or KIN_ELEMENT_INVALID. */
KinElementType kinElementFromName(const char *name, uint64_t length);

/* ONNX's TensorProto.DataType to and from ours; KIN_ELEMENT_INVALID (UNDEFINED) for unknown. */
KinElementType kinElementFromOnnx(int32_t onnxType);
int32_t kinElementToOnnx(int32_t type);

/* Real floating-point types of any width, f8e8m0 included. */
bool kinElementIsFloat(int32_t type);

/* Two's complement and unsigned integers of any width; not bool. */
bool kinElementIsInteger(int32_t type);

/* Whether a negative number can be held. */
bool kinElementIsSigned(int32_t type);

bool kinElementIsComplex(int32_t type);

#ifdef __cplusplus
}
#endif

#endif /* KINTSUGI_ABI_ELEMENT_TYPE_H */
