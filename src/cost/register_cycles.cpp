#include "cost/register_cycles.h"

#include "cost/passes.h"
#include "loops/fuse.h"
#include "loops/loop_order.h"
#include "loops/packing.h"
#include "loops/visit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>
#include <utility>

namespace kintsugi::cost {

using namespace loops;
using namespace te;

namespace {

/// Cycles of bringing one vector whose lanes lie `stride` elements apart.
double vectorMoveCost(int64_t stride, unsigned lanes) {
  if (lanes == 1)
    return 0.5;
  if (stride == 0 || stride == 1)
    return 0.5;
  if (stride == 2)
    return 1.5;
  constexpr int64_t page = 1024, line = 16;
  if (stride == irregular || std::abs(stride) >= page)
    return 3.0 * lanes;
  return (std::abs(stride) >= line ? 2.0 : 1.2) * lanes;
}

void collect(llvm::ArrayRef<Expr> exprs, llvm::SmallVector<Expr> &reads) {
  for (const Expr &expr : exprs)
    expr.walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read && !LoopNest::isAccumulator(e.readValue()) &&
          !llvm::is_contained(reads, e))
        reads.push_back(e);
    });
}

/// Whether lanes along an iterator lie in one vector, from which they are picked: they are
/// quotients of what moves by less than the divisor, as in images that are made larger.
bool isPicked(const Index &position, unsigned iterator, unsigned lanes) {
  if (position.coefficientOf(iterator) != 0)
    return false;
  unsigned quotients = 0;
  for (const Term &term : position.terms()) {
    const Atom &atom = term.atom;
    if (atom.kind == AtomKind::Data
            ? atom.data->uses(iterator)
            : atom.kind != AtomKind::FloorDiv && atom.operand.uses(iterator))
      return false;
    if (atom.kind != AtomKind::FloorDiv || !atom.operand.uses(iterator))
      continue;
    int64_t step = atom.operand.coefficientOf(iterator);
    if (!atom.operand.isAffine() || step <= 0 || lanes % atom.divisor != 0 ||
        term.factor * step > atom.divisor || term.factor < 1)
      return false;
    ++quotients;
  }
  return quotients == 1;
}

double blocks(int64_t extent, int64_t step) { return std::ceil(double(extent) / step); }

/// Of storing one lane apart from the others.
double scatterCycles(int64_t stride, const Buffer &buffer) {
  constexpr int64_t page = 1024, line = 16;
  if (std::abs(stride) < line)
    return 1.5;
  return std::abs(stride) < page || buffer.home == Home::Scratch ? 3 : 10;
}

/// The tile of those rows that a step so far on has not in common with the one before: a window
/// that slides along the rows comes to one row more.
RegisterTile newRows(llvm::ArrayRef<int64_t> strides, int64_t step, RegisterTile tile) {
  int64_t row = tile.rowIterator < 0 ? 0 : strides[tile.rowIterator];
  if (row != 0 && row != irregular && step != irregular && step % row == 0 && step / row > 0)
    tile.rows = unsigned(std::min<int64_t>(tile.rows, step / row));
  return tile;
}

/// Vectors that a block reads of one operand: those that don't move it share one.
double vectorsOf(llvm::ArrayRef<int64_t> strides, const RegisterTile &tile) {
  auto along = [&](int iterator, unsigned count) {
    return iterator >= 0 && strides[iterator] != 0 ? double(count) : 1.0;
  };
  return along(tile.vectorIterator, tile.vectors) * along(tile.rowIterator, tile.rows);
}

/// Cache lines that a step touches of one operand.
double linesOf(llvm::ArrayRef<int64_t> strides, const RegisterTile &tile) {
  auto along = [&](int iterator, unsigned points) {
    if (iterator < 0 || strides[iterator] == 0)
      return 1.0;
    return std::abs(strides[iterator]) >= 16 ? double(points) : std::ceil(points / 16.0);
  };
  return along(tile.vectorIterator, tile.lanes * tile.vectors) * along(tile.rowIterator, tile.rows);
}

} // namespace

