#include "cost/thread_work.h"

#include "cost/warp_walk.h"
#include "loops/block_memory.h"
#include "loops/fuse.h"
#include "loops/loop_order.h"
#include "loops/packing.h"
#include "loops/scratch.h"
#include "loops/visit.h"
#include "loops/warp_moves.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace kintsugi::cost {

using namespace loops;
using namespace te;

/// Of two running values, or of a running value and a term.
static double joinOperationsOf(const LoopNest &nest) {
  if (!nest.reduction)
    return 0;
  switch (nest.reduction->combiner) {
  case Combiner::SoftmaxStats: // Whichever maximum is less, its sum is scaled by a power.
    return 14;
  case Combiner::ArgMax:
  case Combiner::ArgMin:
    return 5;
  default:
    return 1;
  }
}

ThreadWork::ThreadWork(const LoopNest &nest, const Schedule &schedule,
                       const machine::BlockCore &core)
    : nest(nest), core(core), numParallel(nest.parallel.size()),
      numIterators(numParallel + nest.numReductions()), joinBytes(joinBytesOf(nest)),
      joinOperations(joinOperationsOf(nest)) {
  for (const LoopNest &before : schedule.nests)
    llvm::append_range(readBefore, buffersRead(before));
  collect(nest.bodies, schedule, bodyReads);
  collect(nest.epilogue, schedule, epilogueReads);
  for (const Expr &body : nest.bodies)
    usesOf(body);
  for (const Expr &finish : nest.epilogue)
    epilogueOperations += operationsOf(finish);
  const Buffer &stored = schedule.buffers[nest.destinations[0]];
  destination.bytes = bytesOfElement(stored.type);
  static_cast<Walk &>(destination) = walkOf(nest.destinationIndex, destination.bytes);
  destination.isFar = stored.home == Home::Memory;
  noteAlignment(destination, nest.destinationIndex, schedule);
}

static void add(Hasher &hasher, const ThreadWork::Access &access) {
  hasher.addRange(access.strides).addRange(access.slopes).add(access.bytes).add(access.isFar);
  hasher.addRange(access.alignedAlong);
}

Hash128 ThreadWork::hash(int threads) const {
  Hasher hasher("threads");
  hasher.add(core.subgroup).add(core.registers).add(core.schedulers);
  hasher.add(core.sharedCycles).add(core.cacheCycles).add(core.scratchCycles);
  hasher.add(threads).add(numParallel).add(numIterators).add(nest.share());
  for (unsigned k = 0; k < numIterators; ++k)
    hasher.add(nest.extentOf(k)).add(nest.spanOf(k) != nullptr);
  hasher.add(nest.reduction ? int(nest.reduction->combiner) : -1).add(joinBytes);
  add(hasher, destination);
  for (const std::vector<Read> *reads : {&bodyReads, &epilogueReads}) {
    hasher.add(reads->size());
    for (const Read &read : *reads) {
      add(hasher, read);
      Walk packed = read.packed.value_or(Walk());
      hasher.add(read.elements).add(read.cycles);
      hasher.addRange(packed.strides).addRange(packed.slopes);
    }
  }
  for (const Operation &operation : operations)
    hasher.add(operation.cost).add(operation.uses);
  return hasher.add(epilogueOperations).finish();
}

/// Operations that special units take off what an expression costs without.
static double savedByUnits(const Expr &expr) {
  if (expr.kind() == ExprKind::Unary && expr.unaryOp() == UnaryOp::Exp)
    return 5;
  return expr.kind() == ExprKind::Binary && expr.binaryOp() == BinaryOp::Div ? 2 : 0;
}

void ThreadWork::collect(llvm::ArrayRef<Expr> exprs, const Schedule &schedule,
                         std::vector<Read> &reads) const {
  for (const Expr &expr : exprs)
    expr.walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read && !LoopNest::isAccumulator(e.readValue()) &&
          llvm::none_of(reads, [&](const Read &read) { return read.expr == e; }))
        reads.push_back(readOf(e, schedule));
    });
}

