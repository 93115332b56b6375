//===- reorder.h - Giving values other formats ------------------------------===//
//
// A pure rewrite: where a value's format changes, its definition's parallel iterators and its shape
// are permuted, and so are the indices of every read of it. No node is added, and sums keep their
// order, so the outputs are the same to the last bit.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LAYOUT_REORDER_H
#define KINTSUGI_LAYOUT_REORDER_H

#include "layout/format.h"

namespace kintsugi::layout {

/// The order of each value.
using OrderOf = llvm::function_ref<const Order &(te::ValueId)>;

/// A definition whose result and operands are in the given orders; operands keep their numbers.
te::Definition reorder(const te::Definition &definition, OrderOf orderOf);

/// The program with its values in the given orders, by value number. Only results of definitions
/// may have one, which scans and calls must not read and outputs must not name; the results of one
/// definition share theirs. Names, facts and origins stay.
te::Program reorder(const te::Program &program, llvm::ArrayRef<Order> orders);

} // namespace kintsugi::layout

#endif // KINTSUGI_LAYOUT_REORDER_H
