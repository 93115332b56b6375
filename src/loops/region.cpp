#include "loops/region.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

llvm::SmallVector<TileDimension> tileSpace(const Member &root, const TileSizes &sizes) {
  llvm::SmallVector<TileDimension> space;
  for (auto [iterator, size] : llvm::zip(root.parallel, sizes))
    if (size < iterator.extent.constant())
      space.push_back({iterator.extent.constant(), size});
  return space;
}

namespace {

class BoxInference {
public:
  BoxInference(const GroupValues &values, llvm::ArrayRef<Member> members, const TileSizes &sizes)
      : values(values), members(members), space(tileSpace(members.back(), sizes)) {
    boxes.resize(members.size());
    boxes.back() = rootBox(sizes);
  }

  std::optional<llvm::SmallVector<Box>> run() {
    for (size_t number = members.size(); number-- > 0;) {
      if (boxes[number].empty() && !members[number].parallel.empty()) {
        if (!followRoot(number))
          return std::nullopt;
      }
      if (number + 1 != members.size() && members[number].isOutput && !storedByOwners(number))
        return std::nullopt;
      requireReads(number);
    }
    return std::move(boxes);
  }

private:
  Box rootBox(const TileSizes &sizes) const {
    Box box;
    unsigned dimension = 0;
    for (auto [iterator, size] : llvm::zip(members.back().parallel, sizes)) {
      bool cut = size < iterator.extent.constant();
      box.push_back({cut ? Index::iterator(dimension) : Index(0), size});
      dimension += cut;
    }
    return box;
  }

  /// A sibling of the root (nothing later reads it) has the root's box if it has its shape.
  bool followRoot(size_t number) {
    const Member &root = members.back(), &member = members[number];
    if (member.parallel.size() != root.parallel.size())
      return false;
    for (auto [mine, its] : llvm::zip(member.parallel, root.parallel))
      if (mine.extent != its.extent)
        return false;
    boxes[number] = boxes.back();
    return true;
  }

  /// Whether each tile's box is that tile's own part in every dimension of the tile space, once
  /// sides that move otherwise are whole.
  bool storedByOwners(size_t number) {
    llvm::SmallVector<bool> owned(space.size(), false);
    for (auto [side, iterator] : llvm::zip(boxes[number], members[number].parallel)) {
      int dimension = side.origin.asIterator();
      if (dimension < 0) {
        side = {Index(0), iterator.extent.constant()};
        continue;
      }
      if (space[dimension].extent != iterator.extent.constant() ||
          space[dimension].size != side.extent)
        return false;
      owned[dimension] = true;
    }
    return llvm::all_of(owned, [](bool o) { return o; });
  }

  void requireReads(size_t number) {
    const Member &consumer = members[number];
    unsigned iterators = consumer.numIterators();
    llvm::SmallVector<Index> replacements;
    llvm::SmallVector<Interval> ranges = consumer.ranges();
    for (unsigned k = 0; k < iterators; ++k)
      replacements.push_back(Index::iterator(k));
    llvm::SmallVector<Index> shifted;
    for (unsigned d = 0; d < space.size(); ++d) {
      shifted.push_back(Index::iterator(iterators + d));
      ranges.push_back({0, space[d].extent - space[d].size});
    }
    for (auto [k, side] : llvm::enumerate(boxes[number])) {
      replacements[k] = replacements[k] + substitute(side.origin, shifted);
      ranges[k] = {0, side.extent - 1};
    }
    for (const Expr &expr : consumer.expressions())
      expr.walk([&](const Expr &e) {
        if (e.kind() == ExprKind::Read)
          requireRead(e, iterators, replacements, ranges);
      });
  }

