//===- aligned_reads.h - Two sums that read the same elements -----------------===//
//
// A window of one tap reads what the middle tap of a larger window reads. Of two sums over windows
// of one value this finds which terms of the one are at the same places as those of the other.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_ALIGNED_READS_H
#define KINTSUGI_DERIVE_ALIGNED_READS_H

#include "te/program.h"

namespace kintsugi::derive {

/// The iterators of a reduction: those from `first` on.
struct Terms {
  unsigned first;
  llvm::ArrayRef<te::Iterator> iterators;
};

/// Which terms of a sum those of another one are. All of the other's are terms of the first.
struct Alignment {
  /// For each iterator of the first sum's terms: the other's, or none, so that
  ///     iterator = each * other + offset.
  struct Place {
    int other = -1;
    int64_t each = 1, offset = 0;
  };
  llvm::SmallVector<Place, 3> places;

  /// Of the other sum's iterators, those at a term of the first: iterators from `first.first` on.
  /// Those of terms that the other sum has not are anything.
  llvm::SmallVector<te::Index> othersAt(const Terms &first, const Terms &other) const;
  /// Whether a term of the first sum is one of the other's; nullopt: all are.
  std::optional<te::Expr> isOfOther(const Terms &first, const Terms &other) const;
};

/// Two reads of the same value, or of what moves alone made of it, over iterators of which those
/// below each one's terms mean the same; nullopt where they are not aligned.
std::optional<Alignment> alignmentOf(const te::Expr &read, const Terms &terms,
                                     const te::Expr &other, const Terms &ofOther);

/// A read of what a value was moved from (a padding with zeros, a transpose, a slice), if any.
te::Expr readThroughMoves(const te::Expr &read, const te::Program &program);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_ALIGNED_READS_H
