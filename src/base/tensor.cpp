//===- tensor.cpp - A tensor in host memory -------------------------------===//

#include "base/tensor.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/mman.h>

using namespace kintsugi;

static_assert(std::endian::native == std::endian::little, "tensors are little-endian in memory");

void Tensor::Free::operator()(std::byte *memory) const { std::free(memory); }

/// Large tensors ask for large pages: one that is walked across has a page for each step.
static std::byte *zeroed(size_t bytes) {
  constexpr size_t hugePage = size_t(2) << 20;
  bool isLarge = bytes >= 2 * hugePage;
  size_t alignment = isLarge ? hugePage : tensorAlignment;
  size_t allocated = (bytes + alignment - 1) / alignment * alignment;
  void *data = std::aligned_alloc(alignment, allocated);
  if (!data)
    return nullptr;
  if (isLarge)
    madvise(data, allocated, MADV_HUGEPAGE); // A hint, which a kernel may refuse.
  std::memset(data, 0, bytes);
  return static_cast<std::byte *>(data);
}

Expected<Tensor> Tensor::create(ElementType type, std::vector<int64_t> shape) {
  auto described = [&] { return std::string(nameOf(type)) + " tensor " + shapeString(shape); };
  std::optional<int64_t> count = elementCount(shape);
  std::optional<int64_t> size = type == ElementType::Str ? 0 : bytesOf(type, shape);
  if (!count || !size || type == ElementType::Invalid)
    return inputError(described() + " has no valid size");
  Tensor tensor;
  tensor.elementType = type;
  tensor.elements = *count;
  tensor.size = static_cast<size_t>(*size);
  if (type == ElementType::Str) {
    try {
      tensor.text.resize(static_cast<size_t>(*count));
    } catch (const std::exception &) { // bad_alloc or length_error
      return machineError("not enough memory for a " + described());
    }
  } else if (std::optional<int64_t> rounded = checkedAlignUp(*size, tensorAlignment)) {
    // Zero bytes still get an address, so that a pointer to them is never null.
    size_t allocated = std::max<size_t>(*rounded, tensorAlignment);
    tensor.data.reset(zeroed(allocated));
  }
  if (type != ElementType::Str && !tensor.data)
    return machineError("not enough memory for a " + described());
  tensor.extents = std::move(shape);
  return tensor;
}

Expected<Tensor> Tensor::copyOf(TensorView view) {
  KINTSUGI_ASSIGN(Tensor tensor, create(view.type, {view.shape.begin(), view.shape.end()}));
  if (view.bytes.size() != tensor.size)
    return inputError(std::string(nameOf(view.type)) + " tensor " + shapeString(view.shape) +
                      " takes " + std::to_string(tensor.size) + " bytes, not " +
                      std::to_string(view.bytes.size()));
  if (tensor.size != 0)
    std::memcpy(tensor.data.get(), view.bytes.data(), tensor.size);
  return tensor;
}

Expected<Tensor> Tensor::fromStrings(std::vector<int64_t> shape, std::vector<std::string> values) {
  std::optional<int64_t> count = elementCount(shape);
  if (!count || static_cast<uint64_t>(*count) != values.size())
    return inputError(std::to_string(values.size()) + " strings do not fill a tensor of shape " +
                      shapeString(shape));
  Tensor tensor;
  tensor.elementType = ElementType::Str;
  tensor.extents = std::move(shape);
  tensor.elements = *count;
  tensor.text = std::move(values);
  return tensor;
}

Expected<Tensor> Tensor::clone() const {
  return elementType == ElementType::Str ? fromStrings(extents, text) : copyOf(view());
}

Status Tensor::reshape(std::vector<int64_t> shape) {
  if (elementCount(shape) != elements)
    return inputError("a tensor of shape " + shapeString(extents) + " can't take the shape " +
                      shapeString(shape));
  extents = std::move(shape);
  return Status::success();
}

/// The element at an index, of a width that the compiler knows.
template <typename T> static uint64_t loadWord(const std::byte *address, int64_t index) {
  T word;
  std::memcpy(&word, address + index * sizeof(T), sizeof(T));
  return word;
}

