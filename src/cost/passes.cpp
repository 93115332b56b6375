#include "cost/passes.h"

#include "loops/cut_reduction.h"
#include "loops/footprint.h"
#include "loops/loop_order.h"
#include "loops/running.h"
#include "loops/scratch.h"
#include "loops/visit.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

namespace kintsugi::cost {

using namespace loops;
using namespace te;

namespace {

/// A block may take up running values again only if it stored them itself and once.
bool canWait(const LoopNest &nest, const RegisterTile &tile, llvm::ArrayRef<TileDimension> space,
             llvm::ArrayRef<Buffer> buffers) {
  return tile.vectorIterator < int(nest.parallel.size()) &&
         (tile.rowIterator < 0 || nest.extentOf(tile.rowIterator) % tile.rows == 0) &&
         valuesMayWait(nest, space, buffers);
}

class Passes {
public:
  Passes(const LoopNest &nest, llvm::ArrayRef<Buffer> buffers, int64_t nearBytes)
      : nest(nest), buffers(buffers), nearBytes(nearBytes) {
    const RegisterTile &tile = nest.registers;
    for (auto [k, iterator] : llvm::enumerate(nest.parallel)) {
      int64_t extent = iterator.extent.constant();
      int64_t step = tile.stepOf(k);
      blocks.push_back((extent + step - 1) / step);
      extents.push_back(extent);
      if (blocks.back() > 1 && outermost < 0)
        outermost = k, extents.back() = std::min(step, extent);
    }
    for (const Iterator &iterator : nest.reduction->iterators)
      extents.push_back(iterator.extent.constant());
  }

  /// Bytes that the operands of one step of the outermost parallel loop take in a cache, with the
  /// outermost reduction iterator at `slice` points.
  double bytes(int64_t slice) const {
    llvm::SmallVector<int64_t, 8> cut = extents;
    cut[nest.parallel.size()] = slice;
    double total = 0;
    nest.bodies[0].walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read)
        total += bytesOf(e, cut) * crowding(e, cut);
    });
    return total;
  }

  /// Whether the loops inside of the outermost come back to much of what they read.
  bool readsAgain(double total) const {
    constexpr double much = 0.1;
    bool again = false;
    nest.bodies[0].walk([&](const Expr &e) {
      if (e.kind() != ExprKind::Read || bytesOf(e, extents) < much * total)
        return;
      for (unsigned k = outermost + 1; k < nest.parallel.size(); ++k)
        again |= blocks[k] > 1 && !e.readIndices()[0].uses(k);
    });
    return again && outermost >= 0;
  }

private:
  /// How much more room runs take that lie a stride apart which divides the bytes of a cache's way:
  /// they share the same few of its sets.
  double crowding(const Expr &read, llvm::ArrayRef<int64_t> cut) const {
    constexpr int64_t ways = 16, line = 64;
    const Buffer &buffer = buffers[read.readValue().number];
    if (buffer.packable) // Its panels will be one run.
      return 1;
    int64_t each = bytesOfElement(buffer.type);
    int64_t way = std::max(line, nearBytes / ways), run = each, apart = 0;
    llvm::SmallVector<std::pair<int64_t, int64_t>> strides; ///< With extents.
    for (auto [k, extent] : llvm::enumerate(cut)) {
      int64_t stride = strideOf(read.readIndices()[0], k);
      if (stride == irregular)
        return 1;
      if (stride != 0 && extent > 1)
        strides.push_back({std::abs(stride) * each, extent});
    }
    llvm::sort(strides);
    for (auto [stride, extent] : strides) {
      if (stride > std::max(run, line)) {
        apart = stride;
        break;
      }
      run = std::max(run, stride * (extent - 1) + run);
    }
    return apart ? std::max(1.0, double(std::gcd(apart, way)) / double(std::max(run, line))) : 1;
  }

  double bytesOf(const Expr &read, llvm::ArrayRef<int64_t> cut) const {
    const Buffer &buffer = buffers[read.readValue().number];
    return std::min(positionsOf(read.readIndices()[0], cut), double(buffer.elements)) *
           double(bytesOfElement(buffer.type));
  }

  const LoopNest &nest;
  llvm::ArrayRef<Buffer> buffers;
  int64_t nearBytes;
  llvm::SmallVector<int64_t, 8> extents, blocks;
  int outermost = -1; ///< Of the parallel loops that have several blocks.
};

} // namespace

