//===- tensor_map.h - Operands as the bulk tensor engine sees them --------===//
#ifndef KINTSUGI_DEVICES_CUDA_TENSOR_MAP_H
#define KINTSUGI_DEVICES_CUDA_TENSOR_MAP_H

#include "abi/tensor_map.h"
#include "devices/cuda/driver.h"

namespace kintsugi::devices::cuda {

/// What the driver makes of a tensor map: a parameter of a kernel.
struct alignas(64) EncodedMap {
  std::byte bytes[128];
};

/// Whether a map from an artifact is one, of no bytes outside of an operand of so many, whose boxes
/// have room in so many of a block's.
Status checkMap(const KinTensorMap &map, uint64_t operandBytes, uint64_t scratchBytes);

/// For a kernel whose operand is there.
Status encodeMap(const Driver &driver, const KinTensorMap &map, Address operand,
                 EncodedMap &encoded);

} // namespace kintsugi::devices::cuda

#endif // KINTSUGI_DEVICES_CUDA_TENSOR_MAP_H
