#include "cost/thread_work.h"

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
  collect(nest.bodies, schedule, bodyReads);
  collect(nest.epilogue, schedule, epilogueReads);
  for (const Expr &body : nest.bodies)
    usesOf(body);
  for (const Expr &finish : nest.epilogue)
    epilogueOperations += operationsOf(finish);
  for (unsigned k = 0; k < numIterators; ++k)
    destination.strides.push_back(k < numParallel ? strideOf(nest.destinationIndex, k) : 0);
  const Buffer &stored = schedule.buffers[nest.destinations[0]];
  destination.bytes = bytesOfElement(stored.type);
  destination.isFar = stored.home == Home::Memory;
  noteAlignment(destination, nest.destinationIndex, schedule);
}

static void add(Hasher &hasher, const ThreadWork::Access &access) {
  hasher.addRange(access.strides).add(access.bytes).add(access.isFar);
  hasher.addRange(access.alignedAlong);
}

Hash128 ThreadWork::hash(int threads) const {
  Hasher hasher("threads");
  hasher.add(core.subgroup).add(core.registers).add(core.schedulers);
  hasher.add(core.memoryCycles).add(core.cacheCycles).add(core.scratchCycles);
  hasher.add(threads).add(numParallel).add(numIterators).add(nest.share());
  for (unsigned k = 0; k < numIterators; ++k)
    hasher.add(nest.extentOf(k)).add(nest.spanOf(k) != nullptr);
  hasher.add(nest.reduction ? int(nest.reduction->combiner) : -1).add(joinBytes);
  add(hasher, destination);
  for (const std::vector<Read> *reads : {&bodyReads, &epilogueReads}) {
    hasher.add(reads->size());
    for (const Read &read : *reads) {
      add(hasher, read);
      hasher.add(read.elements).addRange(read.packed.value_or(Strides()));
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
  read.strides = stridesOf(expr.readIndices()[0]);
  read.bytes = bytesOfElement(buffer.type);
  read.isFar = buffer.home == Home::Memory;
  noteAlignment(read, expr.readIndices()[0], schedule);
  read.elements = 1;
  for (unsigned k = 0; k < numIterators; ++k)
    if (read.strides[k] != 0)
      read.elements *= double(nest.extentOf(k));
  read.elements = std::min(read.elements, double(buffer.elements));
  if (!buffer.packable || buffer.packing || !read.isFar || !nest.reduction)
    return read;
  if (auto packed = packReadInOrder(nest, schedule.space, expr.readIndices()[0], buffer.elements))
    read.packed = stridesOf(packed->position);
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

ThreadWork::Strides ThreadWork::stridesOf(const Index &position) const {
  Strides strides;
  for (unsigned k = 0; k < numIterators; ++k)
    strides.push_back(strideOf(position, k));
  return strides;
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