RegisterCycles::RegisterCycles(const LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                               llvm::ArrayRef<Buffer> buffers, const VectorUnit &unit)
    : nest(nest), space(space), buffers(buffers), unit(unit), numParallel(nest.parallel.size()) {
  collect(nest.bodies, bodyReads);
  collect(nest.epilogue, epilogueReads);
  guards.assign(bodyReads.size(), 0);
  for (const Expr &body : nest.bodies)
    usesOf(body, 0);
  for (const Expr &finish : nest.epilogue)
    epilogueOperations += operationsOf(finish);
  unsigned bits = 32;
  for (const Kept &kept : nest.kept)
    bits = std::max(bits, bitsOf(buffers[kept.buffer].type));
  if (nest.reduction)
    bits = std::max(bits, bitsOf(nest.reduction->accumulator));
  for (const Expr &read : bodyReads)
    bits = std::max(bits, isFloat(read.type()) ? bitsOf(read.type()) : 32u);
  reducedLanes = std::max(1u, unit.bits / bits);
  if (!joinsKeys()) // Of those, positions are stored, which take no room while keys are compared.
    for (unsigned destination : nest.destinations)
      bits = std::max(bits, bitsOf(buffers[destination].type));
  fullLanes = std::max(1u, unit.bits / bits);
  plainStrides = stridesOf(bodyReads);
  if (nest.reduction)
    loopOrder = reductionOrder(nest, buffers);
  epilogueStrides = stridesOf(epilogueReads);
  for (unsigned k = 0; k < numParallel; ++k)
    destinationStrides.push_back(nest.destinationIndex.coefficientOf(k));
  packNothing();
}

bool RegisterCycles::joinsKeys() const {
  return nest.reduction && isArgForm(nest.reduction->combiner);
}

Hash128 RegisterCycles::hash() const {
  Hasher hasher("register cycles");
  hasher.add(unit.bits).add(unit.registers).add(unit.multiplyAdds).add(unit.nearestBytes);
  hasher.add(unit.nearBytes).add(unit.nearRate).add(unit.allBytes);
  hasher.add(numParallel).add(nest.numReductions()).add(fullLanes).add(reducedLanes);
  hasher.add(nest.reduction ? int(nest.reduction->combiner) : -1);
  hasher.add(valuesMayWait(nest, space, buffers)).addRange(loopOrder).addRange(destinationStrides);
  for (unsigned k = 0; k < numParallel + nest.numReductions(); ++k)
    hasher.add(nest.extentOf(k)).add(nest.spanOf(k) != nullptr);
  auto addPlace = [&](const Buffer &buffer, const Index &index) {
    hasher.add(buffer.type).add(buffer.elements).add(buffer.home);
    for (unsigned k = 0; k < numParallel; ++k)
      hasher.add(strideOf(index, k));
  };
  addPlace(buffers[nest.destinations[0]], nest.destinationIndex);
  hasher.add(nest.kept.size());
  for (const Kept &kept : nest.kept) {
    addPlace(buffers[kept.buffer], kept.index);
    for (unsigned k = 0; k < nest.numReductions(); ++k)
      hasher.add(strideOf(kept.index, numParallel + k));
  }
  hasher.addRange(guards);
  for (auto [read, strides] : llvm::zip_equal(bodyReads, plainStrides))
    addRead(hasher, read, strides);
  hasher.add(epilogueReads.size()).add(epilogueOperations);
  for (llvm::ArrayRef<int64_t> strides : epilogueStrides)
    hasher.addRange(strides);
  for (const Operation &operation : operations)
    hasher.add(operation.cost).add(operation.uses);
  return hasher.finish();
}

void RegisterCycles::addRead(Hasher &hasher, const Expr &read,
                             llvm::ArrayRef<int64_t> strides) const {
  const Buffer &buffer = buffers[read.readValue().number];
  const Index &position = read.readIndices()[0];
  hasher.add(buffer.type).add(buffer.elements).add(buffer.home).add(buffer.packable);
  hasher.addRange(strides).add(position.isAffine()).add(!nest.reduction && nextTileGoesOn(read));
  if (!buffer.packable || !position.isAffine())
    return;
  hasher.add(position.constantTerm()).add(space.size());
  for (auto [d, dimension] : llvm::enumerate(space))
    hasher.add(position.coefficientOf(nest.originIterator(d)))
        .add(dimension.extent)
        .add(dimension.size);
}

