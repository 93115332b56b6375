//===- sparse.cpp - Sparse tensors made dense --------------------------------===//

#include "import/sparse.h"

#include "base/checked.h"

namespace kintsugi::import {

Expected<Tensor> denseOf(const SparseTensor &sparse) {
  const TensorData &values = sparse.values, &indices = sparse.indices;
  if (values.external || indices.external || values.type == ElementType::Str ||
      indices.type != ElementType::I64)
    return inputError("a sparse tensor must hold its values and 64-bit indices itself");
  KINTSUGI_ASSIGN(Tensor dense, Tensor::create(values.type, sparse.dims));
  TensorView from{values.type, values.dims, values.bytes.view};
  TensorView positions{indices.type, indices.dims, indices.bytes.view};
  int64_t count = from.count(), rank = sparse.dims.size();
  bool linear = indices.dims == std::vector{count};
  if (values.dims.size() != 1 || (!linear && indices.dims != std::vector{count, rank}) ||
      bitsOf(values.type) > 64)
    return inputError("a sparse tensor's values " + shapeString(values.dims) + " and indices " +
                      shapeString(indices.dims) + " don't match");
  for (int64_t k = 0; k < count; ++k) {
    int64_t position = linear ? loadInteger(positions, k) : 0;
    bool inside = position >= 0 && position < dense.count();
    for (int64_t d = 0; !linear && d < rank; ++d) {
      int64_t coordinate = loadInteger(positions, k * rank + d);
      inside &= coordinate >= 0 && coordinate < sparse.dims[d];
      position = inside ? position * sparse.dims[d] + coordinate : 0;
    }
    if (!inside)
      return inputError("a sparse tensor has a value outside of its shape " +
                        shapeString(sparse.dims));
    storeBits(values.type, dense.bytes(), position, loadBits(from, k));
  }
  return dense;
}

} // namespace kintsugi::import
