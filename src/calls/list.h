//===- list.h - Every call, declared --------------------------------------===//
//
// A new call is one constant in a file of its family, one line here and one in registry.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_CALLS_LIST_H
#define KINTSUGI_CALLS_LIST_H

#include "calls/call.h"

namespace kintsugi::calls {

/// data, indices (i64), updates -> data with updates[i...] at data[indices[i..., :]], as ONNX's
/// ScatterND. Attribute "reduction": "none" (later updates win), "add", "mul", "max" or "min".
extern const Call scatterNd;

/// x -> the k greatest (least) elements along an axis and their i64 indices, as ONNX's TopK.
/// Attributes: "k", "axis" (-1), "largest" (true). The results are always sorted; of equal elements
/// the one with the lower index comes first, and NaN is greater than any number.
extern const Call topK;

} // namespace kintsugi::calls

#endif // KINTSUGI_CALLS_LIST_H