bool RegisterCycles::readsAll() const {
  return llvm::all_of(guards, [](Uses guard) { return guard == 0; });
}

bool RegisterCycles::turns(const RegisterTile &tile) const {
  return llvm::any_of(bodyStrides,
                      [&](llvm::ArrayRef<int64_t> strides) { return isTurned(strides, tile); });
}

void RegisterCycles::packNothing() {
  bodyStrides = plainStrides;
  isPacked.assign(bodyReads.size(), false);
}

/// The iterators that change an expression of the body; notes its operations on the way, and for
/// reads what changes whether they are wanted (`guard`).
RegisterCycles::Uses RegisterCycles::usesOf(const Expr &expr, Uses guard) {
  auto [entry, isNew] = visited.try_emplace(expr.identity(), Visit{0, guard});
  if (!isNew && (guard & ~entry->second.guard) == 0)
    return entry->second.uses;
  Uses seen = entry->second.guard |= guard;
  Uses uses = usedByIndices(expr, numParallel + nest.numReductions());
  if (expr.kind() == ExprKind::Read)
    if (auto read = llvm::find(bodyReads, expr); read != bodyReads.end())
      guards[read - bodyReads.begin()] |= seen;
  bool isCondition = expr.kind() == ExprKind::Select; // It comes first.
  for (const Expr &operand : expr.operands()) {
    Uses own = usesOf(operand, seen);
    uses |= own;
    seen |= std::exchange(isCondition, false) ? own : 0;
  }
  visited[expr.identity()].uses = uses;
  if (double own = ownOperations(expr); isNew && own > 0)
    operations.push_back({own, uses});
  return uses;
}

/// For each read, how its position moves with each iterator.
RegisterCycles::Strides RegisterCycles::stridesOf(llvm::ArrayRef<Expr> reads) const {
  Strides strides;
  for (const Expr &read : reads) {
    strides.emplace_back();
    constexpr int64_t picked = 2; // As much as every other element.
    for (unsigned k = 0; k < numParallel + nest.numReductions(); ++k) {
      const Index &position = read.readIndices()[0];
      int64_t stride = strideOf(position, k);
      bool picks = stride == irregular && isPicked(position, k, fullLanes);
      strides.back().push_back(picks ? picked : stride);
    }
  }
  return strides;
}

bool RegisterCycles::isTurned(llvm::ArrayRef<int64_t> strides, const RegisterTile &tile) const {
  if (tile.vectorIterator < 0 || tile.rowIterator < 0 || tile.lanes < 2 ||
      tile.rows % tile.lanes != 0 || nest.reduction)
    return false;
  int64_t stride = strides[tile.vectorIterator];
  return strides[tile.rowIterator] == 1 && stride != irregular && (stride < -1 || stride > 2);
}

void RegisterCycles::packFor(unsigned v, unsigned lanes) {
  packNothing();
  if (!nest.reduction || v >= numParallel)
    return;
  for (auto [number, read] : llvm::enumerate(bodyReads)) {
    const Buffer &buffer = buffers[read.readValue().number];
    if (!buffer.packable ||
        !packRead(nest, space, read.readIndices()[0], v, lanes, buffer.elements))
      continue;
    for (int64_t &stride : bodyStrides[number]) // Panels start where vectors do.
      stride = stride == irregular ? irregular : stride * lanes;
    bodyStrides[number][v] = 1;
    isPacked[number] = true;
  }
}

/// Of the reads of the body: lanes that want different reads have all of them, under masks.
double RegisterCycles::bodyLoads(const RegisterTile &tile) const {
  constexpr double masked = 5;
  double cycles = loads(bodyReads, bodyStrides, tile);
  for (Uses guard : guards)
    if (tile.vectorIterator >= 0 && guard >> tile.vectorIterator & 1)
      cycles += masked * tile.vectors * tile.rows;
  return cycles;
}

