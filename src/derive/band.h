//===- band.h - Products along a band ------------------------------------------===//
//
// In a product with a band each row meets a window of rows of the other factor, its own; with a
// dilation, rows that are so far apart (EinNet, Zheng et al. 2023: G2BMM and GBMM of LongFormer).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_BAND_H
#define KINTSUGI_DERIVE_BAND_H

#include "te/program.h"

namespace kintsugi::derive {

/// A factor's read moves by `each` * rows + `each` * `step` * window along one dimension.
struct Band {
  unsigned rows = 0;   ///< A parallel iterator.
  unsigned window = 0; ///< An iterator, summed or not.
  unsigned factor = 0; ///< The one that has the band.
  int64_t each = 1, step = 1;
};

/// The band of a sum of products of two reads; nullopt where there is none.
std::optional<Band> findBand(const te::Definition &definition);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_BAND_H
