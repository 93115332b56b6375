#include "targets/nvidia/calls/items.h"

#include "llvm/Support/MathExtras.h"

namespace kintsugi::targets {

using llvm::Value;

std::optional<ItemFormat> ItemFormat::of(unsigned keyBits, uint64_t count) {
  ItemFormat format;
  format.indexBits = llvm::Log2_64(std::max<uint64_t>(count, 1)) + 1;
  unsigned needed = keyBits + format.indexBits;
  for (unsigned bits : {32, 64, 128})
    if (needed <= bits) {
      format.bits = bits;
      return format;
    }
  return std::nullopt;
}

Value *ItemFormat::item(BlockBuilder &b, Value *key, Value *index) const {
  Value *high = b.ir.CreateShl(b.ir.CreateZExtOrTrunc(key, type(b)), indexBits);
  return b.ir.CreateOr(high, b.ir.CreateZExtOrTrunc(index, type(b)));
}

Value *ItemFormat::key(BlockBuilder &b, Value *item) const {
  return b.ir.CreateZExtOrTrunc(b.ir.CreateLShr(item, indexBits), b.ir.getInt64Ty());
}

Value *ItemFormat::index(BlockBuilder &b, Value *item) const {
  Value *wide = b.ir.CreateZExtOrTrunc(item, b.ir.getInt64Ty());
  return b.ir.CreateAnd(wide, llvm::maskTrailingOnes<uint64_t>(indexBits));
}

/// Without the sign, what follows the greatest number (infinity, where there is one); 0 where no
/// number of those is NaN.
static uint64_t nanAbove(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return 0x7c00;
  case ElementType::BF16:
    return 0x7f80;
  case ElementType::F32:
    return 0x7f800000;
  case ElementType::F64:
    return uint64_t(0x7ff) << 52;
  case ElementType::F8E4M3FN:
    return 0x7e;
  case ElementType::F8E5M2:
    return 0x7c;
  default:
    return 0;
  }
}

/// One zero, and NaN in place of the other.
static bool hasOneZero(ElementType type) {
  return type == ElementType::F8E4M3FNUZ || type == ElementType::F8E5M2FNUZ;
}

/// Numbers below zero turned around, ahead of the others.
static Value *floatKey(BlockBuilder &b, ElementType type, Value *bits) {
  auto &ir = b.ir;
  uint64_t sign = uint64_t(1) << (bitsOf(type) - 1);
  Value *ones = llvm::Constant::getAllOnesValue(bits->getType());
  Value *isNegative = ir.CreateICmpSLT(bits, b.number(bits, 0));
  Value *positive = ir.CreateOr(bits, b.number(bits, sign));
  if (hasOneZero(type)) { // NaN has the place ahead of zero; without it there is one behind all.
    Value *key =
        ir.CreateSelect(isNegative, ir.CreateNot(bits), ir.CreateSub(positive, b.number(bits, 1)));
    return ir.CreateSelect(ir.CreateICmpEQ(bits, b.number(bits, sign)), ones, key);
  }
  Value *magnitude = ir.CreateAnd(bits, b.number(bits, sign - 1));
  Value *key = ir.CreateSelect(isNegative, ir.CreateNot(bits), positive);
  key = ir.CreateSelect(ir.CreateICmpEQ(magnitude, b.number(bits, 0)), b.number(bits, sign), key);
  Value *isNaN = ir.CreateICmpUGT(magnitude, b.number(bits, nanAbove(type)));
  return ir.CreateSelect(isNaN, ones, key);
}

Value *orderKey(BlockBuilder &b, ElementType type, bool descending, Value *bits) {
  Value *key = bits;
  if (isFloat(type) && type != ElementType::F8E8M0) // Which are powers, NaN behind all of them.
    key = floatKey(b, type, bits);
  else if (isInteger(type) && isSigned(type))
    key = b.ir.CreateXor(bits, b.number(bits, uint64_t(1) << (bitsOf(type) - 1)));
  return descending ? b.ir.CreateNot(key) : key;
}

KeyedElement elementOf(BlockBuilder &b, ElementType type, bool descending, Value *key) {
  auto &ir = b.ir;
  key = descending ? ir.CreateNot(key) : key;
  Value *sign = b.number(key, uint64_t(1) << (bitsOf(type) - 1));
  Value *turned = ir.CreateXor(key, sign);
  if (isInteger(type))
    return {isSigned(type) ? turned : key, ir.getTrue()};
  if (type == ElementType::F8E8M0)
    return {key, ir.getTrue()};
  if (hasOneZero(type)) // Rare: what the key says is not worked out.
    return {key, ir.getFalse()};
  Value *isNegative = ir.CreateICmpULT(key, sign);
  Value *ones = llvm::Constant::getAllOnesValue(key->getType());
  Value *isKnown = ir.CreateAnd(ir.CreateICmpNE(key, sign), ir.CreateICmpNE(key, ones));
  return {ir.CreateSelect(isNegative, ir.CreateNot(key), turned), isKnown};
}

} // namespace kintsugi::targets