/// Further cycles of a vector whose place is no multiple of its length: it lies in two lines, if
/// it is as long as a line always.
double RegisterCycles::crossing(llvm::ArrayRef<int64_t> strides, const RegisterTile &tile) const {
  constexpr unsigned line = 16;
  if (tile.vectorIterator < 0 || tile.lanes < 4)
    return 0;
  int64_t stride = std::abs(strides[tile.vectorIterator]);
  bool isShifted = llvm::any_of(llvm::enumerate(strides), [&](const auto &entry) {
    auto [k, other] = entry;
    return int(k) != tile.vectorIterator && nest.extentOf(k) > 1 && other != irregular &&
           other % tile.lanes != 0;
  });
  if ((stride != 1 && stride != 2) || !isShifted)
    return 0;
  return 0.5 * double(stride) * std::min(1.0, double(tile.lanes) / line);
}

double RegisterCycles::loads(llvm::ArrayRef<Expr> reads, const Strides &readStrides,
                             const RegisterTile &tile) const {
  double cycles = 0;
  for (auto [read, strides] : llvm::zip_equal(reads, readStrides)) {
    int64_t stride = tile.vectorIterator < 0 ? 0 : strides[tile.vectorIterator];
    cycles +=
        vectorsOf(strides, tile) *
        (isTurned(strides, tile) ? turning(read, strides, tile)
                                 : vectorMoveCost(stride, tile.lanes) + crossing(strides, tile));
  }
  return cycles;
}

/// Of a vector: its share of a block's loads and shuffles. Where each row is on a page of its
/// own, it costs besides to go through more of them than prefetchers follow, much where memory
/// has them, and to take little of each.
double RegisterCycles::turning(const Expr &read, llvm::ArrayRef<int64_t> strides,
                               const RegisterTile &tile) const {
  constexpr double inRegisters = 5, followed = 64, page = 1024, unfollowed = 20;
  if (double(std::abs(strides[tile.vectorIterator])) < page)
    return inRegisters;
  double pages = double(nest.extentOf(tile.vectorIterator));
  double taken =
      nextTileGoesOn(read) ? page : std::min(page, double(nest.extentOf(tile.rowIterator)));
  bool waits = pages > followed && isBeyondCaches(buffers[read.readValue().number]);
  return inRegisters + (waits ? unfollowed : 0) + 0.5 * std::log2(std::max(1.0, pages / followed)) +
         0.3 * std::log2(page / taken);
}

/// Whether the next tile reads what lies beside what this one reads.
bool RegisterCycles::nextTileGoesOn(const Expr &read) const {
  for (unsigned d = space.size(); d-- > 0;)
    if (space[d].count() > 1)
      return strideOf(read.readIndices()[0], nest.originIterator(d)) == 1;
  return false;
}

/// Cycles lost in each step of the reduction on cache lines that the last step did not touch.
double RegisterCycles::farLines(const RegisterTile &tile) const {
  constexpr double prefetchedLine = 0.5;
  double cycles = 0;
  for (auto [read, strides, packed] : llvm::zip(bodyReads, bodyStrides, isPacked)) {
    if (packed)
      continue;
    double size = bytesBetweenBlocks(read, strides);
    if (comesBackToRows(nest, tile, read, space, buffers, unit.nearBytes)) {
      constexpr double inRun = 2, toWait = 0.5; // For a line, and for the running values.
      cycles += linesOf(strides, tile) * inRun + toWait * tile.vectors * tile.rows;
      continue;
    }
    bool ahead = isPrefetched(strides, tile);
    double stepsInside = 1; // Of one step of the iterator at hand.
    for (unsigned k : llvm::reverse(loopOrder)) {
      int64_t stride = strides[numParallel + k];
      double others = linesOf(strides, newRows(strides, stride, tile));
      double line = anotherLine(stride, size);
      line = ahead ? std::min(prefetchedLine, line) : line;
      cycles += others * line / stepsInside;
      stepsInside *= double(nest.extentOf(numParallel + k));
    }
  }
  return cycles;
}

