//===- format.h - The order in which a value's dimensions are stored --------===//
//
// A value's format is an order of its dimensions. In a program every value is stored row-major, so
// a value in another format is one whose definition and readers number its dimensions differently.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LAYOUT_FORMAT_H
#define KINTSUGI_LAYOUT_FORMAT_H

#include "te/program.h"

namespace kintsugi::layout {

/// order[p] is the dimension that is stored at position p; empty means row-major.
using Order = llvm::SmallVector<unsigned, 4>;

/// The order that moves one dimension innermost and keeps the others as they are; empty where that
/// changes nothing in memory, because what would be passed over has one element.
Order innermost(llvm::ArrayRef<te::Extent> shape, unsigned dimension);

/// A list by dimension, in the given order.
template <typename List> List permuted(const List &list, const Order &order) {
  if (order.empty())
    return list;
  List result;
  for (unsigned dimension : order)
    result.push_back(list[dimension]);
  return result;
}

/// As people read it: "2, 0, 1".
std::string textOf(const Order &order);

/// The innermost dimension of a shape with more than one element, or -1.
int innermostDimension(llvm::ArrayRef<te::Extent> shape);

} // namespace kintsugi::layout

#endif // KINTSUGI_LAYOUT_FORMAT_H
