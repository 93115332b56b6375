#include "derive/block_mask.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace kintsugi::derive {

double BlockMask::share() const {
  double computed = double(partialBlocks + openBlocks);
  return computed / std::max(1.0, computed + double(hiddenBlocks));
}

namespace {

enum class Kind { Hidden, Open, Partial };

class Cutter {
public:
  Cutter(const Mask &mask, int64_t rowSize, int64_t columnSize) : mask(mask) {
    assert(mask.rows % rowSize == 0 && mask.columns % columnSize == 0);
    result.rowSize = rowSize;
    result.columnSize = columnSize;
    result.rowBlocks = mask.rows / rowSize;
  }

  BlockMask run() {
    std::vector<std::vector<int64_t>> partial(result.rowBlocks), open(result.rowBlocks);
    for (int64_t row = 0; row < result.rowBlocks; ++row) {
      for (int64_t column = 0; column < mask.columns / result.columnSize; ++column)
        if (Kind kind = kindOf(row, column); kind != Kind::Hidden)
          (kind == Kind::Open ? open : partial)[row].push_back(column);
      // A row without any element has no maximum; one that is hidden gives it what it had.
      if (partial[row].empty() && open[row].empty())
        partial[row].push_back(0);
      result.width = std::max<int64_t>(result.width, partial[row].size() + open[row].size());
    }
    for (int64_t row = 0; row < result.rowBlocks; ++row)
      addRow(row, partial[row], open[row]);
    result.hiddenBlocks = result.rowBlocks * (mask.columns / result.columnSize) -
                          result.partialBlocks - result.openBlocks;
    return std::move(result);
  }

private:
  template <typename Visit> void forEach(int64_t row, int64_t column, Visit visit) const {
    for (int64_t r = row * result.rowSize; r < (row + 1) * result.rowSize; ++r)
      for (int64_t c = column * result.columnSize; c < (column + 1) * result.columnSize; ++c)
        visit(r, mask.at(r, c));
  }

  Kind kindOf(int64_t row, int64_t column) const {
    bool anySeen = false, allOpen = true;
    forEach(row, column, [&](int64_t r, int64_t element) {
      anySeen |= !mask.hidden[element] || mask.counts[r];
      allOpen &= mask.open[element];
    });
    return allOpen ? Kind::Open : anySeen ? Kind::Partial : Kind::Hidden;
  }

  void addRow(int64_t row, const std::vector<int64_t> &partial, const std::vector<int64_t> &open) {
    result.partial.push_back(partial.size());
    result.count.push_back(partial.size() + open.size());
    result.partialBlocks += partial.size();
    result.openBlocks += open.size();
    std::vector<int32_t> columns(partial.begin(), partial.end()), numbers;
    columns.insert(columns.end(), open.begin(), open.end());
    for (int64_t column : partial)
      numbers.push_back(tileOf(row, column));
    columns.resize(result.width, 0);
    numbers.resize(result.width, 0);
    result.column.insert(result.column.end(), columns.begin(), columns.end());
    result.tile.insert(result.tile.end(), numbers.begin(), numbers.end());
  }

  int32_t tileOf(int64_t row, int64_t column) {
    std::vector<double> content;
    content.reserve(result.rowSize * result.columnSize);
    forEach(row, column,
            [&](int64_t, int64_t element) { content.push_back(mask.values[element]); });
    auto [entry, isNew] = known.try_emplace(content, result.tiles.size());
    if (isNew)
      result.tiles.push_back(std::move(content));
    return entry->second;
  }

  const Mask &mask;
  BlockMask result;
  std::map<std::vector<double>, int32_t> known;
};

} // namespace

BlockMask cutIntoBlocks(const Mask &mask, int64_t rowSize, int64_t columnSize) {
  return Cutter(mask, rowSize, columnSize).run();
}

} // namespace kintsugi::derive