/// Whether blocks go on along all rows of a sum where those before ended, in so few streams that
/// the processor's prefetchers follow each.
bool RegisterCycles::isPrefetched(llvm::ArrayRef<int64_t> strides, const RegisterTile &tile) const {
  constexpr int64_t followed = 32;        ///< Streams.
  constexpr int64_t line = 16, run = 512; ///< Elements.
  int vector = tile.vectorIterator;
  if (vector < 0 || vector >= int(numParallel) || strides[vector] != 1 ||
      nest.extentOf(vector) < run)
    return false;
  for (unsigned k = vector + 1; k < numParallel; ++k)
    if (strides[k] != 0 && nest.extentOf(k) > tile.stepOf(k))
      return false;
  int64_t streams = tile.rowIterator >= 0 && strides[tile.rowIterator] != 0 ? tile.rows : 1;
  for (unsigned k = numParallel; k < strides.size(); ++k) {
    if (strides[k] == irregular)
      return false;
    if (std::abs(strides[k]) >= line)
      streams = std::min(streams, followed + 1) * nest.extentOf(k);
  }
  return streams <= followed;
}

/// What the loops go through of a buffer before they come to elements that a table sends them to;
/// all of it where none does.
double RegisterCycles::bytesBetweenBlocks(const Expr &read, llvm::ArrayRef<int64_t> strides) const {
  const Buffer &buffer = buffers[read.readValue().number];
  double block = 1;
  bool byTable = false;
  for (auto [k, stride] : llvm::enumerate(strides)) {
    bool isSpan = stride == irregular && nest.spanOf(k);
    byTable |= isSpan;
    if (stride != 0 && !isSpan)
      block *= double(nest.extentOf(k));
  }
  double all = double(buffer.elements);
  return (byTable ? std::min(block, all) : all) * bitsOf(buffer.type) / 8;
}

/// Of coming to another line so many elements on: prefetchers follow small steps, and stay within
/// a page; what the near caches can't hold comes from farther.
double RegisterCycles::anotherLine(int64_t stride, double size) const {
  constexpr int64_t page = 1024, line = 16;
  constexpr double nearest = 32 << 10;
  stride = stride == irregular ? page : std::abs(stride);
  if (stride < line)
    return 0.5 * double(stride) / line;
  if (stride < page)
    return size > nearest ? 2 : 0.25;
  return size > double(unit.nearBytes) ? 20 : 1.5;
}

/// Cycles lost in each step on lines of rows that put each other out of the innermost cache before
/// the next step comes back to them: rows a multiple of a way's bytes apart share a set. A way is a
/// page, in which a set is known before the address is translated.
double RegisterCycles::crowdedRows(const RegisterTile &tile) const {
  constexpr int64_t wayBytes = 4096, line = 64;
  constexpr double again = 0.3; ///< Of a line from the next cache, beside arithmetic.
  if (tile.rowIterator < 0 || loopOrder.empty())
    return 0;
  unsigned innermost = numParallel + loopOrder.back();
  int64_t ways = std::max<int64_t>(1, unit.nearestBytes / wayBytes);
  double cycles = 0;
  for (auto [read, strides, packed] : llvm::zip(bodyReads, bodyStrides, isPacked)) {
    int64_t row = strides[tile.rowIterator], step = strides[innermost];
    if (packed || row == irregular || step == irregular)
      continue;
    int64_t each = bitsOf(read.type()) / 8, apart = std::abs(row) * each;
    if (apart < line || std::abs(step) * each >= line)
      continue;
    int64_t sets = wayBytes / std::max(line, std::gcd(apart, wayBytes));
    if (int64_t(llvm::divideCeil(tile.rows, sets)) > ways)
      cycles += again * tile.rows;
  }
  return cycles;
}

double RegisterCycles::of(const RegisterTile &tile, double limit) const {
  if (tile.vectorIterator < 0 || tile.vectorIterator >= int(numParallel) || !nest.reduction)
    return ofBlocks(tile, -1, limit);
  int64_t extent = nest.extentOf(tile.vectorIterator);
  int64_t all = llvm::divideCeil(extent, tile.lanes);
  double cycles = ofBlocks(tile, double(all / tile.vectors), limit);
  if (cycles >= limit)
    return cycles;
  RegisterTile tail = tile;
  tail.vectors = all % tile.vectors;
  if (tail.vectors)
    cycles += ofBlocks(tail, 1, limit - cycles);
  bool masks = extent % tile.lanes != 0;
  return masks ? cycles + masking(tail.vectors ? tail : tile) : cycles;
}

