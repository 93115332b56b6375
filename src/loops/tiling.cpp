#include "loops/tiling.h"

#include "loops/bounds.h"
#include "loops/nest.h"
#include "loops/parts.h"
#include "loops/scratch.h"
#include "loops/split.h"
#include "loops/visit.h"
#include "loops/warp_moves.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>

namespace kintsugi::loops {

using namespace te;

namespace {

/// Of any vector: a byte in each lane.
constexpr int64_t mostLanes = 64;

class TilingMaker {
public:
  TilingMaker(const TiledMembers &what, const TilingOptions &options)
      : values(what.values), members(what.members), constants(what.constants),
        packable(what.packable), transposed(what.transposed), options(options) {}

  std::optional<Tiling> make(const TileSizes &sizes, std::string &reason) {
    std::optional<llvm::SmallVector<Box>> boxes = inferBoxes(values, members, sizes);
    if (!boxes)
      return std::nullopt;
    Tiling tiling;
    Schedule &schedule = tiling.schedule;
    schedule.space = tileSpace(members.back(), sizes);
    placeMemory(schedule);
    placeScratch(schedule, *boxes);
    for (auto [member, box] : llvm::zip(members, *boxes)) {
      LoopNest nest =
          makeNest(values, member, box, schedule.space,
                   [&](ValueId id) -> const Placement & { return placements.at(id.number); });
      for (LoopNest &part : partsOf(std::move(nest), member, schedule)) {
        if (!areSpansUniform(part)) {
          reason = "a loop's bound differs inside of its tiles";
          return std::nullopt;
        }
        setShares(part, schedule.buffers, values);
        tiling.parts.push_back(std::move(part));
      }
    }
    return tiling;
  }

private:
  /// A nest for each side of what it chooses by its iterators.
  llvm::SmallVector<LoopNest, 2> partsOf(LoopNest nest, const Member &member,
                                         const Schedule &schedule) const {
    llvm::SmallVector<LoopNest, 2> all, sides{std::move(nest)};
    if (!options.scalar)
      sides = splitAtPlaces(std::move(sides[0]), schedule.space);
    for (LoopNest &part : sides) {
      splitIterators(part, schedule.space, !options.inBlocks && !options.scalar);
      // What may be packed is stored coordinate by coordinate.
      if (!llvm::is_contained(packable, member.results[0]))
        collapseIterators(part, schedule.space.size());
      // Threads evaluate the condition themselves: a loop whose bound is read is not divided among
      // them.
      if (options.scalar || options.inBlocks || !areSpansUniform(part))
        all.push_back(std::move(part));
      else
        llvm::append_range(all, splitAtConditions(std::move(part)));
    }
    return all;
  }

  void placeMemory(Schedule &schedule) {
    auto place = [&](ValueId id, bool written) {
      if (placements.count(id.number))
        return;
      const Value &value = values.value(id);
      int64_t elements = 1;
      for (Extent extent : value.shape)
        elements *= extent.constant();
      placements[id.number] = {static_cast<unsigned>(schedule.buffers.size()), Home::Memory, {}};
      schedule.buffers.push_back({id, value.type, elements, Home::Memory, written});
      schedule.buffers.back().packable =
          options.packing && llvm::is_contained(constants, id) && isReadInOneWay(id);
    };
    auto isMember = [&](ValueId id) {
      return llvm::any_of(members, [&](const Member &m) { return m.stores(id); });
    };
    for (const Member &member : members)
      for (const Expr &expr : member.expressions())
        for (ValueId id : readsOf(expr))
          if (!LoopNest::isAccumulator(id) && !isMember(id))
            place(id, false);
    for (const Member &member : members)
      if (member.isOutput)
        for (ValueId id : member.results)
          place(id, true);
  }

  bool isReadInOneWay(ValueId id) const {
    size_t ways = 0;
    for (const Member &member : members) { // Iterators of two members are not the same.
      llvm::SmallVector<Expr> reads;
      for (const Expr &expr : member.expressions())
        expr.walk([&](const Expr &e) {
          if (e.kind() == ExprKind::Read && e.readValue() == id && !llvm::is_contained(reads, e))
            reads.push_back(e);
        });
      ways += reads.size();
    }
    return ways == 1;
  }

