#include "loops/packing.h"

#include "loops/scratch.h"
#include "loops/visit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace kintsugi::loops {

using namespace te;

int64_t Packing::elements() const {
  int64_t product = 1;
  for (const Dimension &dimension : dimensions)
    product *= dimension.extent;
  return product;
}

Definition Packing::define(ValueId source, llvm::ArrayRef<Extent> shape, ElementType type) const {
  Definition definition;
  Index position(offset);
  for (auto [number, dimension] : llvm::enumerate(dimensions)) {
    definition.parallel.push_back({"p" + std::to_string(number), Extent(dimension.extent)});
    position = position + Index::iterator(number) * dimension.stride;
  }
  llvm::SmallVector<Interval> ranges = definition.ranges();
  llvm::SmallVector<Index> coordinates;
  for (const Index &coordinate : delinearize(position, shape))
    coordinates.push_back(te::simplify(coordinate, ranges));
  bool padded = columns < dimensions[panels].extent * lanes();
  if (!padded) {
    definition.bodies = {Expr::read(source, type, coordinates)};
    return definition;
  }
  Expr zero = isFloat(type) ? Expr::literal(type, 0.0) : Expr::literal(type, int64_t(0));
  Index column = Index::iterator(panels) * lanes() + Index::iterator(dimensions.size() - 1);
  Expr inside = Expr::binary(BinaryOp::Less, Expr::index(column, ElementType::I64),
                             Expr::literal(ElementType::I64, columns));
  definition.bodies = {Expr::select(inside, Expr::read(source, type, coordinates, zero), zero)};
  return definition;
}

bool Packing::isInOrder() const {
  int64_t stride = 1;
  for (const Dimension &dimension : llvm::reverse(dimensions)) {
    if (dimension.extent > 1 && dimension.stride != stride)
      return false;
    stride *= dimension.extent;
  }
  return columns == dimensions[panels].extent * lanes();
}

bool Packing::staysInside(int64_t constantElements) const {
  bool padded = columns < dimensions[panels].extent * lanes();
  int64_t last = offset + (padded ? (columns - 1) * dimensions.back().stride : 0);
  for (auto [number, dimension] : llvm::enumerate(dimensions))
    if (!padded || (number != panels && number + 1 != dimensions.size()))
      last += dimension.stride * (dimension.extent - 1);
  return offset >= 0 && last < constantElements;
}

std::string Packing::print() const {
  std::string text = "[";
  for (const Dimension &dimension : llvm::ArrayRef(dimensions).drop_back())
    text += std::to_string(dimension.extent) + "x" + std::to_string(dimension.stride) + ", ";
  text += std::to_string(lanes()) + " lanes x" + std::to_string(dimensions.back().stride);
  return text + (offset ? " from " + std::to_string(offset) + "]" : "]");
}

namespace {

/// A coordinate of the constant: iterators and origins that move the position by the same stride.
struct Digit {
  int64_t stride;
  int64_t extent = 1; ///< Of the whole tensor, all tiles together.
  int iterator = -1;  ///< Of the nest; -1: a tile's origin alone.
  int origin = -1;    ///< Tile dimension; -1: none.
  int64_t originFactor = 1;
  Index index; ///< iterator + originFactor * origin.
};

class Packer {
public:
  Packer(const LoopNest &nest, llvm::ArrayRef<TileDimension> space, unsigned vector, unsigned lanes)
      : nest(nest), space(space), vector(vector), lanes(lanes) {}

  std::optional<PackedRead> pack(const Index &position, int64_t elements) {
    if (!position.isAffine() || position.coefficientOf(vector) <= 0 || !isReduced(position) ||
        !collect(position))
      return std::nullopt;
    const Digit *columns =
        llvm::find_if(digits, [&](const Digit &d) { return d.iterator == int(vector); });
    if (!isAligned(*columns))
      return std::nullopt;
    PackedRead read = build(*columns);
    read.packing.offset = position.constantTerm() + shift;
    bool isMuchLarger = double(read.packing.elements()) > 1.25 * double(elements) + 64.0 * lanes;
    if (isMuchLarger || read.packing.isInOrder() || !read.packing.staysInside(elements))
      return std::nullopt;
    return read;
  }

