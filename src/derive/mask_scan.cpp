#include "derive/mask_scan.h"

#include "derive/masked_region.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace kintsugi::derive {

MaskScan::MaskScan(int64_t rows, int64_t columns)
    : rows(rows), columns(columns), across((columns + blockSize - 1) / blockSize) {}

void MaskScan::add(const double *row) {
  bool isWhole = true;
  if (number % rows % blockSize == 0) {
    isOneHidden = false;
    open.resize(open.size() + across, false);
  }
  words.resize(words.size() + across, 0);
  auto openHere = open.end() - across;
  uint64_t *wordsHere = &*(words.end() - across);
  for (int64_t column = 0; column < columns; ++column) {
    isZero &= row[column] == 0;
    if (isLowNumber(row[column], ElementType::F32)) {
      isInfinite &= row[column] == -std::numeric_limits<double>::infinity();
      continue;
    }
    if (isWhole)
      lastFirst = std::max(lastFirst, column);
    isWhole = false;
    isBinary &= row[column] == 0;
    openHere[column / blockSize] = true;
    wordsHere[column / blockSize] |= uint64_t(1) << column % blockSize;
  }
  isOneHidden |= isWhole;
  isBinary &= !isWhole;
  if (isOneHidden)
    std::fill(openHere, open.end(), true);
  ++number;
}

double MaskScan::hidden() const { return double(llvm::count(open, false)) / double(open.size()); }

double MaskScan::mostHidden(int64_t all) const {
  if (across == 1) // A row that is shown opens it, and so does one that is not.
    return 0;
  double blocks = double(all / rows) * double((rows + blockSize - 1) / blockSize) * double(across);
  return (blocks - double(llvm::count(open, true))) / blocks;
}

} // namespace kintsugi::derive
