//===- list.h - Every call, declared --------------------------------------===//
//
// A new call is one constant in a file of its family, one line here and one in registry.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_CALLS_LIST_H
#define KINTSUGI_CALLS_LIST_H

#include "calls/call.h"

namespace kintsugi::calls {

/// boxes [batches, boxes, 4], scores [batches, classes, boxes], and three scalars: how many a class
/// chooses at most (i64), the overlap above which a box is left out and, which may be missing, the
/// score that one has to exceed -> the chosen [chosen, 3] i64 (batch, class, box), as ONNX's
/// NonMaxSuppression, and their count. Attributes: "room", how many a class has room for, and
/// "center" (false): boxes are x, y, width, height rather than two corners.
extern const Call nonMaxSuppression;

/// x, of rank 1 or more -> the i64 coordinates [rank, found] of the elements that are not zero, in
/// order, as ONNX's NonZero, and their count.
extern const Call nonZero;

/// data, indices (i64), updates -> data with updates[i...] at data[indices[i..., :]], as ONNX's
/// ScatterND. Attribute "reduction": "none" (later updates win), "add", "mul", "max" or "min".
extern const Call scatterNd;

/// x -> the k greatest (least) elements along an axis and their i64 indices, as ONNX's TopK.
/// Attributes: "k", "axis" (-1), "largest" (true). The results are always sorted; of equal elements
/// the one with the lower index comes first, and NaN is greater than any number.
extern const Call topK;

/// x -> its different elements, or slices along "axis" where that is given; for each of them the
/// i64 place of its first occurrence; of each element (slice) of x which it is; how often each
/// occurs, as ONNX's Unique; and their count. They are in ascending order, NaN behind all numbers
/// and equal to itself, or with "sorted" false in that of occurrence.
extern const Call unique;

} // namespace kintsugi::calls

#endif // KINTSUGI_CALLS_LIST_H
