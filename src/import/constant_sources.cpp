//===- constant_sources.cpp - Where a model's constants come from ------------===//

#include "import/constant_sources.h"

#include "base/hash.h"

#include <cstring>
#include <mutex>

namespace kintsugi::import {
namespace {

class BytesSource final : public te::ConstantSource {
public:
  BytesSource(Bytes data, ElementType type) : data(std::move(data)), type(type) {}

  Status load(std::byte *destination) const override {
    if (!data.view.empty())
      std::memcpy(destination, data.view.data(), data.view.size());
    return Status::success();
  }

  /// Null where the bytes are not aligned for their type: a field of a protocol buffer may stand
  /// anywhere.
  const std::byte *bytes() const override {
    size_t alignment = std::max<size_t>(1, bitsOf(type) / 8);
    bool aligned = reinterpret_cast<uintptr_t>(data.view.data()) % alignment == 0;
    return aligned ? data.view.data() : nullptr;
  }

  std::string identity() const override {
    std::call_once(hashed, [&] { digest = blake3(data.view).hex(); });
    return "blake3:" + digest;
  }

private:
  Bytes data;
  ElementType type;
  mutable std::once_flag hashed;
  mutable std::string digest;
};

Bytes normalizedBooleans(Bytes bytes) {
  auto isBoolean = [](std::byte value) { return value <= std::byte(1); };
  if (std::all_of(bytes.view.begin(), bytes.view.end(), isBoolean))
    return bytes;
  auto copy = std::make_shared<std::vector<std::byte>>(bytes.view.begin(), bytes.view.end());
  for (std::byte &value : *copy)
    value = std::byte(value != std::byte(0));
  return {copy, *copy};
}

} // namespace

std::shared_ptr<const te::ConstantSource> sourceOf(Bytes bytes, ElementType type) {
  if (type == ElementType::Bool)
    bytes = normalizedBooleans(std::move(bytes));
  return std::make_shared<BytesSource>(std::move(bytes), type);
}

} // namespace kintsugi::import
