#include "derive/walk_blocks.h"

#include "simplify/rebuild.h"
#include "te/constant.h"
#include "te/neutral.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::derive {

using namespace te;

namespace {

/// The constants that one mask's blocks become.
struct Tables {
  std::optional<ValueId> count;   ///< None: every row block has as many.
  std::optional<ValueId> partial; ///< None: all blocks are partial, or none is.
  ValueId column;
  std::optional<ValueId> tile, tiles; ///< None where no block is partial.
};

class BlockWriter {
public:
  BlockWriter(const Program &program, llvm::ArrayRef<BlockedRegion> regions)
      : out(program), regions(regions) {
    walked.nodes.resize(regions.size());
    for (auto [number, region] : llvm::enumerate(regions))
      for (const auto &[node, dimensions] : region.region->nodes)
        regionOf[node] = number;
  }

  Expected<WalkedProgram> run() {
    for (uint32_t node = 0; node < out.old.nodes.size(); ++node) {
      if (auto entry = regionOf.find(node); entry != regionOf.end()) {
        KINTSUGI_RETURN_IF_ERROR(block(node, entry->second));
        continue;
      }
      out.copy(node);
    }
    walked.program = out.finish();
    return std::move(walked);
  }

private:
  /// A region's iterators in the blocked definition at hand.
  struct Walk {
    const BlockMask &mask;
    const Tables &tables;
    unsigned rowBlock = 0, row = 0;    ///< Iterators j and r.
    int columnBlock = -1, column = -1; ///< b and c; -1: it has none.
    llvm::SmallVector<Index> places;   ///< Of the old iterators.
    Index blockColumn() const {
      Expr number = Expr::read(tables.column, ElementType::I32,
                               {Index::iterator(rowBlock), Index::iterator(columnBlock)});
      return Index::data(number) * mask.columnSize + Index::iterator(column);
    }
    Expr firstBlocks(ValueId table) const {
      return Expr::binary(BinaryOp::Less,
                          Expr::index(Index::iterator(columnBlock), ElementType::I32),
                          Expr::read(table, ElementType::I32, {Index::iterator(rowBlock)}));
    }
  };

  template <typename T>
  Expected<ValueId> addTable(const char *what, ElementType type, std::vector<int64_t> shape,
                             llvm::ArrayRef<T> values) {
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(type, shape));
    for (auto [k, value] : llvm::enumerate(values))
      storeDouble(type, tensor.bytes(), int64_t(k), double(value));
    Shape extents;
    for (int64_t extent : shape)
      extents.push_back(Extent(extent));
    return out.fresh.addConstant(std::string("mask.") + what, type, extents,
                                 std::make_shared<TensorConstant>(std::move(tensor)));
  }

  Expected<const Tables *> tablesOf(const BlockedRegion &blocked) {
    const BlockMask &mask = *blocked.mask;
    ElementType type = blocked.region->masked.mask.type();
    auto [entry, isNew] = tables.try_emplace({&mask, type});
    Tables &made = entry->second;
    if (!isNew)
      return &made;
    std::vector<int64_t> rows = {mask.rowBlocks}, blocks = {mask.rowBlocks, mask.width};
    bool isFull = llvm::all_of(mask.count, [&](int32_t n) { return n == mask.width; });
    bool isMixed = mask.partialBlocks > 0 && mask.openBlocks > 0;
    if (!isFull) {
      KINTSUGI_ASSIGN(made.count, addTable<int32_t>("count", ElementType::I32, rows, mask.count));
    }
    if (isMixed) {
      KINTSUGI_ASSIGN(made.partial,
                      addTable<int32_t>("partial", ElementType::I32, rows, mask.partial));
    }
    KINTSUGI_ASSIGN(made.column,
                    addTable<int32_t>("column", ElementType::I32, blocks, mask.column));
    if (mask.partialBlocks == 0)
      return &made;
    KINTSUGI_ASSIGN(made.tile, addTable<int32_t>("tile", ElementType::I32, blocks, mask.tile));
    std::vector<double> all;
    for (const std::vector<double> &tile : mask.tiles)
      all.insert(all.end(), tile.begin(), tile.end());
    KINTSUGI_ASSIGN(made.tiles,
                    addTable<double>("tiles", type,
                                     {int64_t(mask.tiles.size()), mask.rowSize, mask.columnSize},
                                     all));
    return &made;
  }

