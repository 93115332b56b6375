//===- alike_rows.h - Rows of a constant factor that are multiples of others -===//
//
// Along one row iterator of a factor, elements may repeat (rows that were copied), or all rows may
// be multiples of one (a constant that is the outer product of two, or the same everywhere). What
// is summed with such rows is summed once for all of them.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_ALIKE_ROWS_H
#define KINTSUGI_DERIVE_ALIKE_ROWS_H

#include "derive/factor_elements.h"

#include <optional>

namespace kintsugi::derive {

/// The rows of a factor at each point of one row iterator, whatever the other iterators are.
struct AlikeRows {
  std::vector<int32_t> firsts;  ///< Points of which no other's rows are multiples.
  std::vector<int32_t> classes; ///< By point: which of these it is like,
  std::vector<double> times;    ///< and how many times as large; empty: 1 for all.
};

/// nullopt where more than half of the rows differ: a few elements of each are looked at first.
/// `data`: the constant's bytes. What is looked at in full is taken from `budget`, in elements.
std::optional<AlikeRows> alikeRowsOf(const FactorElements &elements, unsigned rowIterator,
                                     const std::byte *data, int64_t &budget);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_ALIKE_ROWS_H
