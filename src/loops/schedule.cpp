#include "loops/schedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace kintsugi::loops {

using namespace te;

llvm::SmallVector<Interval> LoopNest::ranges(llvm::ArrayRef<TileDimension> space) const {
  llvm::SmallVector<Interval> result;
  for (const Iterator &iterator : parallel)
    result.push_back(Interval::of(iterator.extent));
  if (reduction)
    for (const Iterator &iterator : reduction->iterators)
      result.push_back(Interval::of(iterator.extent));
  for (const TileDimension &dimension : space)
    result.push_back({0, dimension.extent - dimension.size});
  return result;
}

int64_t RegisterTile::stepOf(unsigned iterator) const {
  if (int(iterator) == rowIterator)
    return rows;
  if (int(iterator) == columnIterator)
    return columns;
  return int(iterator) == vectorIterator ? int64_t(lanes) * vectors : 1;
}

int64_t stepsTogether(int64_t run, int64_t results) {
  constexpr int64_t mostTerms = 64, mostSteps = 8; // A few dozen registers.
  return int64_t(
      llvm::bit_floor(uint64_t(std::clamp<int64_t>(mostTerms / (run * results), 1, mostSteps))));
}

int64_t blocksTogether(int64_t blocks, int64_t threads, int64_t points) {
  constexpr int64_t mostBlocks = 4, mostPoints = 16;
  int64_t rounds = blocks / threads, most = std::min(mostBlocks, mostPoints / points);
  int64_t together = 1;
  while (blocks % threads == 0 && together * 2 <= most && rounds % (together * 2) == 0)
    together *= 2;
  return together;
}

int64_t MatrixTile::operandBytes(int64_t rows) const {
  constexpr int64_t bytes = 2, apart = 16; // From the end of a line to the next: other banks.
  return rows * depth * bytes + (inFours ? 0 : apart * std::max<int64_t>(rows, depth));
}

int64_t MatrixTile::ringBytes() const {
  int64_t staged = stages * (operandBytes(rows) + operandBytes(columns));
  int64_t joined = warpsK * blocks > 1 ? int64_t(warpsK) * rows * columns * 4 : 0;
  return std::max(staged, joined);
}

int64_t Schedule::tiles() const {
  int64_t product = 1;
  for (const TileDimension &dimension : space)
    product *= dimension.count();
  return product;
}

int64_t Schedule::blocks() const {
  unsigned each = 1;
  for (const LoopNest &nest : nests)
    if (nest.matrix)
      each = std::max(each, nest.matrix->blocks);
  return tiles() * each;
}

unsigned Schedule::memoryBuffers() const {
  return llvm::count_if(buffers, [](const Buffer &b) { return b.home == Home::Memory; });
}

int64_t LoopNest::extentOf(unsigned iterator) const {
  return iterator < parallel.size()
             ? parallel[iterator].extent.constant()
             : reduction->iterators[iterator - parallel.size()].extent.constant();
}

bool LoopNest::writes(unsigned buffer) const {
  return llvm::is_contained(destinations, buffer) ||
         llvm::any_of(kept, [&](const Kept &each) { return each.buffer == buffer; });
}

const Span *LoopNest::spanOf(unsigned iterator) const {
  const Span *span = llvm::find_if(
      spans, [&](const Span &s) { return s.iterator.asIterator() == static_cast<int>(iterator); });
  return span == spans.end() ? nullptr : span;
}

double LoopNest::share() const {
  double product = 1;
  for (const Span &span : spans)
    product *= span.share;
  return product;
}

double Schedule::runsOf(const LoopNest &nest, int cores) const {
  constexpr double runsACore = 4;
  double all = static_cast<double>(tiles()), distinct = all;
  for (const TileDimension &dimension : llvm::ArrayRef(space).take_back(nest.sharedDimensions))
    distinct /= static_cast<double>(dimension.count());
  return nest.sharedDimensions ? std::min(all, std::max(distinct, runsACore * cores)) : all;
}

int64_t Schedule::tilesTogether() const {
  unsigned shared = 0;
  double longest = 0;
  for (const LoopNest &nest : nests) {
    double points = 1;
    for (unsigned k = 0; k < nest.parallel.size() + nest.numReductions(); ++k)
      points *= static_cast<double>(nest.extentOf(k));
    if (nest.sharedDimensions == 0 || points <= longest)
      continue;
    longest = points;
    shared = nest.sharedDimensions;
  }
  int64_t together = 1;
  for (const TileDimension &dimension : llvm::ArrayRef(space).take_back(shared))
    together *= dimension.count();
  return together;
}

std::string Schedule::print() const {
  std::string text = "tiles [";
  for (auto [k, dimension] : llvm::enumerate(space))
    text += (k ? ", " : "") + std::to_string(dimension.size) + " of " +
            std::to_string(dimension.extent);
  text += "], scratch " + std::to_string(scratchBytes) + " bytes\n";
  for (auto [number, buffer] : llvm::enumerate(buffers))
    if (buffer.packing)
      text += "  buffer " + std::to_string(number) + " packed " + buffer.packing->print() + "\n";
  for (const LoopNest &nest : nests) {
    text += "  for";
    for (const Iterator &iterator : nest.parallel)
      text += " " + iterator.name + ":" + std::to_string(iterator.extent.constant());
    if (nest.reduction) {
      text += std::string(" ") + nameOf(nest.reduction->combiner) + " over";
      for (const Iterator &iterator : nest.reduction->iterators)
        text += " " + iterator.name + ":" + std::to_string(iterator.extent.constant());
    }
    for (const Kept &kept : nest.kept)
      text += "; buffer " + std::to_string(kept.buffer) + " keeps what is reduced";
    for (const Span &span : nest.spans)
      text += "; along " + std::to_string(span.iterator.asIterator()) + " " +
              std::to_string(static_cast<int>(100 * span.share + 0.5)) + " % on average";
    const RegisterTile &r = nest.registers;
    if (r.vectorIterator >= 0)
      text += "; vectors of " + std::to_string(r.lanes) + " along " +
              std::to_string(r.vectorIterator) + " x " + std::to_string(r.vectors) + ", rows " +
              std::to_string(r.rows);
    if (const std::optional<MatrixTile> &m = nest.matrix)
      text += "; on matrix units in " + std::string(nameOf(m->element)) + ", " +
              std::to_string(m->rows) + " x " + std::to_string(m->columns) + " x " +
              std::to_string(m->depth) + " by " + std::to_string(m->down) + " x " +
              std::to_string(m->across) + " x " + std::to_string(m->warpsK) + " warps, " +
              (m->inFours ? "four together, " : "") + (m->inBulk ? "in bulk, " : "") +
              (m->blocks > 1 ? std::to_string(m->blocks) + " blocks, " : "") +
              std::to_string(m->stages) + " stages";
    if (nest.streamed)
      text += std::string("; in one loop with the next three") +
              (nest.skipsBlocks ? ", without hidden blocks" : "");
    if (nest.sharedDimensions)
      text += "; shared by tiles of the last " + std::to_string(nest.sharedDimensions);
    for (const Ahead &ahead : nest.ahead)
      text += "; buffer " + std::to_string(ahead.buffer) + " is asked for " +
              std::to_string(ahead.elements) + " elements ahead" +
              (ahead.rowsApart ? ", row by row" : "") + (ahead.sharedFrom ? ", shared" : "");
    if (nest.pastCaches)
      text += "; stored past the caches";
    text += "\n";
  }
  return text;
}

} // namespace kintsugi::loops
