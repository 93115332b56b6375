//===- element_range.cpp - Elements of a tensor that must lie in a range ------===//

#include "base/element_range.h"

#include <cassert>
#include <cstring>

using namespace kintsugi;

bool ElementRange::staysWithin(uint64_t count) const {
  using Wide = __int128; // Sums of products of numbers that nobody checked.
  Wide lowest = first, highest = first;
  for (const Loop &loop : loops) {
    if (loop.count <= 0)
      return loop.count == 0;
    Wide reach = Wide(loop.count - 1) * loop.step;
    (reach < 0 ? lowest : highest) += reach;
    if (lowest < 0 || highest >= Wide(count))
      return false;
  }
  return lowest >= 0 && highest < Wide(count);
}

namespace {

template <typename T> class Search {
public:
  Search(const ElementRange &range, std::span<const std::byte> tensor)
      : range(range), tensor(tensor.data()) {}

  std::optional<int64_t> run(size_t depth, int64_t at) const {
    if (depth == range.loops.size())
      return isOutside(at) ? std::optional(value(at)) : std::nullopt;
    auto [count, step] = range.loops[depth];
    if (depth + 1 == range.loops.size())
      return innermost(at, count, step);
    for (int64_t n = 0; n < count; ++n)
      if (std::optional<int64_t> found = run(depth + 1, at + n * step))
        return found;
    return std::nullopt;
  }

private:
  /// Without a branch, so that it takes as long as reading does.
  std::optional<int64_t> innermost(int64_t at, int64_t count, int64_t step) const {
    bool any = false;
    for (int64_t n = 0; n < count; ++n)
      any |= isOutside(at + n * step);
    for (int64_t n = 0; any && n < count; ++n)
      if (isOutside(at + n * step))
        return value(at + n * step);
    return std::nullopt;
  }

  int64_t value(int64_t at) const {
    T element;
    std::memcpy(&element, tensor + at * sizeof(T), sizeof(T));
    return static_cast<int64_t>(element);
  }

  bool isOutside(int64_t at) const {
    int64_t v = value(at);
    return (v < range.low) | (v >= range.high);
  }

  const ElementRange &range;
  const std::byte *tensor;
};

} // namespace

std::optional<int64_t> ElementRange::findOutside(ElementType type,
                                                 std::span<const std::byte> tensor) const {
  assert(staysWithin(tensor.size() * 8 / bitsOf(type)));
  for (const Loop &loop : loops)
    if (loop.count == 0)
      return std::nullopt;
  auto search = [&](auto element) {
    return Search<decltype(element)>(*this, tensor).run(0, first);
  };
  switch (type) {
  case ElementType::I8:
    return search(int8_t());
  case ElementType::U8:
    return search(uint8_t());
  case ElementType::I16:
    return search(int16_t());
  case ElementType::U16:
    return search(uint16_t());
  case ElementType::I32:
    return search(int32_t());
  case ElementType::U32:
    return search(uint32_t());
  default:
    assert(bitsOf(type) == 64);
    return search(int64_t());
  }
}
