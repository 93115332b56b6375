//===- mask_values.h - What a region's mask says of each element ------------===//
#ifndef KINTSUGI_DERIVE_MASK_VALUES_H
#define KINTSUGI_DERIVE_MASK_VALUES_H

#include "derive/block_mask.h"
#include "derive/masked_region.h"

namespace kintsugi::derive {

/// nullopt where a constant's bytes are not at hand, where the mask is too large to look at, or
/// where it has NaNs.
std::optional<Mask> maskOf(const MaskedRegion &region, const te::Program &program);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_MASK_VALUES_H
