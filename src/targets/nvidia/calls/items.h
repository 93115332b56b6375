//===- items.h - Elements as numbers that order as they do ------------------===//
//
// What is sorted are items: unsigned numbers whose high bits order elements and whose low bits are
// the element's place, so that no two are equal and ties go by place.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_CALLS_ITEMS_H
#define KINTSUGI_TARGETS_NVIDIA_CALLS_ITEMS_H

#include "targets/nvidia/calls/block_builder.h"

namespace kintsugi::targets {

/// What all items of a sort look like. The item of all ones is none of them and behind all.
struct ItemFormat {
  unsigned indexBits = 0;
  unsigned bits = 0; ///< 32, 64 or 128.

  /// For keys of so many bits and places below `count`; nothing where no number has room.
  static std::optional<ItemFormat> of(unsigned keyBits, uint64_t count);

  unsigned bytes() const { return bits / 8; }
  llvm::Value *item(BlockBuilder &b, llvm::Value *key, llvm::Value *index) const;
  llvm::Value *key(BlockBuilder &b, llvm::Value *item) const;
  llvm::Value *index(BlockBuilder &b, llvm::Value *item) const; ///< An i64.
  llvm::Value *none(BlockBuilder &b) const { return llvm::Constant::getAllOnesValue(type(b)); }
  llvm::Type *type(BlockBuilder &b) const { return b.integerType(bits); }
};

/// An unsigned number that orders an element, given as its bits: NaN is greatest, whatever its
/// bits, and zeros are equal. `descending`: the other way round.
llvm::Value *orderKey(BlockBuilder &b, ElementType type, bool descending, llvm::Value *bits);

/// The element that a key was made of, where all that have the key are the same; and whether that
/// is so, which NaN and zeros are not.
struct KeyedElement {
  llvm::Value *bits, *isKnown;
};
KeyedElement elementOf(BlockBuilder &b, ElementType type, bool descending, llvm::Value *key);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_CALLS_ITEMS_H
