//===- sparse.h - Sparse tensors made dense ----------------------------------===//
#ifndef KINTSUGI_IMPORT_SPARSE_H
#define KINTSUGI_IMPORT_SPARSE_H

#include "base/tensor.h"
#include "import/onnx_model.h"

namespace kintsugi::import {

/// The values at their positions, zero elsewhere. Positions are linear ([n]) or one row of
/// coordinates each ([n, rank]). An input error where they are malformed, outside, or external.
Expected<Tensor> denseOf(const SparseTensor &sparse);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_SPARSE_H
