//===- top_k.cpp - The greatest or least elements along an axis -----------===//

#include "calls/top_k.h"
#include "calls/checks.h"
#include "calls/element_order.h"
#include "calls/list.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

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
  return std::vector<ResultType>{{values, {}}, {{ElementType::I64, values.shape}, {}, extent}};
}

/// An element of a row: the greater one comes first, of equal ones that which stands first.
template <typename Wide> struct Candidate {
  Wide order;
  int64_t index;

  int64_t place() const { return index; }
  bool operator>(const Candidate &other) const {
    return order != other.order ? order > other.order : index < other.index;
  }
};

/// In one number, where order and index fit into it.
template <> struct Candidate<uint32_t> {
  Candidate() = default;
  Candidate(uint32_t order, int64_t index)
      : both(uint64_t(order) << 32 | static_cast<uint32_t>(~index)) {}

  int64_t place() const { return static_cast<uint32_t>(~both); }
  bool operator>(const Candidate &other) const { return both > other.both; }

  uint64_t both;
};

template <typename Candidate> static void bestFirst(std::vector<Candidate> &row, int64_t k) {
  if (2 * k > static_cast<int64_t>(row.size()))
    std::sort(row.begin(), row.end(), std::greater<>());
  else
    std::partial_sort(row.begin(), row.begin() + k, row.end(), std::greater<>());
}

/// An order that at least k of a row have or exceed, and not many more: the k-th greatest of the
/// greatest of several groups. 0 where groups would be too small.
template <typename Wide> static Wide leastOfBest(std::span<const Wide> orders, int64_t k) {
  constexpr size_t groupsOfEach = 4, leastInGroup = 4;
  size_t groups = groupsOfEach * k;
  if (groups == 0 || orders.size() < leastInGroup * groups)
    return 0;
  std::vector<Wide> greatest(orders.begin(), orders.begin() + groups);
  for (size_t start = groups; start < orders.size(); start += groups)
    for (size_t e = start; e < std::min(start + groups, orders.size()); ++e)
      greatest[e - start] = std::max(greatest[e - start], orders[e]);
  std::nth_element(greatest.begin(), greatest.begin() + (k - 1), greatest.end(), std::greater<>());
  return greatest[k - 1];
}

/// `ordersFrom` gives those of elements so far apart, from one on, as `Wide`s.
template <typename Wide, typename OrdersFrom>
static void select(TensorView x, TopKAttributes attributes, std::span<const ResultView> results,
                   const OrdersFrom &ordersFrom) {
  int64_t extent = x.shape[attributes.axis];
  int64_t outer = *elementCount(x.shape.first(attributes.axis));
  int64_t inner = *elementCount(x.shape.subspan(attributes.axis + 1));
  std::vector<Wide> orders(extent);
  std::vector<Candidate<Wide>> row;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      int64_t from = o * extent * inner + i, to = o * attributes.k * inner + i;
      ordersFrom(from, inner, std::span(orders));
      if (!attributes.largest)
        for (Wide &order : orders)
          order = Wide(~order);
      Wide least = leastOfBest<Wide>(orders, attributes.k);
      row.clear();
      for (int64_t e = 0; e < extent; ++e)
        if (orders[e] >= least)
          row.push_back(Candidate<Wide>(orders[e], e));
      bestFirst(row, attributes.k);
      for (int64_t e = 0; e < attributes.k; ++e) {
        int64_t place = row[e].place();
        storeBits(x.type, results[0].bytes, to + e * inner, loadBits(x, from + place * inner));
        storeInteger(ElementType::I64, results[1].bytes, to + e * inner, place);
      }
    }
}

template <typename Bits>
static void run(TensorView x, TopKAttributes attributes, std::span<const ResultView> results) {
  auto ordersFrom = [orderOf = Order<Bits>(x.type),
                     elements = x.as<Bits>()](int64_t from, int64_t step, auto orders) {
    if (!orders.empty())
      orderOf.ofAll(&elements[from], step, orders);
  };
  bool fitsIntoOne = sizeof(Bits) <= sizeof(uint32_t) &&
                     x.shape[attributes.axis] <= int64_t(std::numeric_limits<uint32_t>::max());
  if (fitsIntoOne)
    select<uint32_t>(x, attributes, results, ordersFrom);
  else
    select<uint64_t>(x, attributes, results, ordersFrom);
}

/// Elements of storage-only types, which are packed or ordered by none of their bits.
static void runStored(TensorView x, TopKAttributes attributes,
                      std::span<const ResultView> results) {
  auto ordersFrom = [orderOf = Order<uint64_t>(ElementType::F64), x](int64_t from, int64_t step,
                                                                     std::span<uint64_t> orders) {
    for (size_t e = 0; e < orders.size(); ++e)
      orders[e] = orderOf(std::bit_cast<uint64_t>(loadDouble(x, from + int64_t(e) * step)));
  };
  select<uint64_t>(x, attributes, results, ordersFrom);
}

static Status body(std::span<const TensorView> operands, const Json &attributes,
                   std::span<const ResultView> results) {
  TensorView x = operands[0];
  KINTSUGI_ASSIGN(TopKAttributes read, TopKAttributes::read(attributes, x.shape.size()));
  if (isStorageOnly(x.type))
    runStored(x, read, results);
  else
    withBitsOf(x.type, [&](auto bits) { run<decltype(bits)>(x, read, results); });
  return Status::success();
}

const Call kintsugi::calls::topK = {"TopK", infer, body};
