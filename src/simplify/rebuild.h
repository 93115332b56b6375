//===- rebuild.h - Copying a program node by node ---------------------------===//
//
// Every pass here makes a new program from an old one: it visits nodes in order, and what it adds
// is found again through a table from old values to new ones. Order and invariants come for free.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_REBUILD_H
#define KINTSUGI_SIMPLIFY_REBUILD_H

#include "te/program.h"

namespace kintsugi::simplify {

class Rebuilder {
public:
  explicit Rebuilder(const te::Program &old);

  const te::Program &old;
  te::Program fresh;

  /// The new value of an old one. Inputs exist from the start, constants from their first use.
  te::ValueId operator[](te::ValueId id);
  void bind(te::ValueId oldValue, te::ValueId newValue) { table[oldValue.number] = newValue; }

  /// An expression with its reads renamed.
  te::Expr rename(const te::Expr &expr);
  /// Copies a scan or a call as it stands. `body` replaces a scan's body where given.
  void copyNode(uint32_t node, std::shared_ptr<const te::Program> body = nullptr);
  /// Copies any node as it stands, with what is known of its results.
  void copy(uint32_t node);
  /// Adds a definition of the old program's values in place of an old node, with what is known of
  /// its results.
  void copyAs(uint32_t node, te::Definition definition);
  /// What was known of an old node's results holds for the new ones, which are equal to them.
  void keepFacts(uint32_t node);
  /// The new ones are equal to them, where they have their shape.
  void keepOriginals(uint32_t node);
  /// Adds a definition in place of an old node, under its results' names.
  void define(uint32_t node, te::Definition definition);
  /// Adds a definition of each element of a new value, `body` of the read of it, under the value's
  /// name and a suffix.
  te::ValueId defineFrom(te::ValueId source, ElementType type, llvm::StringRef suffix,
                         llvm::function_ref<te::Expr(const te::Expr &)> body);
  /// The same of the elements of a box alone, by dimension, from its first one on.
  te::ValueId defineFromBox(te::ValueId source, llvm::ArrayRef<te::Interval> box, ElementType type,
                            llvm::StringRef suffix,
                            llvm::function_ref<te::Expr(const te::Expr &)> body);
  /// Declares the outputs and gives the program away.
  te::Program finish();

private:
  void add(uint32_t node, te::Node copy);

  std::vector<te::ValueId> table;
};

/// The program without the nodes that its outputs don't need.
te::Program withoutUnneeded(const te::Program &program);

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_REBUILD_H