  /// The same with the reduction's last iterator in place of lanes, and no panels.
  std::optional<PackedRead> packInOrder(const Index &position, int64_t elements) {
    if (!position.isAffine() || !isReduced(position) || !collect(position))
      return std::nullopt;
    PackedRead read;
    Packing &packing = read.packing;
    read.position = Index(0);
    for (const Digit &digit : digits) {
      packing.dimensions.push_back({digit.extent, digit.stride});
      read.position = read.position * digit.extent + digit.index;
    }
    packing.columns = packing.dimensions[0].extent * packing.lanes();
    packing.offset = position.constantTerm() + shift;
    if (packing.elements() > elements + elements / 4 || packing.isInOrder() ||
        !packing.staysInside(elements))
      return std::nullopt;
    return read;
  }

private:
  /// What no loop of the reduction moves is read once, wherever it lies.
  bool isReduced(const Index &position) const {
    for (unsigned k = 0; k < nest.numReductions(); ++k)
      if (position.uses(nest.parallel.size() + k))
        return true;
    return false;
  }

  /// An iterator that runs backwards through the constant runs forwards through the packed one's
  /// opposite.
  Digit digitOf(unsigned iterator, int64_t stride) {
    int64_t last = nest.extentOf(iterator) - 1;
    Index index = Index::iterator(iterator);
    if (stride > 0)
      return {stride, last + 1, int(iterator), -1, 1, index};
    shift += stride * last;
    return {-stride, last + 1, int(iterator), -1, 1, Index(last) - index};
  }

  /// In loop order: parallel iterators, those of the reduction, origins that no iterator goes with.
  bool collect(const Index &position) {
    unsigned iterators = nest.parallel.size() + nest.numReductions();
    for (unsigned k = 0; k < iterators; ++k)
      if (int64_t stride = position.coefficientOf(k))
        digits.push_back(digitOf(k, stride));
    for (unsigned d = 0; d < space.size(); ++d) {
      int64_t stride = position.coefficientOf(iterators + d);
      if (!stride)
        continue;
      Index origin = Index::iterator(iterators + d);
      // A joined iterator moves by a part of what its tile moves by.
      Digit *digit = llvm::find_if(digits, [&](const Digit &other) {
        return other.origin < 0 && stride % other.stride == 0 &&
               other.extent == space[d].size * (stride / other.stride);
      });
      if (digit == digits.end()) {
        digits.insert(digits.begin(),
                      {stride, space[d].extent - space[d].size + 1, -1, int(d), 1, origin});
        continue;
      }
      digit->origin = d;
      digit->originFactor = stride / digit->stride;
      digit->extent = space[d].extent * digit->originFactor;
      digit->index = digit->index + origin * digit->originFactor;
    }
    return llvm::all_of(digits, [](const Digit &digit) { return digit.stride > 0; });
  }

  /// Whether tiles start where panels start.
  bool isAligned(const Digit &columns) const {
    if (columns.origin < 0)
      return true;
    const TileDimension &dimension = space[columns.origin];
    return dimension.count() == 1 || dimension.startMultiple() * columns.originFactor % lanes == 0;
  }

  PackedRead build(const Digit &columns) const {
    PackedRead read;
    Packing &packing = read.packing;
    llvm::SmallVector<Index> coordinates;
    bool afterPanels = false;
    auto addPanels = [&] {
      afterPanels = true;
      packing.panels = packing.dimensions.size();
      packing.columns = columns.extent;
      packing.dimensions.push_back(
          {int64_t(llvm::divideCeil(columns.extent, lanes)), columns.stride * lanes});
      coordinates.push_back(columns.index.floorDiv(lanes));
    };
    for (const Digit &digit : digits) {
      if (digit.iterator == int(vector))
        continue;
      if (digit.iterator >= int(nest.parallel.size()) && !afterPanels)
        addPanels();
      packing.dimensions.push_back({digit.extent, digit.stride});
      coordinates.push_back(digit.index);
    }
    if (!afterPanels)
      addPanels();
    packing.dimensions.push_back({lanes, columns.stride});
    coordinates.push_back(columns.index.mod(lanes));
    read.position = Index(0);
    for (auto [dimension, coordinate] : llvm::zip(packing.dimensions, coordinates))
      read.position = read.position * dimension.extent + coordinate;
    return read;
  }