/// Of the last block along the vector iterator, whose lanes are not all wanted: without registers
/// for masks a load under one is no operand of an operation, and takes several.
double RegisterCycles::masking(const RegisterTile &tile) const {
  constexpr unsigned bitsWithMasks = 512;
  constexpr double maskedLoad = 1.5;
  if (unit.bits >= bitsWithMasks)
    return 0;
  double vectorLoads = 0, runs = 1;
  for (llvm::ArrayRef<int64_t> strides : bodyStrides)
    if (strides[tile.vectorIterator] != 0)
      vectorLoads += vectorsOf(strides, tile);
  for (unsigned k = 0; k < numParallel + nest.numReductions(); ++k)
    if (int(k) != tile.vectorIterator)
      runs *= blocks(nest.extentOf(k), tile.stepOf(k));
  return runs * vectorLoads * maskedLoad;
}

/// `columns`: how many blocks there are along the vector iterator; -1: as many as cover it. What is
/// quickly known to take as long as `limit` is looked at no further.
double RegisterCycles::ofBlocks(const RegisterTile &tile, double columns, double limit) const {
  double points = 1, steps = 1;
  bool vectorReduces = tile.vectorIterator >= int(numParallel);
  for (unsigned k = 0; k < numParallel; ++k) {
    int64_t step = tile.stepOf(k);
    points *=
        int(k) == tile.vectorIterator && columns >= 0 ? columns : blocks(nest.extentOf(k), step);
  }
  for (unsigned k = numParallel; k < numParallel + nest.numReductions(); ++k)
    steps *= blocks(nest.extentOf(k), tile.stepOf(k));
  double width = double(tile.rows) * tile.vectors;
  constexpr double ofKeys = 4; ///< Operations that compare keys and choose them and their places.
  double operations =
      joinsKeys() ? ofKeys * width + operationsIn(tile) : std::max(width, operationsIn(tile));
  double arithmetic = operations * 0.5;
  constexpr double between = 2; ///< One block and the next.
  if (!nest.reduction) {
    if (double least = points * (arithmetic + between); least >= limit)
      return least;
    return points *
           (std::max(bodyLoads(tile), 0.5) + arithmetic + stores(tile, vectorReduces) + between);
  }
  const double chain = (joinsKeys() ? 3.0 : 2.0) * unit.multiplyAdds; ///< From one sum to the next.
  constexpr double late = 0.3; ///< Of a load, where there are no more sums than fill that time.
  constexpr double sustained = 0.7; ///< Of the rate of a cache, beside arithmetic.
  constexpr double ofLoop = 0.25;
  double step = std::max(arithmetic, chain);
  if (double least = points * (steps * (step + ofLoop) + between); least >= limit)
    return least;
  step = std::max(step, bodyLoads(tile));
  if (double least = points * (steps * (step + ofLoop) + between); least >= limit)
    return least;
  step = std::max(step, panelBytes(tile) / (sustained * unit.nearRate)) + keeping(tile) + ofLoop +
         late * std::clamp(2 - 0.5 * width / chain, 0.0, 1.0) + farLines(tile) + crowdedRows(tile);
  return points * (steps * step + stores(tile, vectorReduces) + between);
}

/// Vector operations of one step. An operation is done once for the rows and vectors that change
/// it; one that no reduction changes, outside. A product that is summed is one with the sum.
double RegisterCycles::operationsIn(const RegisterTile &tile) const {
  Uses reduced = ((Uses(1) << nest.numReductions()) - 1) << numParallel;
  double total = 0;
  for (const Operation &operation : operations) {
    if (nest.reduction && !(operation.uses & reduced))
      continue;
    auto changes = [&](int iterator) { return iterator >= 0 && operation.uses >> iterator & 1; };
    total += operation.cost * (changes(tile.vectorIterator) ? tile.vectors : 1) *
             (changes(tile.rowIterator) ? tile.rows : 1);
  }
  return total;
}

