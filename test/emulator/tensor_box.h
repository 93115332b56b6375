//===- tensor_box.h - Boxes of tensors that are copied in bulk --------------===//
#ifndef KINTSUGI_TEST_EMULATOR_TENSOR_BOX_H
#define KINTSUGI_TEST_EMULATOR_TENSOR_BOX_H

#include <array>
#include <cstdint>

namespace kintsugi::emulator {

/// As the driver encodes it here.
struct TensorMap {
  static constexpr uint32_t isOne = 0x4B4D4150;

  uint32_t mark = isOne;
  uint8_t rank = 0, elementBytes = 0, swizzle = 0, unused = 0;
  uint64_t start = 0;
  std::array<uint64_t, 5> extents{};
  std::array<uint64_t, 4> strides{}; ///< Of all dimensions but the first.
  std::array<uint16_t, 5> box{};
  std::array<uint8_t, 5> steps{};

  uint32_t countOf(unsigned d) const { return (box[d] + steps[d] - 1u) / steps[d]; }
  uint32_t boxBytes() const;
  /// Whether lines from this coordinate of the first dimension on begin inside of the tensor, and
  /// not with whole 16 bytes: an H200 calls the instruction illegal.
  bool beginsAmidChunk(int64_t first) const {
    return first > 0 && uint64_t(first) < extents[0] && first * elementBytes % 16 != 0;
  }
};
static_assert(sizeof(TensorMap) <= 128);

/// The place of a byte where chunks of 16 bytes of lines of 32, 64 or 128 (mode 1, 2 and 3) have
/// turned places.
inline uint32_t turned(uint32_t address, unsigned mode) {
  return address ^ ((address >> 7 & ((1u << mode) - 1)) << 4);
}

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_TENSOR_BOX_H
