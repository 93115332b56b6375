//===- gather.h - What reads and writes at positions have in common ----------===//
#ifndef KINTSUGI_IMPORT_OPS_GATHER_H
#define KINTSUGI_IMPORT_OPS_GATHER_H

#include "import/op_context.h"

namespace kintsugi::import {

/// Positions in several dimensions, of these extents, side by side in the last dimension of a
/// tensor: as OpContext::requirePositions.
Status requireTuples(OpContext &c, ValueId positions, Dims extents);

/// The slices of x along an axis of which a row of booleans, computed or known, says so.
Expected<ValueId> slicesWhere(OpContext &c, std::string name, ValueId x, unsigned axis,
                              ValueId flags);

/// The i64 coordinates [rank, found] of the elements that are not zero, as ONNX's NonZero.
Expected<ValueId> nonZeros(OpContext &c, std::string name, ValueId x);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_GATHER_H
