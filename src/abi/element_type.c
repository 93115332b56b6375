/*===- element_type.c - The element types of tensors, in plain C ----------===*/

#include "abi/element_type.h"

#include <stddef.h>
#include <string.h>

enum { isFloat = 1, isInteger = 2, isSigned = 4, isComplex = 8 };

typedef struct {
  const char *name;
  uint8_t bits;
  uint8_t traits;
} Entry;

static const Entry entries[KIN_ELEMENT_TYPE_COUNT] = {
    [KIN_ELEMENT_INVALID] = {"invalid", 0, 0},
    [KIN_F32] = {"f32", 32, isFloat | isSigned},
    [KIN_U8] = {"u8", 8, isInteger},
    [KIN_I8] = {"i8", 8, isInteger | isSigned},
    [KIN_U16] = {"u16", 16, isInteger},
    [KIN_I16] = {"i16", 16, isInteger | isSigned},
    [KIN_I32] = {"i32", 32, isInteger | isSigned},
    [KIN_I64] = {"i64", 64, isInteger | isSigned},
    [KIN_STR] = {"str", 0, 0},
    [KIN_BOOL] = {"bool", 8, 0},
    [KIN_F16] = {"f16", 16, isFloat | isSigned},
    [KIN_F64] = {"f64", 64, isFloat | isSigned},
    [KIN_U32] = {"u32", 32, isInteger},
    [KIN_U64] = {"u64", 64, isInteger},
    [KIN_C64] = {"c64", 64, isComplex | isSigned},
    [KIN_C128] = {"c128", 128, isComplex | isSigned},
    [KIN_BF16] = {"bf16", 16, isFloat | isSigned},
    [KIN_F8E4M3FN] = {"f8e4m3fn", 8, isFloat | isSigned},
    [KIN_F8E4M3FNUZ] = {"f8e4m3fnuz", 8, isFloat | isSigned},
    [KIN_F8E5M2] = {"f8e5m2", 8, isFloat | isSigned},
    [KIN_F8E5M2FNUZ] = {"f8e5m2fnuz", 8, isFloat | isSigned},
    [KIN_U4] = {"u4", 4, isInteger},
    [KIN_I4] = {"i4", 4, isInteger | isSigned},
    [KIN_F4E2M1] = {"f4e2m1", 4, isFloat | isSigned},
    [KIN_F8E8M0] = {"f8e8m0", 8, isFloat},
    [KIN_U2] = {"u2", 2, isInteger},
    [KIN_I2] = {"i2", 2, isInteger | isSigned},
    [KIN_F6E2M3] = {"f6e2m3", 6, isFloat | isSigned},
    [KIN_F6E3M2] = {"f6e3m2", 6, isFloat | isSigned},
};

static const Entry *entryOf(int32_t type) {
  if (type < 0 || type >= KIN_ELEMENT_TYPE_COUNT)
    type = KIN_ELEMENT_INVALID;
  return &entries[type];
}

uint32_t kinElementBits(int32_t type) { return entryOf(type)->bits; }

const char *kinElementName(int32_t type) { return entryOf(type)->name; }

KinElementType kinElementFromName(const char *name, uint64_t length) {
  for (int32_t type = KIN_ELEMENT_INVALID + 1; type < KIN_ELEMENT_TYPE_COUNT; ++type)
    if (strlen(entries[type].name) == length && memcmp(entries[type].name, name, length) == 0)
      return (KinElementType)type;
  return KIN_ELEMENT_INVALID;
}

KinElementType kinElementFromOnnx(int32_t onnxType) {
  if (onnxType < 0 || onnxType >= KIN_ELEMENT_TYPE_COUNT)
    return KIN_ELEMENT_INVALID;
  return (KinElementType)onnxType;
}

int32_t kinElementToOnnx(int32_t type) { return (int32_t)kinElementFromOnnx(type); }

bool kinElementIsFloat(int32_t type) { return entryOf(type)->traits & isFloat; }

bool kinElementIsInteger(int32_t type) { return entryOf(type)->traits & isInteger; }

bool kinElementIsSigned(int32_t type) { return entryOf(type)->traits & isSigned; }

bool kinElementIsComplex(int32_t type) { return entryOf(type)->traits & isComplex; }
