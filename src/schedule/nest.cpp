#include "schedule/nest.h"

#include "schedule/visit.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::schedule {

using namespace te;

namespace {

class Flattener {
public:
  Flattener(const Program &program, llvm::ArrayRef<Interval> ranges, unsigned origins,
            PlacementOf placementOf)
      : program(program), ranges(ranges), origins(origins), placementOf(placementOf) {}

  Expr flatten(const Expr &expr) const {
    return rewrite(expr, [&](const Expr &e) {
      if (e.kind() != ExprKind::Read || LoopNest::isAccumulator(e.readValue()))
        return e;
      return flattenRead(e);
    });
  }

  /// The position of `coordinates` of a value in its buffer.
  Index position(ValueId value, llvm::ArrayRef<Index> coordinates) const {
    const Placement &placement = placementOf(value);
    if (placement.home == Home::Memory)
      return simplify(linearize(coordinates, program.shape(value)), ranges);
    Index flat(0);
    for (auto [coordinate, side] : llvm::zip(coordinates, placement.box))
      flat = flat * side.extent + (coordinate - atOrigin(side.origin));
    return simplify(flat, ranges);
  }

private:
  /// A side's origin in the nest's own numbering.
  Index atOrigin(const Index &origin) const {
    llvm::SmallVector<Index> shifted;
    for (unsigned k = origins; k < ranges.size(); ++k)
      shifted.push_back(Index::iterator(k));
    return substitute(origin, shifted);
  }

  Expr flattenRead(const Expr &read) const {
    ValueId value = read.readValue();
    llvm::SmallVector<Index> coordinates;
    std::optional<Expr> inside;
    for (auto [index, extent] : llvm::zip(read.readIndices(), program.shape(value))) {
      Index coordinate = simplify(index, ranges);
      bool fits = coordinate.isStatic() && rangeOf(coordinate, ranges).within(Interval::of(extent));
      if (read.readFill() && !fits)
        inside = both(inside, isInside(coordinate, extent));
      else if (!read.readFill() && !coordinate.isStatic())
        coordinate = clamp(coordinate, extent);
      coordinates.push_back(std::move(coordinate));
    }
    Expr flat =
        Expr::read({placementOf(value).buffer}, read.type(), {position(value, coordinates)});
    return inside ? Expr::select(*inside, flat, *read.readFill()) : flat;
  }

  static std::optional<Expr> both(std::optional<Expr> a, Expr b) {
    return a ? Expr::binary(BinaryOp::And, *a, b) : b;
  }

  Expr isInside(const Index &coordinate, Extent extent) const {
    bool narrow = coordinate.isStatic();
    ElementType type = narrow ? ElementType::I32 : ElementType::I64;
    Expr number = Expr::index(coordinate, type);
    Interval range =
        coordinate.isStatic() ? rangeOf(coordinate, ranges) : Interval{-1, extent.constant()};
    std::optional<Expr> result;
    if (range.low < 0)
      result =
          both(result, Expr::binary(BinaryOp::LessEqual, Expr::literal(type, int64_t(0)), number));
    if (range.high >= extent.constant())
      result = both(result,
                    Expr::binary(BinaryOp::Less, number, Expr::literal(type, extent.constant())));
    return result ? *result : Expr::boolean(true);
  }

  /// An index from data that lies about its range must not leave the tensor.
  static Index clamp(const Index &coordinate, Extent extent) {
    Expr number = Expr::index(coordinate, ElementType::I64);
    Expr low = Expr::binary(BinaryOp::Max, number, Expr::literal(ElementType::I64, int64_t(0)));
    return Index::data(
        Expr::binary(BinaryOp::Min, low, Expr::literal(ElementType::I64, extent.constant() - 1)));
  }

  const Program &program;
  llvm::ArrayRef<Interval> ranges;
  unsigned origins;
  PlacementOf placementOf;
};

} // namespace

