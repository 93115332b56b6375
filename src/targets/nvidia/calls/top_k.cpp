//===- top_k.cpp - The greatest or least elements along an axis -----------===//

#include "calls/top_k.h"
#include "targets/nvidia/calls/list.h"
#include "targets/nvidia/calls/row_sort.h"

namespace kintsugi::targets {

using llvm::ArrayRef;
using llvm::Value;

namespace {

/// Where the elements along an axis are.
struct Rows {
  uint64_t outer = 1, extent = 1, inner = 1;

  /// Of the element with a number, where a row has `count` of them.
  Value *place(BlockBuilder &b, Value *row, Value *number, uint64_t count) const {
    if (inner == 1)
      return b.ir.CreateAdd(b.mul(row, count), number);
    Value *slice = b.ir.CreateAdd(b.mul(b.div(row, inner), count), number);
    return b.ir.CreateAdd(b.mul(slice, inner), b.rem(row, inner));
  }
};

Rows rowsOf(const calls::TensorType &type, size_t axis) {
  Rows rows;
  rows.extent = uint64_t(type.shape[axis]);
  for (size_t d = 0; d < type.shape.size(); ++d)
    if (d != axis)
      (d < axis ? rows.outer : rows.inner) *= uint64_t(type.shape[d]);
  return rows;
}

CallCode codeOf(const calls::Site &site) {
  CallCode code(site, 2);
  const calls::TensorType &x = site.operands[0];
  calls::TopKAttributes attributes = *calls::TopKAttributes::read(site.attributes, x.shape.size());
  Rows rows = rowsOf(x, attributes.axis);
  unsigned bits = bitsOf(x.type);
  std::optional<ItemFormat> format = ItemFormat::of(bits, rows.extent);
  if (!format || format->indexBits > 32) {
    code.reason = "its rows are too long";
    return code;
  }
  auto item = [=](BlockBuilder &b, ArrayRef<Value *> operands, Value *row, Value *number) {
    Value *element =
        b.load(b.integerType(bits), operands[0], rows.place(b, row, number, rows.extent));
    return format->item(b, orderKey(b, x.type, attributes.largest, element), number);
  };
  uint64_t k = uint64_t(attributes.k);
  auto store = [=](BlockBuilder &b, ArrayRef<Value *> reads, ArrayRef<Value *> writes, Value *row,
                   Value *rank, Value *item) {
    Value *index = format->index(b, item), *to = rows.place(b, row, rank, k);
    Value *key = b.ir.CreateTrunc(format->key(b, item), b.integerType(bits));
    KeyedElement element = elementOf(b, x.type, attributes.largest, key);
    Value *value = b.valueOr(element.isKnown, element.bits, [&] { // Reads are far apart.
      return b.load(b.integerType(bits), reads[0], rows.place(b, row, index, rows.extent));
    });
    b.store(value, writes[0], to);
    b.store(index, writes[1], to);
  };
  addRowSort(code, {rows.outer * rows.inner, rows.extent, k, *format, rows.inner > 1}, {{0}, item},
             {{0}, {1, 2}, store});
  return code;
}

} // namespace

const DeviceCode topKCode = {"TopK", codeOf};

} // namespace kintsugi::targets