uint64_t kintsugi::loadBits(TensorView tensor, int64_t index) {
  uint32_t bits = bitsOf(tensor.type);
  switch (bits) {
  case 8:
    return loadWord<uint8_t>(tensor.bytes.data(), index);
  case 16:
    return loadWord<uint16_t>(tensor.bytes.data(), index);
  case 32:
    return loadWord<uint32_t>(tensor.bytes.data(), index);
  case 64:
    return loadWord<uint64_t>(tensor.bytes.data(), index);
  }
  assert(bits >= 2 && bits < 8);
  uint64_t at = static_cast<uint64_t>(index) * bits;
  uint64_t word = static_cast<uint64_t>(tensor.bytes[at / 8]);
  if (at % 8 + bits > 8)
    word |= static_cast<uint64_t>(tensor.bytes[at / 8 + 1]) << 8;
  return word >> at % 8 & ((1u << bits) - 1);
}

void kintsugi::storeBits(ElementType type, std::span<std::byte> bytes, int64_t index,
                         uint64_t value) {
  uint32_t bits = bitsOf(type);
  assert(bits >= 2 && bits <= 64);
  if (bits % 8 == 0) {
    std::memcpy(bytes.data() + index * (bits / 8), &value, bits / 8);
    return;
  }
  uint64_t at = static_cast<uint64_t>(index) * bits;
  uint32_t mask = ((1u << bits) - 1) << at % 8;
  uint32_t placed = static_cast<uint32_t>(value) << at % 8 & mask;
  bytes[at / 8] = (bytes[at / 8] & ~std::byte(mask)) | std::byte(placed);
  if (at % 8 + bits > 8)
    bytes[at / 8 + 1] = (bytes[at / 8 + 1] & ~std::byte(mask >> 8)) | std::byte(placed >> 8);
}

/// Reads the low `bits` bits as two's complement.
static int64_t signExtend(uint64_t word, uint32_t bits) {
  uint32_t unused = 64 - bits;
  return static_cast<int64_t>(word << unused) >> unused;
}

int64_t kintsugi::loadInteger(TensorView tensor, int64_t index) {
  assert(isInteger(tensor.type) || tensor.type == ElementType::Bool);
  uint64_t word = loadBits(tensor, index);
  return isSigned(tensor.type) ? signExtend(word, bitsOf(tensor.type)) : static_cast<int64_t>(word);
}

double kintsugi::loadDouble(TensorView tensor, int64_t index) {
  if (tensor.type == ElementType::F32) // By far the most common.
    return std::bit_cast<float>(
        static_cast<uint32_t>(loadWord<uint32_t>(tensor.bytes.data(), index)));
  uint64_t word = loadBits(tensor, index);
  if (isFloat(tensor.type))
    return decodeFloat(tensor.type, word);
  assert(isInteger(tensor.type) || tensor.type == ElementType::Bool);
  return isSigned(tensor.type) ? static_cast<double>(signExtend(word, bitsOf(tensor.type)))
                               : static_cast<double>(word);
}

/// Truncates toward zero and clamps to what `type` holds.
static uint64_t integerFrom(ElementType type, double value) {
  if (value != value)
    return 0;
  int bits = static_cast<int>(bitsOf(type));
  double limit = detail::powerOfTwo(isSigned(type) ? bits - 1 : bits);
  uint64_t largest = ~uint64_t(0) >> (64 - bits + (isSigned(type) ? 1 : 0));
  if (value >= limit)
    return largest;
  if (value < 0)
    return !isSigned(type) ? 0 : value <= -limit ? ~largest : static_cast<uint64_t>(int64_t(value));
  return static_cast<uint64_t>(value);
}

void kintsugi::storeDouble(ElementType type, std::span<std::byte> bytes, int64_t index,
                           double value) {
  assert(isFloat(type) || isInteger(type) || type == ElementType::Bool);
  uint64_t bits = isFloat(type)               ? encodeFloat(type, value)
                  : type == ElementType::Bool ? uint64_t(value != 0)
                                              : integerFrom(type, value);
  storeBits(type, bytes, index, bits);
}

void kintsugi::storeInteger(ElementType type, std::span<std::byte> bytes, int64_t index,
                            int64_t value) {
  assert(isFloat(type) || isInteger(type) || type == ElementType::Bool);
  uint64_t bits = isFloat(type)               ? encodeFloat(type, static_cast<double>(value))
                  : type == ElementType::Bool ? uint64_t(value != 0)
                                              : static_cast<uint64_t>(value);
  storeBits(type, bytes, index, bits);
}

std::string kintsugi::shapeString(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}