/// What a step reads again of runs along vectors that a block goes through from end to end, where
/// they are longer than what the innermost cache keeps for the next block. What is read for the
/// first time is part of a nest's traffic.
double RegisterCycles::panelBytes(const RegisterTile &tile) const {
  constexpr double kept = 0.75;
  double bytes = 0;
  for (auto [read, strides] : llvm::zip_equal(bodyReads, bodyStrides)) {
    if (tile.vectorIterator < 0 || tile.lanes < 4 || strides[tile.vectorIterator] != 1)
      continue;
    double each = vectorsOf(strides, tile) * tile.lanes * bitsOf(read.type()) / 8, block = each;
    for (unsigned k = numParallel; k < strides.size(); ++k)
      block *= strides[k] != 0 ? double(nest.extentOf(k)) : 1;
    block = std::min(block,
                     double(buffers[read.readValue().number].elements) * bitsOf(read.type()) / 8);
    double times = 1; // Blocks that read it.
    for (unsigned k = 0; k < numParallel; ++k)
      times *= strides[k] == 0 ? blocks(nest.extentOf(k), tile.stepOf(k)) : 1;
    bytes += block > kept * double(unit.nearestBytes) ? each * (1 - 1 / times) : 0;
  }
  return bytes;
}

/// Of storing in each step what is kept.
double RegisterCycles::keeping(const RegisterTile &tile) const {
  double cycles = 0;
  for (const Kept &kept : nest.kept) {
    int64_t stride = tile.vectorIterator < 0 ? 1 : strideOf(kept.index, tile.vectorIterator);
    double each = stride == 1 ? 1 : scatterCycles(stride, buffers[kept.buffer]) * tile.lanes;
    cycles += each * tile.vectors * tile.rows;
  }
  return cycles;
}

bool RegisterCycles::isBeyondCaches(const Buffer &buffer) const {
  return buffer.home == Home::Memory &&
         double(buffer.elements) * bitsOf(buffer.type) / 8 > unit.allBytes;
}

/// Of a vector that goes past the caches, when the next one goes elsewhere: memory takes parts of
/// lines one by one, and few lines in a row less quickly than many.
double RegisterCycles::shortRuns(const RegisterTile &tile) const {
  constexpr double ofPart = 40, ofRun = 8, line = 64, enough = 4 * line; // Bytes.
  const Buffer &buffer = buffers[nest.destinations[0]];
  if (nest.reduction || !isBeyondCaches(buffer))
    return 0;
  double each = bitsOf(buffer.type) / 8.0, run = double(storedRun(tile)) * each;
  if (run < line)
    return ofPart;
  if (tile.rowIterator >= 0) // Blocks that follow each other go on where the last one ended.
    run = std::max(run, double(nest.extentOf(tile.vectorIterator)) * each);
  return run < enough ? ofRun * (line / run - line / enough) : 0;
}

/// Elements that are stored side by side, one soon after the other.
int64_t RegisterCycles::storedRun(const RegisterTile &tile) const {
  int64_t run = tile.rowIterator < 0 ? nest.extentOf(tile.vectorIterator)
                                     : int64_t(tile.lanes) * tile.vectors;
  for (unsigned k = numParallel; k-- > 0;)
    if (int(k) != tile.vectorIterator && nest.extentOf(k) > 1 &&
        std::abs(destinationStrides[k]) <= run)
      run = std::max(run, std::abs(destinationStrides[k]) * nest.extentOf(k));
  return run;
}

double RegisterCycles::stores(const RegisterTile &tile, bool vectorReduces) const {
  double stored = double(tile.rows) * (vectorReduces ? 1 : tile.vectors);
  double cost = 1;
  if (tile.vectorIterator >= 0 && !vectorReduces) {
    int64_t stride = strideOf(nest.destinationIndex, tile.vectorIterator);
    cost = stride == 1 ? 1.0 + 2 * crossing(destinationStrides, tile) + shortRuns(tile)
                       : scatterCycles(stride, buffers[nest.destinations[0]]) * tile.lanes;
  }
  double horizontal = vectorReduces ? 3.0 * std::log2(double(tile.lanes)) : 0;
  RegisterTile scalar = tile;
  if (vectorReduces)
    scalar.vectorIterator = -1, scalar.lanes = scalar.vectors = 1;
  return stored * (cost + horizontal + epilogueOperations * 0.5) +
         loads(epilogueReads, epilogueStrides, scalar);
}

} // namespace kintsugi::cost