ThreadWork::Read ThreadWork::readOf(const Expr &expr, const Schedule &schedule) const {
  const Buffer &buffer = schedule.buffers[expr.readValue().number];
  Read read(expr);
  read.bytes = bytesOfElement(buffer.type);
  static_cast<Walk &>(read) = walkOf(expr.readIndices()[0], read.bytes);
  read.isFar = buffer.home == Home::Memory;
  bool isNear = llvm::is_contained(readBefore, expr.readValue().number);
  read.cycles = !read.isFar ? core.scratchCycles : isNear ? core.cacheCycles : core.sharedCycles;
  noteAlignment(read, expr.readIndices()[0], schedule);
  read.elements = 1;
  for (unsigned k = 0; k < numIterators; ++k)
    if (read.strides[k] != 0)
      read.elements *= double(nest.extentOf(k));
  read.elements = std::min(read.elements, double(buffer.elements));
  if (!buffer.packable || buffer.packing || !read.isFar || !nest.reduction)
    return read;
  if (auto packed = packReadInOrder(nest, schedule.space, expr.readIndices()[0], buffer.elements))
    read.packed = walkOf(packed->position, read.bytes);
  return read;
}

void ThreadWork::noteAlignment(Access &access, const Index &position,
                               const Schedule &schedule) const {
  for (unsigned k = 0; k < numIterators; ++k)
    access.alignedAlong.push_back(
        access.strides[k] == 1
            ? alignedElements(nest, schedule.space, position, k, mostTogether / access.bytes)
            : 1);
}

/// Where a position is for one value of an iterator and none of the others; nullopt: data says.
static std::optional<int64_t> positionAt(const Index &position, unsigned iterator, int64_t value) {
  int64_t sum = position.constantTerm();
  for (const Term &term : position.terms()) {
    const Atom &atom = term.atom;
    if (atom.kind == AtomKind::Data)
      return std::nullopt;
    if (atom.kind == AtomKind::Iterator) {
      sum += atom.iterator == iterator ? term.factor * value : 0;
      continue;
    }
    std::optional<int64_t> inside = positionAt(atom.operand, iterator, value);
    if (!inside)
      return std::nullopt;
    int64_t quotient = llvm::divideFloorSigned(*inside, atom.divisor);
    sum += term.factor *
           (atom.kind == AtomKind::FloorDiv ? quotient : *inside - quotient * atom.divisor);
  }
  return sum;
}

/// Through divisions neighbours stay near each other but for a few: each of those is in one more
/// line.
static double slopeOf(const Index &position, unsigned iterator, int64_t extent, double inLine) {
  constexpr int64_t looked = 64;
  double sum = 0;
  int64_t points = std::min(extent, looked);
  std::optional<int64_t> last = positionAt(position, iterator, 0);
  for (int64_t point = 1; point < points; ++point) {
    std::optional<int64_t> next = positionAt(position, iterator, point);
    if (!next)
      return inLine;
    sum += std::min(inLine, std::abs(double(*next - *last)));
    last = next;
  }
  return points > 1 ? sum / double(points - 1) : 0;
}

ThreadWork::Walk ThreadWork::walkOf(const Index &position, int64_t bytes) const {
  Walk walk;
  double inLine = double(WarpWalk::lineBytes) / double(bytes);
  for (unsigned k = 0; k < numIterators; ++k) {
    int64_t stride = strideOf(position, k);
    walk.strides.push_back(stride);
    walk.slopes.push_back(stride == irregular ? slopeOf(position, k, nest.extentOf(k), inLine)
                                              : std::min(inLine, std::abs(double(stride))));
  }
  return walk;
}

/// The iterators that change an expression of the body; notes its operations on the way.
uint64_t ThreadWork::usesOf(const Expr &expr) {
  if (auto known = usesBelow.find(expr.identity()); known != usesBelow.end())
    return known->second;
  uint64_t uses = usedByIndices(expr, numIterators);
  for (const Expr &operand : expr.operands())
    uses |= usesOf(operand);
  if (double own = ownOperations(expr) - savedByUnits(expr); own > 0)
    operations.push_back({own, uses});
  usesBelow[expr.identity()] = uses;
  return uses;
}

} // namespace kintsugi::cost
