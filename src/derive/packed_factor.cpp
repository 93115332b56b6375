#include "derive/packed_factor.h"

#include "te/hash.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace kintsugi::derive {

using namespace te;

namespace {

/// Copies elements of so many bytes each.
class Packing {
public:
  Packing(const FactorElements &elements, llvm::ArrayRef<SumWindow> windows, const std::byte *from,
          std::byte *to)
      : elements(elements), windows(windows), from(from), to(to), width(bitsOf(elements.type) / 8),
        starts(windows.size()) {}

  void run() {
    llvm::SmallVector<int64_t> row(elements.rows.size(), 0);
    for (int64_t number = 0, count = elements.numRows(); number < count; ++number) {
      int64_t at = elements.first, rest = number;
      for (unsigned d = row.size(); d-- > 0;) {
        row[d] = rest % elements.rows[d].extent;
        rest /= elements.rows[d].extent;
        at += row[d] * elements.rows[d].stride;
      }
      for (auto [start, window] : llvm::zip_equal(starts, windows))
        start = window.startAt(row, number);
      copy(0, number, at, true);
    }
  }

private:
  void copy(unsigned summed, int64_t row, int64_t at, bool isInside) {
    if (summed == windows.size()) {
      if (isInside)
        std::memcpy(to, from + at * width, width);
      else
        std::memset(to, 0, width);
      to += width;
      return;
    }
    const SumWindow &window = windows[summed];
    const MemoryAxis &axis = elements.summed[summed];
    for (int64_t j = 0; j < window.count; ++j) {
      int64_t place =
          window.listsAll ? window.table[row * window.count + j] : starts[summed] + window.step * j;
      bool isIn = isInside && place >= 0 && place < axis.extent;
      copy(summed + 1, row, at + place * axis.stride, isIn);
    }
  }

  const FactorElements &elements;
  llvm::ArrayRef<SumWindow> windows;
  const std::byte *from;
  std::byte *to;
  size_t width;
  llvm::SmallVector<int64_t> starts;
};

std::string nameOf(const FactorElements &elements, llvm::ArrayRef<SumWindow> windows) {
  Hasher hasher("derive.packed");
  hasher.add(elements.source->identity()).add(elements.type).add(elements.first);
  for (const std::vector<MemoryAxis> *axes : {&elements.rows, &elements.summed}) {
    hasher.add(axes->size());
    for (const MemoryAxis &axis : *axes)
      hasher.add(axis.extent).add(axis.stride);
  }
  for (const SumWindow &window : windows)
    hasher.add(hashOf(Expr::index(window.start, ElementType::I64)))
        .add(window.step)
        .add(window.count)
        .add(window.listsAll)
        .addRange(window.table);
  return "packed:" + hasher.finish().str();
}

} // namespace

PackedFactor::PackedFactor(FactorElements its, llvm::ArrayRef<SumWindow> all)
    : elements(std::move(its)), windows(all), name(nameOf(elements, windows)) {}

Status PackedFactor::load(std::byte *destination) const {
  return elements.withBytes(
      [&](const std::byte *data) { Packing(elements, windows, data, destination).run(); });
}

} // namespace kintsugi::derive