  const LoopNest &nest;
  llvm::ArrayRef<TileDimension> space;
  unsigned vector, lanes;
  int64_t shift = 0; ///< Of the first element, for iterators that run backwards.
  llvm::SmallVector<Digit, 8> digits;
};

} // namespace

std::optional<PackedRead> packRead(const LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                                   const Index &position, unsigned vector, unsigned lanes,
                                   int64_t elements) {
  constexpr uint64_t widest = 16; // Of f32 a vector of AVX-512, and two of AVX2.
  unsigned columns = std::min(widest, llvm::PowerOf2Ceil(nest.extentOf(vector)));
  if (columns > lanes)
    if (auto read = Packer(nest, space, vector, columns).pack(position, elements))
      return read;
  return Packer(nest, space, vector, lanes).pack(position, elements);
}

std::optional<PackedRead> packReadInOrder(const LoopNest &nest, llvm::ArrayRef<TileDimension> space,
                                          const Index &position, int64_t elements) {
  return Packer(nest, space, 0, 1).packInOrder(position, elements);
}

namespace {

/// Where `writer` stores its points once what it stores is packed. nullopt if its iterators are not
/// parts of single dimensions.
std::optional<Index> packedStore(const Packing &packing, const LoopNest &writer) {
  if (packing.offset || !writer.destinationIndex.isAffine())
    return std::nullopt;
  unsigned lanes = packing.lanes(), last = packing.dimensions.size() - 1;
  // Panels and lanes together are the columns.
  llvm::SmallVector<Packing::Dimension, 6> dimensions = packing.dimensions;
  dimensions[packing.panels] = {packing.columns, dimensions[last].stride};
  dimensions.pop_back();
  llvm::SmallVector<Index> coordinates(dimensions.size(), Index(0));
  for (auto [k, iterator] : llvm::enumerate(writer.parallel)) {
    int64_t factor = writer.destinationIndex.coefficientOf(k), extent = iterator.extent.constant();
    if (extent == 1)
      continue;
    auto *home = llvm::find_if(dimensions, [&](const Packing::Dimension &dimension) {
      return factor % dimension.stride == 0 &&
             factor * (extent - 1) <= dimension.stride * (dimension.extent - 1);
    });
    if (factor <= 0 || home == dimensions.end())
      return std::nullopt;
    Index &coordinate = coordinates[home - dimensions.begin()];
    coordinate = coordinate + Index::iterator(k) * (factor / home->stride);
  }
  Index position(0);
  for (auto [number, dimension] : llvm::enumerate(packing.dimensions)) {
    Index coordinate = number == last             ? coordinates[packing.panels].mod(lanes)
                       : number == packing.panels ? coordinates[number].floorDiv(lanes)
                                                  : coordinates[number];
    position = position * dimension.extent + coordinate;
  }
  return position;
}

/// How a nest's read of a buffer finds it once it is packed; nullopt: it can't.
using PackRead = llvm::function_ref<std::optional<PackedRead>(const LoopNest &, const Index &)>;

/// A read of a buffer by one of the nests, which may be parts of what was one.
struct PackedUse {
  LoopNest *nest;
  Expr read;
  PackedRead packed;
};

bool isReadByBounds(const LoopNest &nest, unsigned buffer) {
  auto reads = [&](const std::optional<Expr> &bound) {
    return bound && llvm::is_contained(readsOf(*bound), ValueId{buffer});
  };
  return llvm::any_of(nest.spans,
                      [&](const Span &span) { return reads(span.begin) || reads(span.end); });
}

/// All reads of a buffer, packed in one and the same way; nullopt where there is no such way: a
/// nest that went on reading elements where they were would find others there.
std::optional<llvm::SmallVector<PackedUse, 2>> usesOf(Schedule &schedule, unsigned buffer,
                                                      PackRead pack) {
  llvm::SmallVector<PackedUse, 2> uses;
  bool isPacked = true;
  for (LoopNest &nest : schedule.nests) {
    isPacked &= !isReadByBounds(nest, buffer);
    forEachRead(nest, [&](const Expr &read) {
      bool isKnown = llvm::any_of(
          uses, [&](const PackedUse &use) { return use.nest == &nest && use.read == read; });
      if (read.readValue().number != buffer || !isPacked || isKnown)
        return;
      std::optional<PackedRead> packed = pack(nest, read.readIndices()[0]);
      isPacked = packed && (uses.empty() || packed->packing == uses[0].packed.packing);
      if (isPacked)
        uses.push_back({&nest, read, std::move(*packed)});
    });
  }
  if (!isPacked || uses.empty())
    return std::nullopt;
  return uses;
}

/// Where each of the nests that fill a copy in scratch stores its points once it is packed.
std::optional<llvm::SmallVector<std::pair<LoopNest *, Index>, 2>>
packedStores(Schedule &schedule, unsigned buffer, const Packing &packing) {
  llvm::SmallVector<std::pair<LoopNest *, Index>, 2> stores;
  for (LoopNest &nest : schedule.nests) {
    if (!nest.writes(buffer))
      continue;
    bool isCopy = llvm::is_contained(nest.destinations, buffer);
    std::optional<Index> position = isCopy ? packedStore(packing, nest) : std::nullopt;
    if (!position)
      return std::nullopt;
    stores.emplace_back(&nest, *position);
  }
  return stores;
}

void replaceReads(LoopNest &nest, const Expr &read, const Index &position) {
  Expr packed = Expr::read(read.readValue(), read.type(), {position});
  auto replaceIn = [&](Expr &expr) {
    expr = rewrite(expr, [&](const Expr &e) { return e == read ? packed : e; });
  };
  llvm::for_each(nest.bodies, replaceIn);
  for (Kept &kept : nest.kept)
    replaceIn(kept.value);
}

/// Whether the buffer now lies as `pack` says. Scratch has no room for more columns than it holds.
bool packBuffer(Schedule &schedule, unsigned number, PackRead pack) {
  Buffer &buffer = schedule.buffers[number];
  std::optional<llvm::SmallVector<PackedUse, 2>> uses = usesOf(schedule, number, pack);
  if (!uses)
    return false;
  const Packing packing = uses->front().packed.packing;
  if (buffer.home == Home::Scratch) {
    auto stores = packedStores(schedule, number, packing);
    if (!stores || packing.elements() > buffer.elements)
      return false;
    for (auto &[writer, position] : *stores)
      writer->destinationIndex = position;
  }
  for (const PackedUse &use : *uses)
    replaceReads(*use.nest, use.read, use.packed.position);
  buffer.elements = packing.elements();
  buffer.packing = packing;
  return true;
}

bool readsInVectors(const LoopNest &nest) {
  int vector = nest.registers.vectorIterator;
  return nest.reduction && vector >= 0 && vector < int(nest.parallel.size());
}

} // namespace

