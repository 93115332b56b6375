#include "loops/nest.h"

#include "loops/visit.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

namespace {

class Flattener {
public:
  Flattener(const GroupValues &values, llvm::ArrayRef<Interval> ranges, unsigned origins,
            PlacementOf placementOf)
      : values(values), ranges(ranges), placementOf(placementOf) {
    for (unsigned k = origins; k < ranges.size(); ++k)
      originIterators.push_back(Index::iterator(k));
  }

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
      return simplify(linearize(coordinates, values.shape(value)), ranges);
    Index flat(0);
    for (auto [d, coordinate] : llvm::enumerate(coordinates)) {
      const Side &side = placement.box[d];
      bool isLast = d + 1 == placement.box.size();
      flat = flat * (isLast && placement.pitch ? placement.pitch : side.extent) +
             (coordinate - atOrigin(side.origin));
    }
    return simplify(flat, ranges);
  }

private:
  /// A side's origin in the nest's own numbering.
  Index atOrigin(const Index &origin) const { return substitute(origin, originIterators); }

  Expr flattenRead(const Expr &read) const {
    ValueId value = read.readValue();
    llvm::SmallVector<Index> coordinates;
    std::optional<Expr> inside;
    for (auto [index, extent] : llvm::zip(read.readIndices(), values.shape(value))) {
      Index coordinate = simplify(index, ranges);
      bool fits = coordinate.isStatic() && rangeOf(coordinate, ranges).within(Interval::of(extent));
      if (read.readFill() && !fits)
        inside = both(inside, isInside(coordinate, extent));
      else if (!read.readFill() && !coordinate.isStatic())
        coordinate = clamp(coordinate, extent);
      coordinates.push_back(std::move(coordinate));
    }
    if (!read.readFill())
      joinDigits(read.readIndices(), values.shape(value), coordinates);
    Expr flat =
        Expr::read({placementOf(value).buffer}, read.type(), {position(value, coordinates)});
    return inside ? Expr::select(*inside, flat, *read.readFill()) : flat;
  }

  /// Where data are taken apart along two dimensions, x//n and x%n, they are clamped as a whole:
  /// then the position in a buffer that has both is that of x, and nothing is divided.
  void joinDigits(llvm::ArrayRef<Index> indices, llvm::ArrayRef<Extent> shape,
                  llvm::MutableArrayRef<Index> coordinates) const {
    for (size_t d = 0; d + 1 < indices.size(); ++d) {
      int64_t n = shape[d + 1].constant();
      if (n < 1 || indices[d].isStatic() || indices[d + 1].isStatic())
        continue;
      Index high = simplify(indices[d], ranges), low = simplify(indices[d + 1], ranges);
      if (low.terms().size() != 1 || low.terms()[0].atom.kind != AtomKind::Mod)
        continue;
      const Index &whole = low.terms()[0].atom.operand;
      if (low != whole.mod(n) || high != whole.floorDiv(n))
        continue;
      Index clamped = clamp(whole, Extent(shape[d].constant() * n));
      coordinates[d] = clamped.floorDiv(n);
      coordinates[d + 1] = clamped.mod(n);
    }
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

  const GroupValues &values;
  llvm::ArrayRef<Interval> ranges;
  PlacementOf placementOf;
  llvm::SmallVector<Index> originIterators; ///< In the nest's own numbering.
};

} // namespace

