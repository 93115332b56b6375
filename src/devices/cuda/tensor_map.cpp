//===- tensor_map.cpp - Operands as the bulk tensor engine sees them ------===//

#include "devices/cuda/tensor_map.h"

#include <cstring>
#include <optional>

using namespace kintsugi;
using namespace kintsugi::devices::cuda;

/// Of what a driver calls CUtensorMapDataType and so on.
static constexpr int twoBytes = 1, notInterleaved = 0, promotedTo128Bytes = 2, zeros = 0;

/// The number of the driver's for chunks of 16 bytes that have turned places in such lines.
static std::optional<int> turnOf(uint64_t lineBytes) {
  switch (lineBytes) {
  case 32:
    return 1;
  case 64:
    return 2;
  case 128:
    return 3;
  }
  return std::nullopt;
}

/// Bytes from the map's start to behind its last element; nothing where they are not countable.
static std::optional<uint64_t> reachOf(const KinTensorMap &map) {
  uint64_t reach = KIN_TENSOR_ELEMENT_BYTES;
  for (unsigned d = 0; d < map.rank; ++d) {
    uint64_t further;
    if (__builtin_mul_overflow(map.extents[d] - 1, map.strides[d], &further) ||
        __builtin_add_overflow(reach, further, &reach))
      return std::nullopt;
  }
  return reach;
}

static uint64_t boxBytes(const KinTensorMap &map) {
  uint64_t bytes = KIN_TENSOR_ELEMENT_BYTES;
  for (unsigned d = 0; d < map.rank; ++d)
    bytes *= (map.box[d] + map.steps[d] - 1) / map.steps[d]; // 256 at most, and five of them.
  return bytes;
}

static bool isDimension(const KinTensorMap &map, unsigned d) {
  constexpr uint64_t mostStride = uint64_t(1) << 40, mostExtent = uint64_t(1) << 32;
  uint64_t extent = map.extents[d], stride = map.strides[d];
  bool isSpaced = d == 0 ? stride == KIN_TENSOR_ELEMENT_BYTES
                         : stride > 0 && stride < mostStride && stride % KIN_TENSOR_ALIGNMENT == 0;
  bool isStep = map.steps[d] >= 1 && map.steps[d] <= (d == 0 ? 1 : KIN_TENSOR_MAX_STEP);
  return extent >= 1 && extent <= mostExtent && isSpaced && isStep && map.box[d] >= 1 &&
         map.box[d] <= KIN_TENSOR_MAX_BOX;
}

Status devices::cuda::checkMap(const KinTensorMap &map, uint64_t operandBytes,
                               uint64_t scratchBytes) {
  bool isMap = map.rank >= 1 && map.rank <= KIN_TENSOR_RANK && turnOf(map.line_bytes) &&
               uint64_t(map.box[0]) * KIN_TENSOR_ELEMENT_BYTES == map.line_bytes &&
               map.start % KIN_TENSOR_ALIGNMENT == 0;
  for (unsigned d = 0; isMap && d < map.rank; ++d)
    isMap = isDimension(map, d);
  if (!isMap)
    return inputError("has a tensor map that no device knows");
  std::optional<uint64_t> reach = reachOf(map);
  if (!reach || map.start > operandBytes || *reach > operandBytes - map.start)
    return inputError("has a tensor map that reaches past the end of its operand");
  if (boxBytes(map) > scratchBytes)
    return inputError("has a tensor map whose boxes have no room");
  return Status::success();
}

Status devices::cuda::encodeMap(const Driver &driver, const KinTensorMap &map, Address operand,
                                EncodedMap &encoded) {
  return driver.check(driver.encodeMap(&encoded, twoBytes, map.rank, operand + map.start,
                                       map.extents, map.strides + 1, map.box, map.steps,
                                       notInterleaved, *turnOf(map.line_bytes), promotedTo128Bytes,
                                       zeros),
                      "describe an operand to the device");
}
