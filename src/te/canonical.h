//===- canonical.h - Hashes and texts that names and order don't change -----===//
//
// The two passes behind te/hash.h. ColourHasher hashes expressions bottom up, where each value
// stands for a colour: a hash of what is known of it. CanonicalWriter then writes the text: each
// different expression once, on a line of its own, as an operation on the numbers of earlier lines,
// with commutative operands in the order of their hashes.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_CANONICAL_H
#define KINTSUGI_TE_CANONICAL_H

#include "base/hash.h"
#include "te/program.h"
#include "llvm/ADT/DenseMap.h"

namespace kintsugi::te {

using ValueColour = std::function<Hash128(ValueId)>;

class ColourHasher {
public:
  explicit ColourHasher(ValueColour colour) : colour(std::move(colour)) {}

  Hash128 hash(const Expr &expr);
  Hash128 hash(const Index &index);
  Hash128 hash(const Term &term);
  /// What the node computes, not which values it gives it to.
  Hash128 hash(const Program &program, uint32_t node);

private:
  Hash128 compute(const Expr &expr);
  Hash128 hash(const Program &program, const Definition &definition);
  Hash128 hash(const Scan &scan);
  Hash128 hash(const Call &call);

  ValueColour colour;
  llvm::DenseMap<const void *, Hash128> known;
};

class CanonicalWriter {
public:
  /// `nameOfValue` is asked in the order in which values occur.
  CanonicalWriter(ColourHasher &hasher, std::function<std::string(ValueId)> nameOfValue)
      : hasher(hasher), nameOfValue(std::move(nameOfValue)) {}

  /// Writes what is new of the expression; gives its number.
  unsigned write(const Expr &expr);
  void write(const Program &program, uint32_t node);
  std::string text;

private:
  std::string spell(const Expr &expr);
  std::string spellOperation(const Expr &expr);
  std::string spell(const Index &index);
  std::string spell(const Atom &atom);
  void write(const Program &program, const Definition &definition);
  void write(const Scan &scan);
  void write(const Call &call);
  std::string spellValues(llvm::ArrayRef<ValueId> values);

  ColourHasher &hasher;
  std::function<std::string(ValueId)> nameOfValue;
  llvm::DenseMap<const void *, unsigned> numbers;
  std::map<std::string, unsigned> lines;
};

bool isCommutative(BinaryOp op);

/// Type and shape: "f32[1, 64]".
std::string describe(const Value &value);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_CANONICAL_H
