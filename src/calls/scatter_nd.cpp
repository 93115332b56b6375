//===- scatter_nd.cpp - Writing slices at indices given as data -----------===//

#include "calls/scatter_nd.h"
#include "base/fill_numbers.h"
#include "calls/checks.h"
#include "calls/list.h"

#include <algorithm>
#include <cmath>

using namespace kintsugi;
using namespace kintsugi::calls;

using Reduction = ScatterReduction;

Expected<ScatterReduction> kintsugi::calls::readScatterReduction(const Json &attributes) {
  KINTSUGI_ASSIGN(std::string name, stringOr(attributes, "reduction", "none"));
  constexpr std::pair<std::string_view, Reduction> reductions[] = {{"none", Reduction::None},
                                                                   {"add", Reduction::Add},
                                                                   {"mul", Reduction::Mul},
                                                                   {"max", Reduction::Max},
                                                                   {"min", Reduction::Min}};
  for (auto [known, reduction] : reductions)
    if (name == known)
      return reduction;
  return inputError("unknown reduction '" + name + "'");
}

static Expected<std::vector<ResultType>> infer(std::span<const TensorType> operands,
                                               const Json &attributes) {
  KINTSUGI_RETURN_IF_ERROR(expectOperands(operands, 3));
  const TensorType &data = operands[0], &indices = operands[1], &updates = operands[2];
  KINTSUGI_ASSIGN(Reduction reduction, readScatterReduction(attributes));
  if (indices.type != ElementType::I64 || indices.shape.empty())
    return inputError("the indices must be i64 of rank 1 or more");
  if (updates.type != data.type || bitsOf(data.type) % 8 != 0 || bitsOf(data.type) == 0)
    return inputError("data and updates must have the same type, of whole bytes");
  if (reduction != Reduction::None && !isFloat(data.type) && !isInteger(data.type))
    return inputError("can't reduce elements of type " + std::string(nameOf(data.type)));
  auto depth = static_cast<size_t>(indices.shape.back());
  if (depth > data.shape.size())
    return inputError("the indices have " + std::to_string(depth) + " coordinates, the data rank " +
                      std::to_string(data.shape.size()));
  std::vector<int64_t> wanted(indices.shape.begin(), indices.shape.end() - 1);
  wanted.insert(wanted.end(), data.shape.begin() + depth, data.shape.end());
  if (updates.shape != wanted)
    return inputError("the updates have shape " + shapeString(updates.shape) + ", it must be " +
                      shapeString(wanted));
  return std::vector<ResultType>{{data, {}}};
}

static double combine(Reduction reduction, double a, double b) {
  switch (reduction) {
  case Reduction::Add:
    return a + b;
  case Reduction::Mul:
    return a * b;
  case Reduction::Max: // NaN wins, as in the elementwise operators.
    return std::isnan(a) || a > b ? a : b;
  case Reduction::Min:
    return std::isnan(a) || a < b ? a : b;
  case Reduction::None:
    break;
  }
  return b;
}

/// Sums and products wrap; the order is that of the type.
static uint64_t combine(Reduction reduction, uint64_t a, uint64_t b, bool isSigned) {
  bool greater = isSigned ? static_cast<int64_t>(a) > static_cast<int64_t>(b) : a > b;
  switch (reduction) {
  case Reduction::Add:
    return a + b;
  case Reduction::Mul:
    return a * b;
  case Reduction::Max:
    return greater ? a : b;
  case Reduction::Min:
    return greater ? b : a;
  case Reduction::None:
    break;
  }
  return b;
}

static void combineElement(Reduction reduction, ResultView result, int64_t at, TensorView updates,
                           int64_t from) {
  if (isFloat(result.type)) {
    double value = combine(reduction, loadDouble(result.view(), at), loadDouble(updates, from));
    storeDouble(result.type, result.bytes, at, value);
    return;
  }
  auto a = static_cast<uint64_t>(loadInteger(result.view(), at));
  auto b = static_cast<uint64_t>(loadInteger(updates, from));
  storeInteger(result.type, result.bytes, at,
               static_cast<int64_t>(combine(reduction, a, b, isSigned(result.type))));
}

/// The element of `shape` that the coordinates lead to, counted in slices.
static Expected<int64_t> sliceOf(std::span<const int64_t> coordinates,
                                 std::span<const int64_t> shape) {
  int64_t slice = 0;
  for (size_t d = 0; d < coordinates.size(); ++d) {
    int64_t extent = shape[d], index = coordinates[d];
    if (index < -extent || index >= extent)
      return inputError(fillNumbers(scatterNd.failure, {{index, static_cast<int64_t>(d), extent}}));
    slice = slice * extent + (index < 0 ? index + extent : index);
  }
  return slice;
}

static Status body(std::span<const TensorView> operands, const Json &attributes,
                   std::span<const ResultView> results) {
  TensorView data = operands[0], indices = operands[1], updates = operands[2];
  const ResultView &result = results[0];
  KINTSUGI_ASSIGN(Reduction reduction, readScatterReduction(attributes));
  std::ranges::copy(data.bytes, result.bytes.begin());
  auto depth = static_cast<size_t>(indices.shape.back());
  int64_t sliceElements = *elementCount(data.shape.subspan(depth));
  size_t sliceBytes = sliceElements * (bitsOf(data.type) / 8);
  int64_t slices = *elementCount(indices.shape.first(indices.shape.size() - 1));
  auto coordinates = indices.as<int64_t>();
  for (int64_t i = 0; i < slices; ++i) {
    KINTSUGI_ASSIGN(int64_t slice, sliceOf(coordinates.subspan(i * depth, depth), data.shape));
    if (reduction == Reduction::None)
      std::ranges::copy(updates.bytes.subspan(i * sliceBytes, sliceBytes),
                        result.bytes.begin() + slice * sliceBytes);
    else
      for (int64_t e = 0; e < sliceElements; ++e)
        combineElement(reduction, result, slice * sliceElements + e, updates,
                       i * sliceElements + e);
  }
  return Status::success();
}

const Call kintsugi::calls::scatterNd = {"ScatterND", infer, body,
                                         "index {} is outside dimension {} of extent {}"};