  /// The part of a value that a tile holds: what its member iterates over, or all of it where the
  /// member's iterators are not the value's dimensions.
  Box heldBox(const Member &member, ValueId id, const Box &iterated) const {
    bool isIdentity = llvm::all_of(llvm::enumerate(member.resultIndices), [](const auto &entry) {
      return entry.value().asIterator() == static_cast<int>(entry.index());
    });
    if (isIdentity)
      return iterated;
    Box whole;
    for (Extent extent : values.shape(id))
      whole.push_back({Index(0), extent.constant()});
    return whole;
  }

  void placeScratch(Schedule &schedule, llvm::ArrayRef<Box> boxes) {
    for (auto [member, iterated] : llvm::zip(members, boxes)) {
      for (const KeptValue &kept : member.kept)
        placeKept(schedule, kept, iterated);
      if (member.isOutput)
        continue;
      for (ValueId id : member.results) {
        bool mayPack = llvm::is_contained(packable, id);
        Box box = heldBox(member, id, iterated);
        int64_t pitch = 0, elements = box.empty() ? 1 : box.back().extent; // Of a row.
        if (mayPack)                                                       // Panels are full.
          elements = llvm::alignTo(elements, mostLanes);
        if (llvm::is_contained(transposed, id))
          elements = pitch = rowPitch(elements, bytesOfElement(values.value(id).type));
        for (const Side &side : llvm::ArrayRef(box).drop_back(!box.empty()))
          elements *= side.extent;
        placements[id.number] = {static_cast<unsigned>(schedule.buffers.size()), Home::Scratch, box,
                                 pitch};
        schedule.buffers.push_back(
            {id, values.value(id).type, elements, Home::Scratch, true, 0, mayPack});
      }
    }
  }

  /// What iterators of a reduction keep is there as a whole.
  void placeKept(Schedule &schedule, const KeptValue &kept, const Box &iterated) {
    Box box;
    int64_t elements = 1;
    for (auto [iterator, extent] : llvm::zip_equal(kept.iterators, values.shape(kept.value))) {
      box.push_back(iterator < iterated.size() ? iterated[iterator]
                                               : Side{Index(0), extent.constant()});
      elements *= box.back().extent;
    }
    placements[kept.value.number] = {unsigned(schedule.buffers.size()), Home::Scratch, box};
    schedule.buffers.push_back(
        {kept.value, values.value(kept.value).type, elements, Home::Scratch, true});
  }

  const GroupValues &values;
  llvm::ArrayRef<Member> members;
  llvm::ArrayRef<ValueId> constants, packable, transposed;
  const TilingOptions &options;
  std::map<uint32_t, Placement> placements; ///< By value.
};

} // namespace

std::optional<Tiling> tilingOf(const TiledMembers &what, const TilingOptions &options,
                               const TileSizes &sizes, std::string &reason) {
  return TilingMaker(what, options).make(sizes, reason);
}

void shareAmongTiles(Schedule &schedule) {
  unsigned dimensions = schedule.space.size();
  llvm::SmallVector<unsigned> moves(schedule.buffers.size(), 0); ///< By buffer: how many do.
  auto movedBy = [&](const LoopNest &nest) {
    unsigned moved = 0;
    forEachIndex(nest, [&](const Index &index) {
      for (unsigned d = moved; d < dimensions; ++d)
        if (index.uses(nest.originIterator(d)))
          moved = d + 1;
    });
    for (unsigned buffer : buffersRead(nest))
      moved = std::max(moved, moves[buffer]);
    for (unsigned destination : nest.destinations)
      moved = schedule.buffers[destination].home == Home::Memory
                  ? dimensions
                  : std::max(moved, moves[destination]);
    for (const Kept &kept : nest.kept)
      moved = std::max(moved, moves[kept.buffer]);
    return moved;
  };
  for (int round = 0; round < 2; ++round) // Parts of one buffer have a nest each.
    for (LoopNest &nest : schedule.nests) {
      unsigned moved = movedBy(nest);
      for (unsigned destination : nest.destinations)
        moves[destination] = moved;
      for (const Kept &kept : nest.kept)
        moves[kept.buffer] = moved;
      nest.sharedDimensions = dimensions - moved;
    }
}

} // namespace kintsugi::loops
