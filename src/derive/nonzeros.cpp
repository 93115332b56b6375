#include "derive/nonzeros.h"

#include "base/tensor.h"

namespace kintsugi::derive {

using namespace te;

namespace {

/// Elements of a constant as plain bits: of floats zeros of either sign are zero.
struct Bits {
  uint64_t mask = ~uint64_t(0), one = 1;

  static Bits of(ElementType type) {
    Bits bits;
    if (!isFloat(type))
      return bits;
    std::byte one[8] = {};
    storeDouble(type, one, 0, 1.0);
    bits.one = loadBits({type, {}, std::span(one).first(bitsOf(type) / 8)}, 0);
    // Of 8 bits, some have no zero but 0.
    if (unsigned width = bitsOf(type); width > 8)
      bits.mask = (uint64_t(1) << (width - 1)) - 1;
    return bits;
  }
};

/// Calls `visit` with elements in their own width.
template <typename Visit> auto withElements(ElementType type, const std::byte *bytes, Visit visit) {
  switch (bitsOf(type)) {
  case 8:
    return visit(reinterpret_cast<const uint8_t *>(bytes));
  case 16:
    return visit(reinterpret_cast<const uint16_t *>(bytes));
  case 32:
    return visit(reinterpret_cast<const uint32_t *>(bytes));
  default:
    return visit(reinterpret_cast<const uint64_t *>(bytes));
  }
}

/// Goes through the elements of a factor in the order in which they lie.
class Walk {
public:
  explicit Walk(const FactorElements &elements)
      : elements(elements), bits(Bits::of(elements.type)), places(elements.summed.size()) {
    int64_t rows = 1;
    for (const MemoryAxis &axis : llvm::reverse(elements.rows)) {
      steps.push_back({axis, -1, rows});
      rows *= axis.extent;
    }
    for (auto [number, axis] : llvm::enumerate(elements.summed)) {
      steps.push_back({axis, int(number), 0});
      supports.emplace_back(rows, axis.extent);
    }
    llvm::sort(steps, [](const Step &a, const Step &b) {
      return std::abs(a.axis.stride) > std::abs(b.axis.stride);
    });
  }

  /// nullopt where windows leave all.
  template <typename T> std::optional<Nonzeros> run(const T *data) {
    visit(data, 0, elements.first, 0);
    Nonzeros result;
    llvm::SmallVector<int64_t> rows;
    for (const MemoryAxis &axis : elements.rows)
      rows.push_back(axis.extent);
    int64_t left = elements.numRows();
    for (const Support &support : supports) {
      result.windows.push_back(windowOf(support, rows));
      left *= result.windows.back().count;
    }
    result.share = double(left) / double(elements.points());
    result.areOnes = areOnes && count == left;
    return result.share < 1 ? std::optional(std::move(result)) : std::nullopt;
  }

private:
  struct Step {
    MemoryAxis axis;
    int summed; ///< Which of the summed iterators; -1: it is a row's.
    int64_t rowStep;
  };

  template <typename T> void visit(const T *data, size_t level, int64_t at, int64_t row) {
    const Step &step = steps[level];
    for (int64_t k = 0; k < step.axis.extent; ++k) {
      if (step.summed >= 0)
        places[step.summed] = k;
      if (level + 1 < steps.size())
        visit(data, level + 1, at, row);
      else if (data[at] & bits.mask)
        note(row, data[at] == bits.one);
      at += step.axis.stride;
      row += step.rowStep;
    }
  }

  void note(int64_t row, bool isOne) {
    ++count;
    areOnes &= isOne;
    for (auto [support, place] : llvm::zip_equal(supports, places))
      support.add(row, place);
  }

  const FactorElements &elements;
  Bits bits;
  llvm::SmallVector<Step> steps;          ///< From the longest strides to the shortest.
  llvm::SmallVector<Support, 3> supports; ///< By summed iterator,
  llvm::SmallVector<int64_t> places;      ///< and where each is.
  int64_t count = 0;                      ///< Of nonzeros,
  bool areOnes = true;                    ///< which all are 1.
};

} // namespace

/// Whether at least one in sixteen of some elements is zero: what saves something has more. They
/// are looked at in runs, which lie apart by no round number.
bool hasManyZeros(const FactorElements &elements, const std::byte *data) {
  int64_t count = elements.all;
  constexpr int64_t runs = 64, inRun = 64;
  uint64_t mask = Bits::of(elements.type).mask;
  return withElements(elements.type, data, [&](const auto *each) {
    int64_t zeros = 0, seen = 0;
    auto look = [&](int64_t first, int64_t end) {
      seen += end - first;
      for (int64_t k = first; k < end; ++k)
        zeros += (each[k] & mask) == 0;
    };
    if (count <= 4 * runs * inRun) {
      look(0, count);
    } else {
      for (int64_t run = 0; run < runs; ++run) {
        int64_t first = (count - inRun) / (runs - 1) * run;
        look(first, first + inRun);
      }
    }
    return 16 * zeros >= seen && zeros > 0;
  });
}

std::optional<Nonzeros> nonzerosOf(const FactorElements &elements, const std::byte *data) {
  return withElements(elements.type, data,
                      [&](const auto *each) { return Walk(elements).run(each); });
}

} // namespace kintsugi::derive
