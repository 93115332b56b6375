#include "derive/sum_window.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace kintsugi::derive {

using namespace te;

namespace {

/// What windows are fitted to: of each row the first and the last nonzero, and by how much all are
/// apart.
class WindowFitter {
public:
  WindowFitter(const Support &support, llvm::ArrayRef<int64_t> rows)
      : support(support), rows(rows), strides(rows.size(), 1) {
    for (unsigned d = rows.size(); d-- > 1;)
      strides[d - 1] = strides[d] * rows[d];
    for (int64_t row = 0; row < support.rows; ++row)
      addRow(row);
    step = std::max<int64_t>(1, gap);
    for (const Interval &span : spans)
      length = std::max(length, (span.size() - 1) / step + 1);
  }

  SumWindow run() const {
    SumWindow best{.start = 0, .count = support.extent};
    auto offer = [&](std::optional<SumWindow> window, int64_t times) {
      if (window && window->count * times < best.count)
        best = std::move(*window);
    };
    offer(same(), 1);
    if (length == 0)
      return best;
    for (unsigned d = 0; d < rows.size(); ++d) {
      offer(blocks(d), 1);
      offer(places(d), 1);
      offer(digit(d), 1);
    }
    offer(affine(), 1);
    offer(starts(), muchLess);
    if (most * muchLess < best.count)
      offer(all(), muchLess);
    return best;
  }

private:
  static constexpr int64_t muchLess = 4; ///< So many times fewer steps are worth a table.

  void addRow(int64_t row) {
    Interval span;
    int64_t last = -1, nonzeros = 0;
    support.forEach(row, [&](int64_t point) {
      if (last < 0)
        span.low = point;
      else
        gap = std::gcd(gap, point - last);
      span.high = last = point;
      ++nonzeros;
    });
    spans.push_back(span);
    most = std::max(most, nonzeros);
  }

  int64_t coordinate(int64_t row, unsigned d) const { return row / strides[d] % rows[d]; }

  /// Whether it holds of all rows that have nonzeros.
  template <typename Holds> bool holdsOfAll(Holds holds) const {
    for (auto [row, span] : llvm::enumerate(spans))
      if (!span.empty() && !holds(int64_t(row), span))
        return false;
    return true;
  }

  std::optional<SumWindow> same() const {
    Interval span{support.extent, -1};
    int64_t apart = gap, first = -1;
    for (const Interval &each : spans) {
      if (each.empty())
        continue;
      first = first < 0 ? each.low : first;
      apart = std::gcd(apart, each.low - first);
      span = {std::min(span.low, each.low), std::max(span.high, each.high)};
    }
    if (span.empty())
      return SumWindow{.start = 0, .count = 1};
    apart = std::max<int64_t>(1, apart);
    return SumWindow{.start = span.low, .step = apart, .count = (span.size() - 1) / apart + 1};
  }

  /// A row whose nonzeros say where its window starts: it has no room to move.
  bool isExact(int64_t row) const {
    return !spans[row].empty() && (spans[row].size() - 1) / step + 1 == length;
  }

  std::optional<SumWindow> affine() const {
    int64_t exact = 0;
    while (!isExact(exact))
      ++exact;
    SumWindow window{.step = step, .count = length};
    int64_t offset = spans[exact].low;
    llvm::SmallVector<int64_t> factors;
    llvm::SmallVector<Interval> ranges;
    for (unsigned d = 0; d < rows.size(); ++d) {
      factors.push_back(slope(d));
      ranges.push_back({0, rows[d] - 1});
      offset -= factors[d] * coordinate(exact, d);
      window.start = window.start + Index::iterator(d) * factors[d];
    }
    window.start = window.start + offset;
    auto fits = [&](int64_t row, const Interval &span) {
      int64_t start = offset;
      for (unsigned d = 0; d < rows.size(); ++d)
        start += factors[d] * coordinate(row, d);
      return start <= span.low && (span.low - start) % step == 0 &&
             span.high <= start + step * (length - 1);
    };
    if (!holdsOfAll(fits))
      return std::nullopt;
    Interval range = rangeOf(window.start, ranges);
    window.leaves = range.low < 0 || range.high + step * (length - 1) >= support.extent;
    return window;
  }

  /// By how much starts of neighbours along a row iterator are apart.
  int64_t slope(unsigned d) const {
    for (int64_t row = 0; row < support.rows; ++row)
      if (coordinate(row, d) + 1 < rows[d] && isExact(row) && isExact(row + strides[d]))
        return spans[row + strides[d]].low - spans[row].low;
    return 0;
  }

