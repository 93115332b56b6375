//===- hash.h - When two expressions are the same ---------------------------===//
//
// Canonical texts, and their hashes, of expressions, nodes, groups of nodes and programs. In them
// the names of iterators and values don't occur, and the order of commutative operands doesn't
// matter. Equality is always decided on the text; the hash only finds candidates for it. Where two
// inputs of a group can't be told apart by where they are used, two equal groups may, rarely, get
// different texts, which costs sharing and nothing else; different groups never get the same.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_HASH_H
#define KINTSUGI_TE_HASH_H

#include "base/hash.h"
#include "te/program.h"

namespace kintsugi::te {

/// With values by their number: for what is equal inside one program.
std::string canonicalText(const Expr &expr);
/// What a node computes from which values, its results' types included.
std::string canonicalText(const Program &program, uint32_t node);
/// The same with values by other numbers: for what is equal in several programs.
std::string canonicalText(const Program &program, uint32_t node,
                          llvm::function_ref<uint32_t(ValueId)> numberOf);
/// Inputs by their position, constants by their sources' identities. Without output names.
std::string canonicalText(const Program &program);

/// Hashes of these texts.
Hash128 hashOf(const Expr &expr);
Hash128 hashOf(const Program &program, uint32_t node);
Hash128 hashOf(const Program &program);

bool equivalent(const Expr &a, const Expr &b);
bool equivalent(const Program &a, const Program &b);

/// What a group of nodes computes relative to its external inputs: equal for equal layers of a
/// model, whatever their weights. The lists say what stands where in this group, so that what was
/// made for one group can be bound to another with the same key: inputs[k] of one corresponds to
/// inputs[k] of the other.
struct GroupKey {
  Hash128 hash;
  std::string text;
  llvm::SmallVector<ValueId> inputs;  ///< Values from outside, by first occurrence.
  llvm::SmallVector<uint32_t> nodes;  ///< The group's nodes in a canonical order of execution.
  llvm::SmallVector<ValueId> results; ///< Of all nodes, in that order.

  bool operator==(const GroupKey &other) const { return text == other.text; }
};

/// The key of a group. `outputs` are the results that the group has to leave behind, which are part
/// of the key. External inputs are told by type, shape, facts and whether they are constants, not
/// by their content.
GroupKey keyOf(const Program &program, llvm::ArrayRef<uint32_t> nodes,
               llvm::ArrayRef<ValueId> outputs = {});

} // namespace kintsugi::te

#endif // KINTSUGI_TE_HASH_H
