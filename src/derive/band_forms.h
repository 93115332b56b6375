//===- band_forms.h - What a product along a band can be instead ----------------===//
#ifndef KINTSUGI_DERIVE_BAND_FORMS_H
#define KINTSUGI_DERIVE_BAND_FORMS_H

#include "derive/band.h"
#include "simplify/rebuild.h"

namespace kintsugi::derive {

/// The product of blocks of so many rows, and what it is for, in place of an old node.
void writeBlocks(simplify::Rebuilder &out, uint32_t node, const Band &band, int64_t rows);

/// Whether phases of the banded factor are anything else than the factor.
bool hasPhases(const te::Definition &definition, const Band &band);

/// Where the copy of a banded factor has its rows.
enum class RowsOfCopy : uint8_t { InPlace, Last };

/// The same sum for each phase of the dilation, whose rows are next to each other, in place of an
/// old node, and before it the banded factor by phases, with what stands outside of it:
///     s[m, w] = sum[k] q[m, k] * x[m + d*w, k]
///   =>  x'[r, j, k] = x[r + d*j, k],  p[r, i, w] = sum[k] q[r + d*i, k] * x'[r, i + w, k],
///       s[m, w] = p[m%d, m//d, w]
void writePhases(simplify::Rebuilder &out, uint32_t node, const Band &band, RowsOfCopy order);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_BAND_FORMS_H
