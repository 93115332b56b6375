#include "loops/end_at_size.h"

#include "te/rename.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

namespace {

/// So many at the size: `step` for each of its steps, less what `before` says, in units of `each`.
struct End {
  int64_t step;
  Index before;
  int64_t each;
};

/// Where an iterator ends, of which `each` rows further are a row of `index` further: `index` is at
/// `size` * `step` or behind it from there on, whatever the others are.
std::optional<End> endAlong(const Index &index, int64_t step, unsigned iterator,
                            const LoopNest &nest) {
  int64_t each = index.coefficientOf(iterator);
  unsigned loops = nest.parallel.size() + nest.numReductions();
  Index before = index.constantTerm();
  for (const Term &term : index.terms()) {
    if (term.atom.kind != AtomKind::Iterator || term.factor < 0)
      return std::nullopt;
    if (term.atom.iterator >= loops) // Of the others the least is 0.
      before = before + Index::iterator(term.atom.iterator) * term.factor;
  }
  if (each <= 0)
    return std::nullopt;
  return End{step, before, each};
}

class Ending {
public:
  Ending(const Schedule &schedule, llvm::ArrayRef<OpenBuffer> buffers)
      : schedule(schedule), buffers(buffers) {}

  std::optional<Schedule> run() {
    Schedule result = withOperand();
    bool any = false;
    for (auto [nest, changed] : llvm::zip_equal(schedule.nests, result.nests)) {
      if (nest.inPasses || nest.matrix || nest.streamed || nest.sharedDimensions)
        continue;
      for (unsigned iterator = 0; iterator < nest.parallel.size(); ++iterator)
        if (std::optional<End> end = endOf(nest, iterator)) {
          changed.spans.push_back({Index::iterator(iterator), std::nullopt, numberOf(*end)});
          any = true;
        }
    }
    return any ? std::optional(std::move(result)) : std::nullopt;
  }

private:
  /// Where all of a nest's destinations let an iterator end.
  std::optional<End> endOf(const LoopNest &nest, unsigned iterator) const {
    if (nest.spanOf(iterator) || nest.registers.vectorIterator == int(iterator) ||
        nest.extentOf(iterator) < 2 || nest.destinations.size() + nest.kept.size() != 1)
      return std::nullopt;
    unsigned destination = nest.destinations.front();
    if (schedule.buffers[destination].home != Home::Memory || schedule.buffers[destination].packing)
      return std::nullopt;
    const OpenBuffer &stored = buffers[destination];
    llvm::SmallVector<Index> indices = delinearize(nest.destinationIndex, stored.shape);
    llvm::SmallVector<Interval> ranges = nest.ranges(schedule.space);
    for (const OpenSteps &axis : stored.validity.axes)
      if (auto end = endAlong(simplify(indices[axis.dimension], ranges), axis.step, iterator, nest))
        return end;
    return std::nullopt;
  }

  static Expr numberOf(const End &end) {
    auto number = [](int64_t value) { return Expr::literal(ElementType::I64, value); };
    Expr rows = Expr::read({0}, ElementType::I64, {Index(0)});
    if (end.step != 1)
      rows = rows * number(end.step);
    if (!(end.before == Index(end.each - 1)))
      rows = rows - Expr::index(end.before - (end.each - 1), ElementType::I64);
    return end.each == 1 ? rows : rows / number(end.each);
  }

  /// Every buffer has the next number.
  Schedule withOperand() const {
    Schedule result = schedule;
    result.buffers.insert(result.buffers.begin(),
                          Buffer{ValueId(), ElementType::I64, 1, Home::Memory});
    for (LoopNest &nest : result.nests) {
      for (auto *list : {&nest.bodies, &nest.epilogue})
        for (Expr &expr : *list)
          expr = renumbered(expr);
      for (unsigned &destination : nest.destinations)
        ++destination;
      nest.destinationIndex = mapData(nest.destinationIndex, renumbered);
      for (Kept &kept : nest.kept)
        kept = {renumbered(kept.value), kept.buffer + 1, mapData(kept.index, renumbered)};
      for (Span &span : nest.spans)
        for (std::optional<Expr> *bound : {&span.begin, &span.end})
          if (*bound)
            *bound = renumbered(**bound);
      for (Ahead &ahead : nest.ahead)
        ++ahead.buffer;
    }
    return result;
  }

  static Expr renumbered(const Expr &expr) {
    return renameReads(
        expr, [](ValueId id) { return LoopNest::isAccumulator(id) ? id : ValueId{id.number + 1}; });
  }

  const Schedule &schedule;
  llvm::ArrayRef<OpenBuffer> buffers;
};

} // namespace

std::optional<Schedule> endAtSize(const Schedule &schedule, llvm::ArrayRef<OpenBuffer> buffers) {
  if (schedule.threads > 0)
    return std::nullopt;
  return Ending(schedule, buffers).run();
}

} // namespace kintsugi::loops