  void requireRead(const Expr &read, unsigned iterators, llvm::ArrayRef<Index> replacements,
                   llvm::ArrayRef<Interval> ranges) {
    auto producer = llvm::find_if(
        members, [&](const Member &member) { return member.stores(read.readValue()); });
    if (producer == members.end())
      return;
    llvm::SmallVector<Index> inverse = resultToIterators(*producer);
    Box needed;
    for (auto [index, extent] : llvm::zip(read.readIndices(), values.shape(read.readValue())))
      needed.push_back(sideOf(simplify(substitute(index, replacements), ranges), iterators, ranges,
                              extent.constant(), read.readFill() != nullptr));
    if (const KeptValue *kept = producer->keptValue(read.readValue())) {
      needed = iteratedFor(*producer, *kept, needed);
      inverse = identityOf(producer->parallel.size());
    }
    merge(*producer, needed, inverse);
  }

  /// The part of a member's iterators that keeps so much of a value.
  static Box iteratedFor(const Member &producer, const KeptValue &kept, const Box &needed) {
    Box iterated(producer.parallel.size());
    for (auto [iterator, side] : llvm::zip_equal(kept.iterators, needed))
      if (iterator < iterated.size())
        iterated[iterator] = side;
    return iterated;
  }

  static llvm::SmallVector<Index> identityOf(size_t count) {
    llvm::SmallVector<Index> identity;
    for (unsigned k = 0; k < count; ++k)
      identity.push_back(Index::iterator(k));
    return identity;
  }

  /// A result's dimension k is the member's iterator k unless an epilogue was joined over other
  /// iterators; then the box of the result says nothing about single iterators.
  llvm::SmallVector<Index> resultToIterators(const Member &producer) const {
    llvm::SmallVector<Index> identity;
    for (auto [k, index] : llvm::enumerate(producer.resultIndices))
      if (index.asIterator() != static_cast<int>(k))
        return {};
      else
        identity.push_back(index);
    return identity;
  }

  Side sideOf(const Index &index, unsigned iterators, llvm::ArrayRef<Interval> ranges,
              int64_t whole, bool mayLeave) const {
    // Where the tile begins, by its own numbering and by that of the boxes.
    llvm::SmallVector<Index> first(iterators, Index(0)), origins(iterators, Index(0));
    for (unsigned d = 0; d < space.size(); ++d) {
      first.push_back(Index::iterator(iterators + d));
      origins.push_back(Index::iterator(d));
    }
    Index rest = index - substitute(index, first);
    bool moves = !index.isStatic();
    for (unsigned d = 0; d < space.size(); ++d)
      moves |= rest.uses(iterators + d);
    Interval local = rangeOf(rest, ranges);
    if (moves || mayLeave || local.size() >= whole ||
        !rangeOf(index, ranges).within({0, whole - 1}))
      return {Index(0), whole};
    return {substitute(index, origins) + Index(local.low), local.size()};
  }

  void merge(const Member &producer, const Box &needed, llvm::ArrayRef<Index> identity) {
    Box &box = boxes[&producer - members.data()];
    if (identity.empty() && !producer.parallel.empty()) {
      box.clear();
      for (const Iterator &iterator : producer.parallel)
        box.push_back({Index(0), iterator.extent.constant()});
      return;
    }
    if (box.empty()) {
      box = needed;
      return;
    }
    for (auto [k, side] : llvm::enumerate(box)) {
      Index distance = needed[k].origin - side.origin;
      if (!distance.isConstant()) {
        side = {Index(0), producer.parallel[k].extent.constant()};
        continue;
      }
      int64_t low = std::min<int64_t>(0, distance.constantTerm());
      int64_t high = std::max(side.extent, distance.constantTerm() + needed[k].extent);
      side = {side.origin + Index(low), high - low};
    }
  }

  const GroupValues &values;
  llvm::ArrayRef<Member> members;
  llvm::SmallVector<TileDimension> space;
  llvm::SmallVector<Box> boxes;
};

} // namespace

std::optional<llvm::SmallVector<Box>>
inferBoxes(const GroupValues &values, llvm::ArrayRef<Member> members, const TileSizes &sizes) {
  return BoxInference(values, members, sizes).run();
}

} // namespace kintsugi::loops
