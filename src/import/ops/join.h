//===- join.h - Operators of any number of inputs ------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_JOIN_H
#define KINTSUGI_IMPORT_OPS_JOIN_H

#include "import/op_context.h"

namespace kintsugi::import {

/// Joins tensors, of which there is one at least, by definitions that read no more than a kernel
/// can have at hand: groups of neighbours first, then what they became. `join` defines what some of
/// them become, under a name.
ValueId inGroups(std::string name, llvm::ArrayRef<ValueId> tensors,
                 llvm::function_ref<ValueId(std::string, llvm::ArrayRef<ValueId>)> join);

/// Tensors one after the other along a dimension in which alone they may differ.
ValueId concatenated(Builder &b, std::string name, llvm::ArrayRef<ValueId> tensors, unsigned axis);

/// The same of tensors of a model, of which there is one at least and some may be empty; an error
/// where they differ elsewhere or in type.
Expected<ValueId> joined(OpContext &c, std::string name, llvm::ArrayRef<ValueId> tensors,
                         unsigned axis);

/// Tensors, of which there is one at least, one after the other along a new dimension; an error
/// where they differ in shape or type.
Expected<ValueId> stacked(OpContext &c, std::string name, llvm::ArrayRef<ValueId> tensors,
                          unsigned axis);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_JOIN_H
