//===- unique.cpp - The different elements of a tensor ----------------------===//

#include "calls/checks.h"
#include "calls/element_order.h"
#include "calls/list.h"

#include <algorithm>
#include <numeric>

using namespace kintsugi;
using namespace kintsugi::calls;

namespace {

/// What are compared: slices along an axis, or with none of the tensor's elements each.
struct Slices {
  int64_t outer = 1, extent = 1, inner = 1;
  std::optional<size_t> axis;

  static Expected<Slices> of(std::span<const int64_t> shape, const Json &attributes) {
    Slices slices;
    if (!attributes.contains("axis")) {
      std::optional<int64_t> count = elementCount(shape);
      if (!count)
        return inputError("the operand is too large");
      slices.extent = *count;
      return slices;
    }
    KINTSUGI_ASSIGN(int64_t given, jsonInteger(attributes, "axis"));
    KINTSUGI_ASSIGN(slices.axis, normalizeAxis(given, shape.size()));
    std::optional<int64_t> outer = elementCount(shape.first(*slices.axis)),
                           inner = elementCount(shape.subspan(*slices.axis + 1));
    if (!outer || !inner)
      return inputError("the operand is too large");
    slices.outer = *outer;
    slices.inner = *inner;
    slices.extent = shape[*slices.axis];
    return slices;
  }

  /// The place of the first element of a piece of a slice, in a tensor of `along` slices.
  int64_t at(int64_t piece, int64_t slice, int64_t along) const {
    return (piece * along + slice) * inner;
  }
};

/// Slices that are alike: the first of them, and how many they are.
struct Group {
  int64_t first = 0, count = 0;
};

struct Groups {
  std::vector<Group> all;
  std::vector<int64_t> ofSlice; ///< Which group each slice is in.
};

} // namespace

static Expected<std::vector<ResultType>> infer(std::span<const TensorType> operands,
                                               const Json &attributes) {
  KINTSUGI_RETURN_IF_ERROR(expectOperands(operands, 1));
  const TensorType &x = operands[0];
  if (!isOrdered(x.type) || isStorageOnly(x.type))
    return inputError("can't order elements of type " + std::string(nameOf(x.type)));
  KINTSUGI_RETURN_IF_ERROR(boolOr(attributes, "sorted", true).status());
  KINTSUGI_ASSIGN(Slices slices, Slices::of(x.shape, attributes));
  constexpr size_t count = 4;
  TensorType numbers{ElementType::I64, {slices.extent}};
  TensorType values{x.type, slices.axis ? x.shape : numbers.shape};
  return std::vector<ResultType>{{values, {{slices.axis.value_or(0), count}}},
                                 {numbers, {{0, count}}, slices.extent},
                                 {numbers, {}, slices.extent},
                                 {numbers, {{0, count}}, slices.extent + 1},
                                 {{ElementType::I64, {}}, {}, slices.extent + 1}};
}

template <typename Bits> static Groups groupsOf(TensorView x, const Slices &slices) {
  std::vector<Bits> orders(x.count());
  if (!orders.empty())
    Order<Bits>(x.type).ofAll(x.as<Bits>().data(), 1, std::span(orders));
  auto compare = [&](int64_t a, int64_t b) {
    for (int64_t piece = 0; piece < slices.outer; ++piece)
      for (int64_t e = 0; e < slices.inner; ++e) {
        Bits left = orders[slices.at(piece, a, slices.extent) + e];
        Bits right = orders[slices.at(piece, b, slices.extent) + e];
        if (left != right)
          return left < right ? -1 : 1;
      }
    return 0;
  };
  std::vector<int64_t> sorted(slices.extent);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) {
    int order = compare(a, b);
    return order != 0 ? order < 0 : a < b;
  });
  Groups groups;
  groups.ofSlice.resize(slices.extent);
  for (int64_t slice : sorted) {
    if (groups.all.empty() || compare(groups.all.back().first, slice) != 0)
      groups.all.push_back({slice, 0});
    ++groups.all.back().count;
    groups.ofSlice[slice] = int64_t(groups.all.size()) - 1;
  }
  return groups;
}

/// In the order in which they occur.
static void orderByFirst(Groups &groups) {
  std::vector<int64_t> order(groups.all.size()), place(groups.all.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int64_t group) { return groups.all[group].first; });
  std::vector<Group> ordered;
  for (int64_t group : order) {
    place[group] = int64_t(ordered.size());
    ordered.push_back(groups.all[group]);
  }
  groups.all = std::move(ordered);
  for (int64_t &group : groups.ofSlice)
    group = place[group];
}

static void store(TensorView x, const Slices &slices, const Groups &groups,
                  std::span<const ResultView> results) {
  for (const ResultView &result : results)
    std::ranges::fill(result.bytes, std::byte(0));
  size_t bytes = slices.inner * (bitsOf(x.type) / 8);
  auto copy = [&](int64_t from, int64_t to) {
    for (int64_t piece = 0; piece < slices.outer; ++piece)
      std::ranges::copy(
          x.bytes.subspan(slices.at(piece, from, slices.extent) * (bitsOf(x.type) / 8), bytes),
          results[0].bytes.begin() + slices.at(piece, to, slices.extent) * (bitsOf(x.type) / 8));
  };
  auto number = [&](size_t result, int64_t place, int64_t value) {
    storeInteger(ElementType::I64, results[result].bytes, place, value);
  };
  for (int64_t g = 0; g < int64_t(groups.all.size()); ++g) {
    copy(groups.all[g].first, g);
    number(1, g, groups.all[g].first);
    number(3, g, groups.all[g].count);
  }
  for (int64_t slice = 0; slice < slices.extent; ++slice)
    number(2, slice, groups.ofSlice[slice]);
  number(4, 0, int64_t(groups.all.size()));
}

static Status body(std::span<const TensorView> operands, const Json &attributes,
                   std::span<const ResultView> results) {
  TensorView x = operands[0];
  KINTSUGI_ASSIGN(Slices slices, Slices::of(x.shape, attributes));
  KINTSUGI_ASSIGN(bool isSorted, boolOr(attributes, "sorted", true));
  Groups groups =
      withBitsOf(x.type, [&](auto bits) { return groupsOf<decltype(bits)>(x, slices); });
  if (!isSorted)
    orderByFirst(groups);
  store(x, slices, groups, results);
  return Status::success();
}

const Call kintsugi::calls::unique = {"Unique", infer, body};
