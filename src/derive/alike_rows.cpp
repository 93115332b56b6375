#include "derive/alike_rows.h"

#include "base/tensor.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <set>
#include <unordered_map>

namespace kintsugi::derive {

namespace {

class RowComparison {
public:
  RowComparison(const FactorElements &elements, unsigned rowIterator, const std::byte *data)
      : axis(elements.rows[rowIterator]), shape{elements.all},
        tensor{elements.type, shape, {data, size_t(elements.bytes())}} {
    places = {elements.first};
    for (const std::vector<MemoryAxis> *axes : {&elements.rows, &elements.summed})
      for (const MemoryAxis &each : *axes)
        if (&each != &elements.rows[rowIterator])
          spread(each);
  }

  std::optional<AlikeRows> run(int64_t &budget) const {
    auto mayLookAtAll = [&] {
      int64_t all = int64_t(places.size()) * axis.extent;
      bool mayLook = all <= budget;
      budget -= mayLook ? all : 0;
      return mayLook;
    };
    if (mayBeMultiples() && mayLookAtAll())
      if (std::optional<AlikeRows> rows = multiples(1, 1))
        return rows;
    return mayBeEqual() && mayLookAtAll() ? equalRows() : std::nullopt;
  }

private:
  void spread(const MemoryAxis &other) {
    size_t before = places.size();
    places.reserve(before * other.extent);
    for (int64_t k = 1; k < other.extent; ++k)
      for (size_t at = 0; at < before; ++at)
        places.push_back(places[at] + k * other.stride);
  }

  uint64_t bitsAt(int64_t point, size_t place) const {
    return loadBits(tensor, places[place] + point * axis.stride);
  }
  double numberAt(int64_t point, size_t place) const {
    return loadDouble(tensor, places[place] + point * axis.stride);
  }

  /// Of so many elements of a point, or of all.
  uint64_t hashOf(int64_t point, size_t step) const {
    uint64_t hash = 0;
    for (size_t place = 0; place < places.size(); place += step)
      hash = (hash ^ bitsAt(point, place)) * 0x9E3779B97F4A7C15 + (hash >> 29);
    return hash;
  }

  bool areEqual(int64_t one, int64_t other) const {
    for (size_t place = 0; place < places.size(); ++place)
      if (bitsAt(one, place) != bitsAt(other, place))
        return false;
    return true;
  }

  static constexpr size_t few = 8;

  size_t stepOfFew() const { return std::max<size_t>(1, places.size() / few); }

  bool areFew(size_t different) const { return 2 * int64_t(different) <= axis.extent; }

  /// By a few elements of each point.
  bool mayBeEqual() const {
    std::set<uint64_t> seen;
    for (int64_t point = 0; point < axis.extent && areFew(seen.size()); ++point)
      seen.insert(hashOf(point, stepOfFew()));
    return areFew(seen.size());
  }

  std::optional<AlikeRows> equalRows() const {
    AlikeRows rows;
    std::unordered_map<uint64_t, int32_t> known;
    for (int64_t point = 0; point < axis.extent; ++point) {
      auto [entry, isNew] = known.try_emplace(hashOf(point, 1), int32_t(rows.firsts.size()));
      // Rows that differ and hash alike are none that a model has by chance.
      if (!isNew && !areEqual(rows.firsts[entry->second], point))
        return std::nullopt;
      if (isNew)
        rows.firsts.push_back(int32_t(point));
      if (!areFew(rows.firsts.size()))
        return std::nullopt;
      rows.classes.push_back(entry->second);
    }
    return rows;
  }

  /// By a few elements of a few points.
  bool mayBeMultiples() const {
    bool isReal = tensor.type == ElementType::F32 || tensor.type == ElementType::F64;
    return isReal && multiples(stepOfFew(), std::max<int64_t>(1, axis.extent / int64_t(few)));
  }

  /// All as multiples of the one that has the largest element, so that none overflows before it is
  /// multiplied.
  std::optional<AlikeRows> multiples(size_t step, int64_t pointStep) const {
    constexpr double rounding = 0x1p-21; ///< Of products that were stored in f32.
    int64_t first = 0;
    size_t pivot = 0;
    for (int64_t point = 0; point < axis.extent; point += pointStep)
      for (size_t place = 0; place < places.size(); place += step)
        if (std::abs(numberAt(point, place)) > std::abs(numberAt(first, pivot))) {
          first = point;
          pivot = place;
        }
    double largest = numberAt(first, pivot);
    if (!std::isnormal(largest))
      return std::nullopt;
    AlikeRows rows{{int32_t(first)}, std::vector<int32_t>(axis.extent, 0), {}};
    for (int64_t point = 0; point < axis.extent; point += pointStep) {
      double times = double(float(numberAt(point, pivot) / largest));
      for (size_t place = 0; place < places.size(); place += step) {
        double element = numberAt(point, place);
        if (!(std::abs(element - times * numberAt(first, place)) <= rounding * std::abs(element)))
          return std::nullopt;
      }
      rows.times.push_back(times);
    }
    if (llvm::all_of(rows.times, [](double times) { return times == 1; }))
      rows.times.clear();
    return rows;
  }

  MemoryAxis axis;
  std::array<int64_t, 1> shape;
  TensorView tensor;
  std::vector<int64_t> places; ///< Of the elements of the iterator's first point.
};

} // namespace

std::optional<AlikeRows> alikeRowsOf(const FactorElements &elements, unsigned rowIterator,
                                     const std::byte *data, int64_t &budget) {
  constexpr int64_t mostRows = int64_t(1) << 16, mostInRow = int64_t(1) << 22;
  int64_t extent = elements.rows[rowIterator].extent;
  if (extent < 2 || extent > mostRows || elements.points() / extent > mostInRow)
    return std::nullopt;
  return RowComparison(elements, rowIterator, data).run(budget);
}

} // namespace kintsugi::derive
