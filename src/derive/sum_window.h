//===- sum_window.h - The terms of a sum that a constant leaves -------------===//
//
// Of one summed iterator, each row of a constant factor needs no more than some steps from a start
// on:
//
//     k = start(row) + step * j,  j < count
//
// A start that follows from the row keeps indices that schedules know: the same for all rows
// (windows padded with zeros), a sum of multiples of the row's iterators (diagonals, bands, what
// selects every second), the block that the row is in (blocks along a diagonal), its place in a
// block (the same, interleaved), or a digit of it (what takes an image apart). Any other start is a
// table by row (permutations, one-hot rows); and where a row's nonzeros lie apart, all its k are.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_SUM_WINDOW_H
#define KINTSUGI_DERIVE_SUM_WINDOW_H

#include "te/program.h"
#include "llvm/ADT/BitVector.h"

namespace kintsugi::derive {

/// For each row, at which points of one summed iterator a factor is not zero, whatever the other
/// summed iterators are.
struct Support {
  int64_t rows = 0, extent = 0;
  llvm::BitVector bits; ///< [rows, extent]

  Support(int64_t rows, int64_t extent)
      : rows(rows), extent(extent), bits(unsigned(rows * extent)) {}

  void add(int64_t row, int64_t point) { bits.set(unsigned(row * extent + point)); }
  bool has(int64_t row, int64_t point) const { return bits.test(unsigned(row * extent + point)); }
  void forEach(int64_t row, llvm::function_ref<void(int64_t point)> visit) const {
    unsigned first = row * extent, end = first + extent;
    for (int at = bits.find_first_in(first, end); at >= 0; at = bits.find_first_in(at + 1, end))
      visit(at - first);
  }
};

struct SumWindow {
  te::Index start; ///< Over the row's iterators, without a table.
  int64_t step = 1, count = 0;
  std::vector<int32_t> table; ///< [rows], of starts, or [rows, count], of all k; empty: none.
  bool listsAll = false;      ///< The table is of all k.
  /// A row iterator that is to become two, the block and the place in it of this many.
  struct Split {
    unsigned row;
    int64_t size;
  };
  std::optional<Split> split;
  bool leaves = false; ///< Some rows have k outside of the iterator's range, to be zeros.

  /// Where the row of this number starts, whose iterators are at `row`.
  int64_t startAt(llvm::ArrayRef<int64_t> row, int64_t number) const;
};

/// The window of fewest steps, which is all of the iterator's range where nothing is better. Tables
/// are for what leaves much less. `rows` are the extents of the row's iterators.
SumWindow windowOf(const Support &support, llvm::ArrayRef<int64_t> rows);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SUM_WINDOW_H
