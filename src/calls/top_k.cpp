//===- top_k.cpp - The greatest or least elements along an axis -----------===//

#include "calls/top_k.h"
#include "calls/checks.h"
#include "calls/list.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace kintsugi;
using namespace kintsugi::calls;

Expected<TopKAttributes> TopKAttributes::read(const Json &attributes, size_t rank) {
  TopKAttributes read{};
  KINTSUGI_ASSIGN(read.k, jsonInteger(attributes, "k"));
  KINTSUGI_ASSIGN(int64_t axis, integerOr(attributes, "axis", -1));
  KINTSUGI_ASSIGN(read.axis, normalizeAxis(axis, rank));
  KINTSUGI_ASSIGN(read.largest, boolOr(attributes, "largest", true));
  return read;
}

static Expected<std::vector<ResultType>> infer(std::span<const TensorType> operands,
                                               const Json &attributes) {
  KINTSUGI_RETURN_IF_ERROR(expectOperands(operands, 1));
  const TensorType &x = operands[0];
  if (!isFloat(x.type) && !isInteger(x.type))
    return inputError("can't order elements of type " + std::string(nameOf(x.type)));
  KINTSUGI_ASSIGN(TopKAttributes read, TopKAttributes::read(attributes, x.shape.size()));
  int64_t extent = x.shape[read.axis];
  if (read.k < 0 || read.k > extent)
    return inputError("k is " + std::to_string(read.k) + ", but there are " +
                      std::to_string(extent) + " elements along the axis");
  TensorType values = x;
  values.shape[read.axis] = read.k;
  return std::vector<ResultType>{{values, {}}, {{ElementType::I64, values.shape}, {}}};
}

/// A total order; NaN is the greatest.
static bool less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }
static bool less(int64_t a, int64_t b) { return a < b; }
static bool less(uint64_t a, uint64_t b) { return a < b; }

/// The first k of the indices of `keys`, best first, ties by index.
template <typename Key>
static void selectTop(const std::vector<Key> &keys, int64_t k, bool largest,
                      std::vector<int64_t> &order) {
  order.resize(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
    if (less(keys[a], keys[b]))
      return !largest;
    if (less(keys[b], keys[a]))
      return largest;
    return a < b;
  });
}

template <typename Key, typename Load>
static void run(TensorView x, TopKAttributes attributes, std::span<const ResultView> results,
                Load load) {
  int64_t extent = x.shape[attributes.axis];
  int64_t outer = *elementCount(x.shape.first(attributes.axis));
  int64_t inner = *elementCount(x.shape.subspan(attributes.axis + 1));
  std::vector<Key> keys(extent);
  std::vector<int64_t> order;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      int64_t from = o * extent * inner + i, to = o * attributes.k * inner + i;
      for (int64_t e = 0; e < extent; ++e)
        keys[e] = load(x, from + e * inner);
      selectTop(keys, attributes.k, attributes.largest, order);
      for (int64_t e = 0; e < attributes.k; ++e) {
        storeBits(x.type, results[0].bytes, to + e * inner, loadBits(x, from + order[e] * inner));
        storeInteger(ElementType::I64, results[1].bytes, to + e * inner, order[e]);
      }
    }
}

static Status body(std::span<const TensorView> operands, const Json &attributes,
                   std::span<const ResultView> results) {
  TensorView x = operands[0];
  KINTSUGI_ASSIGN(TopKAttributes read, TopKAttributes::read(attributes, x.shape.size()));
  if (isFloat(x.type))
    run<double>(x, read, results, loadDouble);
  else if (isSigned(x.type))
    run<int64_t>(x, read, results, loadInteger);
  else
    run<uint64_t>(x, read, results, loadBits);
  return Status::success();
}

const Call kintsugi::calls::topK = {"TopK", infer, body};