bool valuesMayWait(const LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                   llvm::ArrayRef<Buffer> buffers) {
  if (!nest.reduction || nest.numReductions() == 0 || !nest.spans.empty() ||
      keepsRunningValue(nest) ||
      llvm::any_of(nest.reduction->iterators,
                   [](const Iterator &i) { return i.extent.constant() < 1; }) ||
      nest.reduction->combiner != Combiner::Sum || nest.bodies.size() != 1 ||
      nest.destinations.size() != 1)
    return false;
  const Buffer &destination = buffers[nest.destinations[0]];
  ElementType type = nest.reduction->accumulator;
  if (destination.type != type || (type != ElementType::F32 && type != ElementType::F64))
    return false;
  return destination.home == Home::Scratch ||
         llvm::all_of(space, [](const TileDimension &d) { return d.extent % d.size == 0; });
}

bool comesBackToRows(const LoopNest &nest, const RegisterTile &tile, const Expr &read,
                     llvm::ArrayRef<TileDimension> space, llvm::ArrayRef<Buffer> buffers,
                     int64_t nearBytes) {
  constexpr int64_t far = 1024; ///< Elements of a page: another one for each row.
  constexpr int64_t many = 16;  ///< Rows: with few, the running values move as much as they do.
  constexpr int64_t run = 512;  ///< Which memory brings well.
  int vector = tile.vectorIterator, numParallel = nest.parallel.size();
  if (vector < 0 || vector >= numParallel || !canWait(nest, tile, space, buffers))
    return false;
  const Index &index = read.readIndices()[0];
  const Buffer &buffer = buffers[read.readValue().number];
  for (int k = 0; k < numParallel; ++k)
    if (nest.extentOf(k) > 1 && !index.uses(k))
      return false;
  return index.isAffine() && index.coefficientOf(vector) == 1 &&
         index.coefficientOf(numParallel) >= far && nest.extentOf(numParallel) >= many &&
         nest.extentOf(vector) >= std::max(run, 2 * int64_t(tile.lanes) * tile.vectors) &&
         buffer.elements * bytesOfElement(buffer.type) > nearBytes;
}

/// Passes of so few rows that each is read as one run, and so many that the running values move
/// seldom.
static void passOverRows(LoopNest &nest, llvm::ArrayRef<TileDimension> space) {
  constexpr int64_t most = 8;
  int64_t extent = nest.extentOf(nest.parallel.size()), slice = std::min(most, extent);
  while (extent % slice != 0)
    --slice;
  if (slice > 1)
    cutReduction(nest, 0, slice, space.size());
  nest.registers.unrolledReductions = slice > 1 && nest.numReductions() == 2;
  nest.inPasses = true;
}

/// Of a pass, for the running values that blocks store and take up again: their sums can't start
/// before these come from a cache that is not the nearest.
static double cyclesOfWaiting(const LoopNest &nest) {
  constexpr double latency = 150, eachVector = 1.5;
  double blocks = 1;
  for (unsigned k = 0; k < nest.parallel.size(); ++k)
    blocks *= std::ceil(double(nest.extentOf(k)) / double(nest.registers.stepOf(k)));
  return blocks * (latency + eachVector * nest.registers.rows * nest.registers.vectors);
}

double choosePasses(LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                    llvm::ArrayRef<Buffer> buffers, int64_t nearBytes) {
  constexpr double room = 0.7;      ///< Of the near cache, for operands.
  constexpr int64_t shortest = 256; ///< Steps that make up for moving the running values.
  if (!canWait(nest, nest.registers, space, buffers))
    return 0;
  bool inRows = false;
  nest.bodies[0].walk([&](const Expr &e) {
    inRows |= e.kind() == ExprKind::Read &&
              comesBackToRows(nest, nest.registers, e, space, buffers, nearBytes);
  });
  if (inRows) {
    passOverRows(nest, space);
    return 0; // Which is counted where rows are found to be come back to.
  }
  Passes passes(nest, buffers, nearBytes);
  int64_t extent = nest.extentOf(nest.parallel.size()), inside = 1;
  for (const Iterator &iterator : llvm::drop_begin(nest.reduction->iterators))
    inside *= iterator.extent.constant();
  double all = passes.bytes(extent);
  if (extent < 2 || all <= room * double(nearBytes) || !passes.readsAgain(all))
    return 0;
  int64_t slice = 0;
  for (int64_t count = 2; count <= extent && extent / count * inside >= shortest; ++count) {
    if (extent % count != 0)
      continue;
    slice = extent / count;
    if (passes.bytes(slice) <= room * double(nearBytes))
      break;
  }
  if (!slice || passes.bytes(slice) > 0.75 * all)
    return 0;
  if (slice > 1)
    cutReduction(nest, 0, slice, space.size());
  nest.inPasses = true;
  return double(nest.extentOf(nest.parallel.size()) - 1) * cyclesOfWaiting(nest);
}

} // namespace kintsugi::cost
