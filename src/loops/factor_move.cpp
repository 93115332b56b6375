#include "loops/factor_move.h"

#include "loops/fuse.h"
#include "loops/loop_order.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numeric>

namespace kintsugi::loops {

using namespace te;

static constexpr int64_t chunk = FactorMove::elements;

const Expr &unwidened(const Expr &factor) {
  bool widens = factor.kind() == ExprKind::Cast && bitsOf(factor.operand(0).type()) == 16 &&
                isFloat(factor.operand(0).type());
  return widens ? factor.operand(0) : factor;
}

/// Of what an atom stands for.
static int64_t multipleOf(const Atom &atom, const LoopNest &nest,
                          llvm::ArrayRef<TileDimension> space) {
  for (unsigned d = 0; d < space.size(); ++d)
    if (atom.kind == AtomKind::Iterator && atom.iterator == nest.originIterator(d))
      return space[d].startMultiple();
  return 1;
}

/// Whether chunks along an iterator lie at multiples of their size wherever the others stand.
static bool startsWhole(const Index &position, unsigned along, const LoopNest &nest,
                        llvm::ArrayRef<TileDimension> space) {
  return position.constantTerm() % chunk == 0 &&
         llvm::all_of(position.terms(), [&](const Term &term) {
           bool isAlong = term.atom.kind == AtomKind::Iterator && term.atom.iterator == along;
           return isAlong || term.factor * multipleOf(term.atom, nest, space) % chunk == 0;
         });
}

static FactorMove movedHow(const Expr &factor, const LoopNest &nest, ElementType element,
                           llvm::ArrayRef<unsigned> iterators, const Schedule &schedule) {
  const Expr *read = &unwidened(factor);
  bool isPlain = read->type() == element;
  bool hasBorder = read->kind() == ExprKind::Select && read->operand(2).isLiteral();
  if (hasBorder)
    read = &read->operand(1);
  unsigned last = nest.parallel.size() + nest.numReductions() - 1;
  if (isPlain && read->kind() == ExprKind::Read &&
      schedule.buffers[read->readValue().number].packable && nest.extentOf(last) % chunk == 0)
    return {FactorMove::direct, false};
  bool isAlong[2] = {true, true}; // The sum; the iterators' last.
  unsigned reads = 0;
  factor.walk([&](const Expr &e) {
    if (e.kind() != ExprKind::Read)
      return;
    ++reads;
    const Index &index = e.readIndices()[0];
    unsigned along[2] = {last, iterators.back()};
    for (unsigned k : {0, 1}) {
      int64_t stride = strideOf(index, along[k]);
      isAlong[k] &= (stride == 1 || stride == 0) && nest.extentOf(along[k]) % chunk == 0;
    }
  });
  bool areWhole = isAlong[0] || isAlong[1];
  unsigned along = isAlong[0] ? last : iterators.back();
  factor.walk([&](const Expr &e) {
    if (e.kind() == ExprKind::Read)
      areWhole &= startsWhole(e.readIndices()[0], along, nest, schedule.space);
  });
  if (areWhole && isPlain && read->kind() == ExprKind::Read)
    return {hasBorder ? FactorMove::border : FactorMove::direct, false};
  constexpr double inChunk = 2, alone = 40; // With what finds the place, or a line for each.
  double operations = operationsOf(factor) + 1;
  return {chunk * (operations + (areWhole ? inChunk : alone) * reads) + 10, !areWhole};
}

/// Finds how much of what is read lies side by side.
static void findRun(const Expr &read, const LoopNest &nest, const Schedule &schedule,
                    FactorMove &move) {
  unsigned numParallel = nest.parallel.size(), all = numParallel + nest.numReductions();
  const Buffer &buffer = schedule.buffers[read.readValue().number];
  if (buffer.packable || buffer.home == Home::Scratch) { // As the sum has its terms, or near.
    move.run = std::numeric_limits<int64_t>::max();
    move.isAlongSum = true;
    return;
  }
  auto next = [&](unsigned begin, unsigned end) -> std::optional<unsigned> {
    for (unsigned k = begin; k < end; ++k)
      if (nest.extentOf(k) > 1 && strideOf(read.readIndices()[0], k) == move.run)
        return k;
    return std::nullopt;
  };
  move.isAlongSum = next(numParallel, all).has_value();
  unsigned begin = move.isAlongSum ? numParallel : 0, end = move.isAlongSum ? all : numParallel;
  while (std::optional<unsigned> k = next(begin, end))
    move.run *= nest.extentOf(*k);
}

FactorMove factorMoveOf(const Expr &factor, const LoopNest &nest, ElementType element,
                        llvm::ArrayRef<unsigned> iterators, const Schedule &schedule) {
  FactorMove move = movedHow(factor, nest, element, iterators, schedule);
  const Expr *read = &unwidened(factor);
  if (read->kind() == ExprKind::Select)
    read = &read->operand(1);
  if (move.instructions <= FactorMove::border && read->kind() == ExprKind::Read)
    findRun(*read, nest, schedule, move);
  return move;
}

} // namespace kintsugi::loops