LoopNest makeNest(const GroupValues &values, const Member &member, const Box &box,
                  llvm::ArrayRef<TileDimension> space, PlacementOf placementOf) {
  LoopNest nest;
  nest.node = member.node;
  nest.factors = member.factors;
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

  Flattener flattener(values, ranges, iterators, placementOf);
  for (const Expr &body : member.bodies)
    nest.bodies.push_back(flattener.flatten(substitute(body, globals)));
  for (const Expr &finish : member.epilogue)
    nest.epilogue.push_back(flattener.flatten(substitute(finish, globals)));
  if (nest.reduction && nest.epilogue.empty())
    for (auto [k, result] : llvm::enumerate(member.results)) {
      ElementType type = values.value(result).type;
      bool isKey = member.bodies.size() == 1;
      ElementType held = isKey ? nest.reduction->accumulator : type;
      nest.epilogue.push_back(Expr::cast(type, Expr::read(LoopNest::accumulator(k), held, {})));
    }
  for (ValueId result : member.results)
    nest.destinations.push_back(placementOf(result).buffer);
  for (const Bound &bound : member.bounds)
    if (globals[bound.iterator].asIterator() == static_cast<int>(bound.iterator))
      nest.spans.push_back({Index::iterator(bound.iterator), std::nullopt,
                            flattener.flatten(substitute(bound.end, globals))});
  for (const KeptValue &kept : member.kept) {
    llvm::SmallVector<Index> coordinates;
    for (unsigned iterator : kept.iterators)
      coordinates.push_back(globals[iterator]);
    nest.kept.push_back({flattener.flatten(substitute(kept.expr, globals)),
                         placementOf(kept.value).buffer,
                         flattener.position(kept.value, coordinates)});
  }
  llvm::SmallVector<Index> coordinates = substitute(member.resultIndices, globals);
  nest.destinationIndex = flattener.position(member.results[0], coordinates);
  return nest;
}

namespace {

/// Positions in a list of iterators that stay: those of extent 1 occur in no simplified index and
/// go, except that a list does not become empty.
template <typename List> llvm::SmallVector<unsigned, 8> essential(const List &list) {
  llvm::SmallVector<unsigned, 8> positions;
  for (auto [k, iterator] : llvm::enumerate(list))
    if (iterator.extent.constant() != 1)
      positions.push_back(k);
  if (positions.empty() && !list.empty())
    positions.push_back(list.size() - 1);
  return positions;
}

/// Two neighbours of a list, by number, and whether every index treats them as one iterator: as
/// c * (outer * innerExtent + inner).
struct Neighbours {
  unsigned outer, inner;
  int64_t innerExtent;
  bool join = true;
};

template <typename List>
void addNeighbours(const List &list, unsigned first, llvm::SmallVectorImpl<Neighbours> &pairs) {
  llvm::SmallVector<unsigned, 8> positions = essential(list);
  for (unsigned k = 0; k + 1 < positions.size(); ++k)
    pairs.push_back(
        {first + positions[k], first + positions[k + 1], list[positions[k + 1]].extent.constant()});
}

/// Rebuilds a list with its joined iterators; `replacements` says what becomes of each old one.
template <typename List>
void joinList(List &list, unsigned first, llvm::ArrayRef<Neighbours> pairs, unsigned &next,
              llvm::MutableArrayRef<Index> replacements) {
  List kept;
  for (unsigned position : essential(list)) {
    unsigned number = first + position;
    const auto *joined = llvm::find_if(
        pairs, [&](const Neighbours &pair) { return pair.inner == number && pair.join; });
    if (joined == pairs.end()) {
      kept.push_back(list[position]);
      ++next;
    } else {
      // The outer one's terms vanish: what is left, c * inner, stands for both.
      replacements[joined->outer] = Index(0);
      kept.back().extent = Extent(kept.back().extent.constant() * list[position].extent.constant());
      kept.back().name += list[position].name;
    }
    replacements[number] = Index::iterator(next - 1);
  }
  list = std::move(kept);
}

} // namespace

void collapseIterators(LoopNest &nest, unsigned tileDimensions) {
  unsigned parallel = nest.parallel.size(), iterators = parallel + nest.numReductions();
  llvm::SmallVector<Neighbours, 8> pairs;
  addNeighbours(nest.parallel, 0, pairs);
  if (nest.reduction)
    addNeighbours(nest.reduction->iterators, parallel, pairs);
  forEachIndex(nest, [&](const Index &index) {
    for (Neighbours &pair : pairs)
      pair.join &=
          index.coefficientOf(pair.outer) == pair.innerExtent * index.coefficientOf(pair.inner);
  });
  llvm::SmallVector<Index> replacements(iterators);
  unsigned next = 0;
  joinList(nest.parallel, 0, pairs, next, replacements);
  if (nest.reduction)
    joinList(nest.reduction->iterators, parallel, pairs, next, replacements);
  for (unsigned d = 0; d < tileDimensions; ++d)
    replacements.push_back(Index::iterator(next + d));
  replaceIterators(nest, replacements);
}

} // namespace kintsugi::loops