  /// The most blocks along a row iterator, of which each has one block of the summed iterator.
  std::optional<SumWindow> blocks(unsigned d) const {
    for (int64_t parts = std::gcd(rows[d], support.extent); parts > 1; --parts) {
      if (rows[d] % parts != 0 || support.extent % parts != 0)
        continue;
      int64_t inRows = rows[d] / parts, inSum = support.extent / parts;
      auto fits = [&](int64_t row, const Interval &span) {
        int64_t part = coordinate(row, d) / inRows;
        return span.low / inSum == part && span.high / inSum == part;
      };
      if (!holdsOfAll(fits))
        continue;
      SumWindow window{.start = Index::iterator(d).floorDiv(inRows) * inSum, .count = inSum};
      if (inRows > 1)
        window.split = {d, inRows};
      return window;
    }
    return std::nullopt;
  }

  /// k = place + size * j, where a row iterator is place + size * block.
  std::optional<SumWindow> places(unsigned d) const {
    int64_t size = std::gcd(gap, support.extent);
    for (auto [row, span] : llvm::enumerate(spans))
      if (!span.empty())
        size = std::gcd(size, span.low - coordinate(int64_t(row), d));
    if (size < rows[d])
      size = std::gcd(size, rows[d]);
    if (size <= 1)
      return std::nullopt;
    SumWindow window{.start = Index::iterator(d), .step = size, .count = support.extent / size};
    if (size < rows[d]) {
      window.start = window.start.mod(size);
      window.split = {d, size};
    }
    return window;
  }

  /// The one term of a row follows from a digit of a row iterator.
  std::optional<SumWindow> digit(unsigned d) const {
    if (length != 1)
      return std::nullopt;
    int64_t low = rows[d], base = 0; ///< The first coordinate of a term that is not 0, and terms.
    for (auto [row, span] : llvm::enumerate(spans)) {
      base = std::max(base, span.high + 1);
      if (span.high > 0)
        low = std::min(low, coordinate(int64_t(row), d));
    }
    auto fits = [&](int64_t row, const Interval &span) {
      return span.low == coordinate(row, d) / low % base;
    };
    if (low == 0 || !holdsOfAll(fits))
      return std::nullopt;
    return SumWindow{.start = Index::iterator(d).floorDiv(low).mod(base), .count = 1};
  }

  /// A table of starts: windows at the end start early enough.
  std::optional<SumWindow> starts() const {
    SumWindow window{.step = step, .count = length};
    int64_t latest = support.extent - 1 - step * (length - 1);
    for (const Interval &span : spans) {
      int64_t start = span.empty() ? 0 : span.low;
      if (start > latest)
        start -= (start - latest + step - 1) / step * step;
      if (start < 0)
        return std::nullopt;
      window.table.push_back(int32_t(start));
    }
    return window;
  }

  /// A table of all k: rows of fewer nonzeros get others, which are zeros.
  std::optional<SumWindow> all() const {
    SumWindow window{.count = most, .listsAll = true};
    for (int64_t row = 0; row < support.rows; ++row) {
      size_t end = window.table.size() + most;
      support.forEach(row, [&](int64_t point) { window.table.push_back(int32_t(point)); });
      for (int64_t point = 0; window.table.size() < end; ++point)
        if (!support.has(row, point))
          window.table.push_back(int32_t(point));
    }
    return window;
  }

  const Support &support;
  llvm::ArrayRef<int64_t> rows;
  llvm::SmallVector<int64_t> strides; ///< Of row numbers, by row iterator.
  std::vector<Interval> spans;        ///< By row.
  int64_t gap = 0;                    ///< Of neighbours in a row; 0: no row has two.
  int64_t step = 1, length = 0;       ///< Of a window that starts at a row's first nonzero.
  int64_t most = 0;                   ///< Nonzeros of a row.
};

} // namespace

int64_t SumWindow::startAt(llvm::ArrayRef<int64_t> row, int64_t number) const {
  if (!table.empty())
    return listsAll ? 0 : table[number];
  llvm::SmallVector<Interval> point;
  for (int64_t each : row)
    point.push_back(Interval::point(each));
  return rangeOf(start, point).low;
}

SumWindow windowOf(const Support &support, llvm::ArrayRef<int64_t> rows) {
  return WindowFitter(support, rows).run();
}

} // namespace kintsugi::derive
