#include "te/exact_tensor.h"

#include "te/syntax.h"

namespace kintsugi::te {

Expected<ExactTensor> ExactTensor::create(ElementType type, std::vector<int64_t> shape) {
  if (!hasLiterals(type))
    return inputError("elements of type " + std::string(nameOf(type)) + " can't be computed with");
  auto count = elementCount(shape);
  if (!count || *count > maxElements)
    return machineError("a tensor of shape " + shapeString(shape) +
                        " is too large to be interpreted; compile it instead");
  ExactTensor result{type, std::move(shape), {}, {}};
  if (isFloat(type))
    result.floats.resize(*count);
  else
    result.integers.resize(*count);
  return result;
}

Expected<ExactTensor> ExactTensor::from(TensorView tensor) {
  KINTSUGI_ASSIGN(
      ExactTensor result,
      create(tensor.type, std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end())));
  for (size_t i = 0; i < result.floats.size(); ++i)
    result.floats[i] = loadDouble(tensor, i);
  for (size_t i = 0; i < result.integers.size(); ++i)
    result.integers[i] = loadInteger(tensor, i);
  return result;
}

ExactTensor ExactTensor::first(int64_t extent, unsigned dimension) const {
  ExactTensor result{type, shape, {}, {}};
  result.shape[dimension] = extent;
  int64_t inner = 1;
  for (int64_t below : std::span(shape).subspan(dimension + 1))
    inner *= below;
  int64_t row = shape[dimension] * inner, kept = extent * inner;
  auto copy = [&](const auto &from, auto &to) {
    for (size_t start = 0; start < from.size(); start += row)
      to.insert(to.end(), from.begin() + start, from.begin() + start + kept);
  };
  copy(floats, result.floats);
  copy(integers, result.integers);
  return result;
}

Expected<Tensor> ExactTensor::rounded() const {
  KINTSUGI_ASSIGN(Tensor result, Tensor::create(type, shape));
  for (size_t i = 0; i < floats.size(); ++i)
    storeDouble(type, result.bytes(), i, floats[i]);
  for (size_t i = 0; i < integers.size(); ++i)
    storeInteger(type, result.bytes(), i, integers[i]);
  return result;
}

} // namespace kintsugi::te
