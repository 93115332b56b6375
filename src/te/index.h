//===- index.h - Quasi-affine index expressions -----------------------------===//
//
// An index is a constant plus a sum of integer multiples of atoms. An atom is an iterator, a floor
// division or a remainder of an index by a positive constant, or an integer that is read from data
// (a gather). Indices are immutable values in a canonical form: terms are sorted and like terms are
// merged, so that equal sums compare equal.
//
// An index speaks of iterators by number: what a number means is the business of whoever holds the
// index (in a te::Definition: parallel iterators first, then the reduction's).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_INDEX_H
#define KINTSUGI_TE_INDEX_H

#include "te/extent.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <vector>

namespace kintsugi::te {

/// The greatest number that a text may write in an index, and the greatest extent: sums of products
/// of a few don't overflow.
inline constexpr int64_t maxIndexNumber = int64_t(1) << 40;

class Expr;
struct IndexNode;
struct Atom;
struct Term;

class Index {
public:
  Index(int64_t constant = 0);
  static Index iterator(unsigned number);
  /// An integer-valued expression used as an index: a gather.
  static Index data(Expr value);

  Index operator+(const Index &other) const;
  Index operator-(const Index &other) const;
  Index operator*(int64_t factor) const;
  /// Rounds towards minus infinity. `divisor` > 0.
  Index floorDiv(int64_t divisor) const;
  /// In [0, divisor). `divisor` > 0.
  Index mod(int64_t divisor) const;

  int64_t constantTerm() const;
  llvm::ArrayRef<Term> terms() const;

  bool isConstant() const { return terms().empty(); }
  /// The iterator's number if this is exactly one iterator, else -1.
  int asIterator() const;
  /// The factor of an iterator where it stands as a plain term (not inside a division), else 0.
  int64_t coefficientOf(unsigned iterator) const;
  /// Whether the iterator occurs anywhere, divisions and gathers included.
  bool uses(unsigned iterator) const;
  /// Whether all atoms are iterators.
  bool isAffine() const;
  /// Whether no atom, at any depth, reads data.
  bool isStatic() const;

  bool operator==(const Index &other) const { return compare(other) == 0; }
  /// A total order on structure.
  int compare(const Index &other) const;

  /// Calls `visit` on each data atom's expression, at any depth.
  void forEachData(llvm::function_ref<void(const Expr &)> visit) const;

private:
  explicit Index(std::shared_ptr<const IndexNode> node) : node(std::move(node)) {}
  static Index fromTerms(int64_t constant, std::vector<Term> terms);

  std::shared_ptr<const IndexNode> node;
};

/// Replaces iterator k by `replacements[k]` everywhere, gathers included: the substitution that
/// composes maps. To read C[j,i] where C[i,j] = B[2i,j], substitute (j,i) into (2i,j): B[2j,i].
Index substitute(const Index &index, llvm::ArrayRef<Index> replacements);
llvm::SmallVector<Index> substitute(llvm::ArrayRef<Index> map, llvm::ArrayRef<Index> replacements);

/// What an index can take on when iterator k ranges over `ranges[k]`. Conservative: never too
/// small. A data atom ranges over [-2^40, 2^40]: every tensor is smaller.
Interval rangeOf(const Index &index, llvm::ArrayRef<Interval> ranges);

/// An equal index with divisions and remainders removed or reduced where the ranges allow.
Index simplify(const Index &index, llvm::ArrayRef<Interval> ranges);

/// The row-major position of `coordinates` in a tensor of `shape`.
Index linearize(llvm::ArrayRef<Index> coordinates, llvm::ArrayRef<Extent> shape);
/// The coordinates in a tensor of `shape` of a row-major position.
llvm::SmallVector<Index> delinearize(const Index &position, llvm::ArrayRef<Extent> shape);

enum class AtomKind : uint8_t { Iterator, FloorDiv, Mod, Data };

struct Atom {
  AtomKind kind;
  unsigned iterator = 0;            ///< Iterator
  int64_t divisor = 0;              ///< FloorDiv, Mod
  Index operand;                    ///< FloorDiv, Mod
  std::shared_ptr<const Expr> data; ///< Data

  int compare(const Atom &other) const;
};

struct Term {
  int64_t factor;
  Atom atom;
};

struct IndexNode {
  int64_t constant = 0;
  llvm::SmallVector<Term, 2> terms;
};

} // namespace kintsugi::te

#endif // KINTSUGI_TE_INDEX_H
