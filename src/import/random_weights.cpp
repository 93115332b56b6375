//===- random_weights.cpp - Weights and feeds made from names ----------------===//

#include "import/random_weights.h"

#include "base/checked.h"

#include <cmath>

namespace kintsugi::import {
namespace {

constexpr uint64_t golden = 0x9E3779B97F4A7C15;

uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (unsigned char byte : text)
    hash = (hash ^ byte) * 0x100000001B3;
  return hash;
}

/// The draw of element `i`, in [0, 1).
float uniform(uint64_t seed, uint64_t i) {
  uint64_t z = (i + 1) * golden + seed;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  return static_cast<float>(z >> 40) * 0x1p-24f;
}

class RandomWeight final : public te::ConstantSource {
public:
  RandomWeight(std::string name, ElementType type, std::vector<int64_t> shape, int64_t count)
      : name(std::move(name)), type(type), shape(std::move(shape)), count(count) {}

  Status load(std::byte *destination) const override {
    if (count == 0)
      return Status::success();
    uint64_t seed = fnv1a64(name);
    bool isScale = shape.size() < 2;
    float factor = isScale ? 1 : static_cast<float>(std::sqrt(12.0 / fan()));
    float shift = isScale ? 0.5f : -0.5f;
    std::span<std::byte> bytes(destination, *bytesOf(type, count));
    for (int64_t i = 0; i < count; ++i) {
      float value = (uniform(seed, i) + shift) * factor;
      if (type == ElementType::F32)
        reinterpret_cast<float *>(destination)[i] = value;
      else
        storeDouble(type, bytes, i, value);
    }
    return Status::success();
  }

  std::string identity() const override {
    return "random:" + name + ":" + std::string(nameOf(type)) + shapeString(shape);
  }

private:
  double fan() const {
    if (shape.size() == 2)
      return std::sqrt(static_cast<double>(count)) / 4;
    return shape[0] == 1 ? shape.back() : count / shape[0];
  }

  std::string name;
  ElementType type;
  std::vector<int64_t> shape;
  int64_t count;
};

} // namespace

Expected<std::shared_ptr<const te::ConstantSource>>
randomWeight(const std::string &name, ElementType type, std::vector<int64_t> shape) {
  if (type != ElementType::F16 && type != ElementType::F32 && type != ElementType::F64)
    return inputError("there is no rule for random weights of type " + std::string(nameOf(type)));
  auto count = elementCount(shape);
  if (!count || !bytesOf(type, *count))
    return inputError("the shape " + shapeString(shape) + " is too large");
  std::shared_ptr<const te::ConstantSource> source =
      std::make_shared<RandomWeight>(name, type, std::move(shape), *count);
  return source;
}

Expected<Tensor> randomFeed(const std::string &name, ElementType type, std::vector<int64_t> shape,
                            std::string_view salt, float scale) {
  if (!isFloat(type) && !isInteger(type) && type != ElementType::Bool)
    return inputError("there is no rule for a random feed of type " + std::string(nameOf(type)));
  KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(type, std::move(shape)));
  uint64_t seed = fnv1a64(name + std::string(salt));
  const float factor = static_cast<float>(std::sqrt(12.0)) * scale;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    float u = uniform(seed, i);
    if (isFloat(type))
      storeDouble(type, tensor.bytes(), i, (u - 0.5f) * factor);
    else if (type == ElementType::Bool)
      storeInteger(type, tensor.bytes(), i, u < 0.5f);
    else
      storeInteger(type, tensor.bytes(), i, static_cast<int64_t>(u * 100.0f));
  }
  return tensor;
}

} // namespace kintsugi::import