  /// Puts j, r in the place of the row and b, c in that of the column.
  void placeIterators(Walk &walk, Definition &definition, unsigned row, int column) const {
    const BlockMask &mask = walk.mask;
    unsigned next = 0;
    auto copy = [&](auto &list, unsigned first) {
      auto before = list;
      list.clear();
      for (auto [k, iterator] : llvm::enumerate(before)) {
        unsigned number = first + k;
        bool isRow = number == row, isColumn = int(number) == column;
        if (!isRow && !isColumn) {
          list.push_back(iterator);
          walk.places.push_back(Index::iterator(next++));
          continue;
        }
        int64_t count = isRow ? mask.rowBlocks : mask.width;
        int64_t size = isRow ? mask.rowSize : mask.columnSize;
        list.push_back({iterator.name + "b", Extent(count)});
        list.push_back({iterator.name, Extent(size)});
        if (isRow) {
          walk.rowBlock = next++;
          walk.row = next++;
          walk.places.push_back(Index::iterator(walk.rowBlock) * size + Index::iterator(walk.row));
        } else {
          walk.columnBlock = static_cast<int>(next++);
          walk.column = static_cast<int>(next++);
          walk.places.push_back(Index(0)); // Known once the row's place is.
        }
      }
    };
    unsigned parallel = definition.parallel.size();
    copy(definition.parallel, 0);
    if (definition.reduction)
      copy(definition.reduction->iterators, parallel);
    if (column >= 0)
      walk.places[column] = walk.blockColumn();
  }

  /// Reads of the region go to its blocks, others to the places that the iterators stand for.
  Expr moved(const Expr &expr, const Walk &walk) {
    switch (expr.kind()) {
    case ExprKind::Literal:
      return expr;
    case ExprKind::Index:
      return Expr::index(movedIndex(expr.indexValue(), walk), expr.type());
    case ExprKind::Read:
      return movedRead(expr, walk);
    case ExprKind::Unary:
      return Expr::unary(expr.unaryOp(), moved(expr.operand(0), walk));
    case ExprKind::Binary:
      return Expr::binary(expr.binaryOp(), moved(expr.operand(0), walk),
                          moved(expr.operand(1), walk));
    case ExprKind::Select:
      return Expr::select(moved(expr.operand(0), walk), moved(expr.operand(1), walk),
                          moved(expr.operand(2), walk));
    case ExprKind::Cast:
      return expr.isStored() ? Expr::stored(expr.type(), moved(expr.operand(0), walk))
                             : Expr::cast(expr.type(), moved(expr.operand(0), walk));
    }
    return expr;
  }

  Index movedIndex(const Index &index, const Walk &walk) {
    if (index.isStatic())
      return substitute(index, walk.places);
    Expr renamed = out.rename(Expr::index(index, ElementType::I64)); // What it gathers by, too.
    return substitute(renamed.indexValue(), walk.places);
  }

  Expr movedRead(const Expr &read, const Walk &walk) {
    auto inside = blockedValues.find(read.readValue().number);
    llvm::SmallVector<Index> indices;
    for (auto [dimension, index] : llvm::enumerate(read.readIndices())) {
      if (inside != blockedValues.end() && dimension == inside->second.dimensions.row) {
        indices.push_back(Index::iterator(walk.rowBlock));
        indices.push_back(Index::iterator(walk.row));
      } else if (inside != blockedValues.end() &&
                 int(dimension) == inside->second.dimensions.column) {
        indices.push_back(Index::iterator(walk.columnBlock));
        indices.push_back(Index::iterator(walk.column));
      } else {
        indices.push_back(movedIndex(index, walk));
      }
    }
    if (inside != blockedValues.end())
      return Expr::read(inside->second.value, read.type(), indices);
    std::optional<Expr> fill;
    if (const Expr *f = read.readFill())
      fill = moved(*f, walk);
    return Expr::read(out[read.readValue()], read.type(), indices, std::move(fill));
  }

