//===- mask_scan.h - What a mask hides, by blocks and by bits ---------------===//
//
// A mask that is added to the scores of a softmax hides a column of a row where it is minus
// infinity or about the lowest number. The tables that hidden_blocks.h puts into the program are
// made of it row by row, so that the mask need not stand in memory as a whole.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_MASK_SCAN_H
#define KINTSUGI_DERIVE_MASK_SCAN_H

#include <cstdint>
#include <vector>

namespace kintsugi::derive {

class MaskScan {
public:
  /// Of rows and of columns: a block's.
  static constexpr int64_t blockSize = 64;

  /// `rows`: that share blocks, before others begin.
  MaskScan(int64_t rows, int64_t columns);

  void add(const double *row);

  /// The share of blocks that no row of them is shown in.
  double hidden() const;

  /// What hidden() is at most when there are so many rows.
  double mostHidden(int64_t all) const;

  int64_t rows, columns, across;
  /// By blocks of rows and of columns. Where one of its rows is hidden as a whole, a block of rows
  /// is open everywhere.
  std::vector<bool> open;
  /// By rows and blocks of columns, a bit of each column that is shown.
  std::vector<uint64_t> words;
  bool isZero = true;
  bool isBinary = true;   ///< Zeros and what hides, but no row is hidden as a whole.
  bool isInfinite = true; ///< All that hides is minus infinity.
  int64_t lastFirst = 0;  ///< The last of the columns at which rows begin to be shown.

private:
  int64_t number = 0;
  bool isOneHidden = false; ///< Of the rows that share the newest blocks.
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_MASK_SCAN_H
