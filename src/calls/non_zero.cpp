//===- non_zero.cpp - Where elements are not zero --------------------------===//

#include "calls/checks.h"
#include "calls/element_order.h"
#include "calls/list.h"

#include <algorithm>

using namespace kintsugi;
using namespace kintsugi::calls;

static Expected<std::vector<ResultType>> infer(std::span<const TensorType> operands, const Json &) {
  KINTSUGI_RETURN_IF_ERROR(expectOperands(operands, 1));
  const TensorType &x = operands[0];
  if (!isOrdered(x.type) || isStorageOnly(x.type))
    return inputError("can't tell which elements of type " + std::string(nameOf(x.type)) +
                      " are zero");
  if (x.shape.empty())
    return inputError("needs a tensor of rank 1 or more");
  std::optional<int64_t> bound = elementCount(x.shape);
  if (!bound)
    return inputError("the operand is too large");
  return std::vector<ResultType>{{{ElementType::I64, {int64_t(x.shape.size()), *bound}},
                                  {{1, 1}},
                                  *std::ranges::max_element(x.shape)},
                                 {{ElementType::I64, {}}, {}, *bound + 1}};
}

/// A zero may have a sign.
template <typename Bits>
static void findPlaces(TensorView x, std::span<const int64_t> strides,
                       std::span<const ResultView> results) {
  constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  const Bits mask = isFloat(x.type) ? Bits(~sign) : Bits(~Bits(0));
  auto *places = reinterpret_cast<int64_t *>(results[0].bytes.data());
  int64_t bound = results[0].shape[1], found = 0;
  std::span<const Bits> elements = x.as<Bits>();
  for (int64_t e = 0; e < bound; ++e) {
    if ((elements[e] & mask) == 0)
      continue;
    int64_t rest = e;
    for (size_t d = 0; d < strides.size(); ++d) {
      places[int64_t(d) * bound + found] = rest / strides[d];
      rest %= strides[d];
    }
    ++found;
  }
  for (size_t d = 0; d < strides.size(); ++d)
    std::fill(places + int64_t(d) * bound + found, places + int64_t(d + 1) * bound, 0);
  storeInteger(ElementType::I64, results[1].bytes, 0, found);
}

static Status body(std::span<const TensorView> operands, const Json &,
                   std::span<const ResultView> results) {
  TensorView x = operands[0];
  std::vector<int64_t> strides(x.shape.size(), 1);
  for (size_t d = strides.size() - 1; d-- > 0;)
    strides[d] = strides[d + 1] * x.shape[d + 1];
  withBitsOf(x.type, [&](auto bits) { findPlaces<decltype(bits)>(x, strides, results); });
  return Status::success();
}

const Call kintsugi::calls::nonZero = {"NonZero", infer, body};