LoopNest makeNest(const Program &program, const Member &member, const Box &box,
                  llvm::ArrayRef<TileDimension> space, PlacementOf placementOf) {
  LoopNest nest;
  nest.node = member.node;
  nest.parallel = member.parallel;
  nest.reduction = member.reduction;
  for (auto [iterator, side] : llvm::zip(nest.parallel, box))
    iterator.extent = Extent(side.extent);
  unsigned iterators = member.numIterators();
  llvm::SmallVector<Interval> ranges = nest.ranges(space);
  llvm::SmallVector<Index> globals, originIterators;
  for (unsigned d = 0; d < space.size(); ++d)
    originIterators.push_back(Index::iterator(iterators + d));
  for (unsigned k = 0; k < iterators; ++k)
    globals.push_back(Index::iterator(k));
  for (auto [k, side] : llvm::enumerate(box))
    globals[k] = globals[k] + substitute(side.origin, originIterators);

  Flattener flattener(program, ranges, iterators, placementOf);
  for (const Expr &body : member.bodies)
    nest.bodies.push_back(flattener.flatten(substitute(body, globals)));
  for (const Expr &finish : member.epilogue)
    nest.epilogue.push_back(flattener.flatten(substitute(finish, globals)));
  if (nest.reduction && nest.epilogue.empty())
    for (auto [k, result] : llvm::enumerate(member.results)) {
      ElementType type = program.value(result).type;
      bool isKey = member.bodies.size() == 1;
      ElementType held = isKey ? nest.reduction->accumulator : type;
      nest.epilogue.push_back(Expr::cast(type, Expr::read(LoopNest::accumulator(k), held, {})));
    }
  for (ValueId result : member.results)
    nest.destinations.push_back(placementOf(result).buffer);
  llvm::SmallVector<Index> coordinates = substitute(member.resultIndices, globals);
  nest.destinationIndex = flattener.position(member.results[0], coordinates);
  return nest;
}

namespace {

bool canJoin(const LoopNest &nest, unsigned outer, unsigned inner, int64_t innerExtent) {
  bool can = true;
  auto check = [&](const Index &index) {
    can &= index.coefficientOf(outer) == innerExtent * index.coefficientOf(inner);
  };
  forEachIndex(nest, check);
  return can;
}

/// Joins list[position] and list[position + 1], which are iterators `outer` and outer + 1; the
/// terms of `dropped`, one of the two, vanish.
template <typename List>
void joinAt(LoopNest &nest, List &list, unsigned position, unsigned outer, unsigned dropped,
            unsigned iterators) {
  int64_t innerExtent = list[position + 1].extent.constant();
  // In every index a true pair occurs as c * (outer * innerExtent + inner): the joined iterator
  // takes the inner one's place.
  llvm::SmallVector<Index> replacements;
  for (unsigned k = 0; k < iterators; ++k) {
    if (k == dropped)
      replacements.push_back(Index(0));
    else
      replacements.push_back(Index::iterator(k > outer ? k - 1 : k));
  }
  replaceIterators(nest, replacements);
  list[position].extent = Extent(list[position].extent.constant() * innerExtent);
  list[position].name += list[position + 1].name;
  list.erase(list.begin() + position + 1);
}

} // namespace

void collapseIterators(LoopNest &nest, unsigned tileDimensions) {
  auto total = [&] { return nest.parallel.size() + nest.numReductions() + tileDimensions; };
  auto collapseList = [&](auto &list, auto first) {
    for (unsigned position = 0; position + 1 < list.size();) {
      unsigned outer = first() + position;
      int64_t outerExtent = list[position].extent.constant();
      int64_t innerExtent = list[position + 1].extent.constant();
      // Indices are simplified, so an iterator of extent 1 occurs in none.
      if (outerExtent == 1 || canJoin(nest, outer, outer + 1, innerExtent))
        joinAt(nest, list, position, outer, outer, total());
      else if (innerExtent == 1)
        joinAt(nest, list, position, outer, outer + 1, total());
      else
        ++position;
    }
  };
  collapseList(nest.parallel, [] { return 0u; });
  if (nest.reduction)
    collapseList(nest.reduction->iterators, [&] { return unsigned(nest.parallel.size()); });
}

} // namespace kintsugi::schedule