void packOperands(Schedule &schedule) {
  for (auto [number, buffer] : llvm::enumerate(schedule.buffers)) {
    if (!buffer.packable)
      continue;
    // As one nest wants it; those that are parts of the same sum may have chosen other vectors.
    for (const LoopNest &leader : schedule.nests) {
      if (!readsInVectors(leader) || !llvm::is_contained(buffersRead(leader), unsigned(number)))
        continue;
      unsigned vector = leader.registers.vectorIterator, lanes = leader.registers.lanes;
      auto pack = [&](const LoopNest &nest, const Index &position) -> std::optional<PackedRead> {
        if (vector >= nest.parallel.size())
          return std::nullopt;
        return buffer.home == Home::Scratch
                   ? Packer(nest, schedule.space, vector, lanes).pack(position, buffer.elements)
                   : packRead(nest, schedule.space, position, vector, lanes, buffer.elements);
      };
      if (packBuffer(schedule, number, pack))
        break;
    }
  }
}

bool readsPacked(const RegisterTile &tile) { return tile.lanes > 1 && tile.vectors > 1; }

void packInOrder(Schedule &schedule) {
  auto wantsPacked = [](const LoopNest &nest) {
    return nest.matrix || readsPacked(nest.registers);
  };
  for (auto [number, buffer] : llvm::enumerate(schedule.buffers)) {
    bool isWanted = llvm::any_of(schedule.nests, [&](const LoopNest &nest) {
      return wantsPacked(nest) && llvm::is_contained(buffersRead(nest), unsigned(number));
    });
    if (buffer.packable && buffer.home == Home::Memory && isWanted)
      packBuffer(schedule, number, [&](const LoopNest &nest, const Index &position) {
        return packReadInOrder(nest, schedule.space, position, buffer.elements);
      });
  }
}

} // namespace kintsugi::loops