  /// The score, and what partial blocks have of the mask.
  Expr maskedBody(const MaskedScore &masked, const Walk &walk) {
    Expr score = moved(masked.score, walk);
    if (!walk.tables.tiles)
      return score;
    Expr number = Expr::read(*walk.tables.tile, ElementType::I32,
                             {Index::iterator(walk.rowBlock), Index::iterator(walk.columnBlock)});
    Expr mask =
        Expr::read(*walk.tables.tiles, masked.mask.type(),
                   {Index::data(number), Index::iterator(walk.row), Index::iterator(walk.column)});
    Expr applied = score;
    if (masked.kind == MaskedScore::Kind::Added) {
      applied = score + mask;
    } else {
      Expr low = moved(*masked.low, walk);
      applied =
          masked.hiddenWhereTrue ? Expr::select(mask, low, score) : Expr::select(mask, score, low);
    }
    if (!walk.tables.partial)
      return applied;
    return Expr::select(walk.firstBlocks(*walk.tables.partial), applied, score);
  }

  Status block(uint32_t node, size_t number) {
    const BlockedRegion &blocked = regions[number];
    const MaskedRegion &region = *blocked.region;
    KINTSUGI_ASSIGN(const Tables *made, tablesOf(blocked));
    const auto &old = std::get<Definition>(out.old.nodes[node]);
    MaskedDimensions dimensions = region.nodes.at(node);
    auto reduces = region.reduces.find(node);
    bool isReduced = reduces != region.reduces.end();
    Definition definition = old;
    definition.results.clear();
    Walk walk{*blocked.mask, *made};
    placeIterators(walk, definition, dimensions.row,
                   isReduced ? int(reduces->second) : dimensions.column);
    Expr body =
        node == region.maskNode ? maskedBody(region.masked, walk) : moved(old.bodies[0], walk);
    if (isReduced && made->count)
      body = Expr::select(walk.firstBlocks(*made->count), body,
                          neutralOf(old.reduction->combiner, body.type()));
    definition.bodies = {body};
    const Value &value = out.old.value(old.results[0]);
    out.fresh.currentOrigin = out.old.origins[node];
    ValueId result = out.fresh.define(value.name + ".blocks", value.type, std::move(definition));
    walked.nodes[number].push_back(out.fresh.value(result).node);
    blockedValues.insert({old.results[0].number, {result, dimensions}});
    if (dimensions.column < 0 && isNeededOutside(node, number))
      putBack(node, number, result, dimensions.row);
    return Status::success();
  }

  bool isNeededOutside(uint32_t node, size_t number) const {
    ValueId result = out.old.resultsOf(node)[0];
    if (llvm::any_of(out.old.outputs, [&](const auto &output) { return output.value == result; }))
      return true;
    for (uint32_t reader = node + 1; reader < out.old.nodes.size(); ++reader) {
      auto entry = regionOf.find(reader);
      if ((entry == regionOf.end() || entry->second != number) &&
          llvm::is_contained(out.old.operandsOf(reader), result))
        return true;
    }
    return false;
  }

  /// The value of each row where the program has it.
  void putBack(uint32_t node, size_t number, ValueId blocks, unsigned row) {
    const auto &old = std::get<Definition>(out.old.nodes[node]);
    Definition definition;
    definition.parallel = old.parallel;
    int64_t size = regions[number].mask->rowSize;
    llvm::SmallVector<Index> indices;
    for (unsigned k = 0; k < old.parallel.size(); ++k) {
      Index place = Index::iterator(k);
      if (k != row) {
        indices.push_back(place);
        continue;
      }
      indices.push_back(place.floorDiv(size));
      indices.push_back(place.mod(size));
    }
    definition.bodies = {Expr::read(blocks, out.fresh.value(blocks).type, indices)};
    out.define(node, std::move(definition));
    out.keepOriginals(node);
    walked.nodes[number].push_back(out.fresh.value(out[old.results[0]]).node);
  }

  struct BlockedValue {
    ValueId value;
    MaskedDimensions dimensions;
  };

  simplify::Rebuilder out;
  llvm::ArrayRef<BlockedRegion> regions;
  WalkedProgram walked;
  std::map<uint32_t, size_t> regionOf;
  std::map<std::pair<const BlockMask *, ElementType>, Tables> tables;
  std::map<uint32_t, BlockedValue> blockedValues; ///< By the old value.
};

} // namespace

Expected<WalkedProgram> walkBlocks(const Program &program, llvm::ArrayRef<BlockedRegion> regions) {
  return BlockWriter(program, regions).run();
}

} // namespace kintsugi::derive
