//===- matrix_boxes.cpp - Factors that come to the ring in bulk -----------===//

#include "targets/nvidia/box_lines.h"
#include "targets/nvidia/matrix_nest.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kintsugi::targets {

static constexpr int64_t elementBytes = KIN_TENSOR_ELEMENT_BYTES;

/// Both factors or none: where threads copy one, they wait for both at the same time.
void MatrixNest::chooseBoxes() {
  Operand *operands[] = {&rows, &columns};
  SmallVector<TensorBox> boxes;
  SmallVector<KinTensorMap> maps;
  for (Operand *operand : operands) {
    std::optional<TensorBox> box = boxOf(*operand);
    if (!box)
      return;
    maps.push_back(box->map);
    boxes.push_back(std::move(*box));
  }
  SmallVector<Value> pointers = resources->mapsOf(maps);
  for (auto [operand, box, map] : llvm::zip(operands, boxes, pointers)) {
    operand->pitch = box.map.line_bytes;
    operand->box = std::move(box);
    operand->map = map;
  }
}

/// Of a factor that is read as it is from a buffer, and whose lines are a box.
std::optional<TensorBox> MatrixNest::boxOf(const Operand &operand) {
  auto read = operand.factor.getDefiningOp<tile::ReadOp>();
  auto buffer = read ? dyn_cast<BlockArgument>(read.getBuffer()) : BlockArgument();
  const IteratorGroup &along = groups[operand.alongDepth ? Depth : operand.group];
  int64_t pitch = boxLineBytes(along.extents, operand.chunks * 16);
  if (!buffer || read.getElement().getType() != matrix.getElement() || pitch == 0)
    return std::nullopt;
  std::optional<Walk> walk = walkOf(read);
  Value fastest = nest.getBody().getArgument(along.iterators.back());
  SmallVector<BoxAxis> axes{{fastest, pitch / elementBytes}};
  if (!walk || !addLines(operand, axes) || !endsAtZero(operand, *walk, pitch / elementBytes))
    return std::nullopt;
  std::optional<TensorBox> box = targets::boxOf(*walk, axes, pitch);
  if (box)
    box->map.operand = buffer.getArgNumber();
  return box;
}

/// The iterators that tell a stage's lines apart, the fastest first, with how many of their points
/// it has. False: no box has them.
bool MatrixNest::addLines(const Operand &operand, SmallVectorImpl<BoxAxis> &axes) {
  const IteratorGroup &across = groups[operand.alongDepth ? operand.group : Depth];
  auto counts = boxLines(across.extents, operand.lines, !operand.alongDepth);
  for (size_t k = across.iterators.size(); counts && k-- > 0;)
    if ((*counts)[k] > 1)
      axes.push_back({nest.getBody().getArgument(across.iterators[k]), (*counts)[k]});
  return counts.has_value();
}

/// Whether steps don't reach past the last term, or what is there is zero: the end of a dimension,
/// or whole pieces of so many terms, for which copyPiece sees to it.
bool MatrixNest::endsAtZero(const Operand &operand, const Walk &walk, int64_t elements) {
  int64_t points = groups[Depth].points();
  if (points % matrix.getDepth() == 0 || (operand.alongDepth && points % elements == 0))
    return true;
  Value value = nest.getBody().getArgument(groups[Depth].iterators.back());
  return groups[Depth].iterators.size() == 1 &&
         llvm::any_of(walk.dimensions, [&](const WalkDimension &dimension) {
           return dimension.place.factorOf(value) != 0 && dimension.place.terms.size() == 1;
         });
}

/// Whether nobody can have used scratch before.
bool MatrixNest::isFirstNest() const {
  auto kernel = nest->getParentOfType<tile::KernelOp>();
  return *kernel.getBody().getOps<tile::ComputeOp>().begin() == nest;
}

/// For the next pass: all are at their first phase once more.
void MatrixNest::restartArrivals() {
  auto first = scf::IfOp::create(make.builder, make.location, make.equal(thread, i32(0)), false);
  OpBuilder::InsertionGuard guard(make.builder);
  make.builder.setInsertionPointToStart(first.thenBlock());
  bulk.start(arrivals, stages, true);
}

Value MatrixNest::arrivalOf(Value place) {
  return units.atByte(arrivals, make.mul(place, i32(BulkCopies::arrivalBytes)));
}

/// The first thread asks for all that comes in bulk.
void MatrixNest::stageBoxes(Value step, Value place, unsigned level) {
  levels.place(level);
  Value isFirst = make.equal(thread, i32(0));
  levels.placeAtEnd(level);
  auto choice = scf::IfOp::create(make.builder, make.location, isFirst, false);
  levels.loopCreated(level, choice);
  levels.enter(level + 1, choice.thenBlock());
  levels.place(level + 1);
  int64_t bytes = 0;
  for (const Operand *operand : {&rows, &columns})
    bytes += operand->box->bytes * operand->pieces();
  bulk.expect(arrivalOf(place), bytes);
  for (const Operand *operand : {&rows, &columns})
    for (int64_t piece = 0; piece < operand->pieces(); ++piece)
      copyPiece(*operand, piece, step, place, level + 1);
  levels.resume(level);
}

/// Where a box starts along a dimension.
Value MatrixNest::coordinateOf(const LinearForm &place, const PointValues::Point &at,
                               unsigned level) {
  AffineExpr sum = getAffineConstantExpr(place.constant, nest.getContext());
  SmallVector<Value> operands;
  for (const auto &[value, factor] : place.terms) {
    sum = sum + getAffineDimExpr(operands.size(), nest.getContext()) * factor;
    operands.push_back(value);
  }
  Value coordinate = values->number(AffineMap::get(operands.size(), 0, sum), operands, at);
  levels.place(level);
  return make.resize(coordinate, make.builder.getI32Type());
}

/// A block of lines of a step.
void MatrixNest::copyPiece(const Operand &operand, int64_t piece, Value step, Value place,
                           unsigned level) {
  constexpr unsigned ofBoxes = 16384, ofColumns = 4096;
  unsigned number = ofBoxes + (operand.group == Columns ? ofColumns : 0) + unsigned(piece);
  int64_t elements = operand.pitch / elementBytes, begin = piece * elements;
  levels.place(0);
  Value firstPoint = i32(operand.alongDepth ? 0 : begin);
  Value firstTerm = i32(operand.alongDepth ? begin : 0);
  // The engine faults on lines that are asked for from amid a line of the tensor on.
  int64_t inLine = operand.alongDepth ? 1 : elements;
  Coordinates point = pointAt(operand.group, firstPoint, 0, inLine, number, passLevel);
  int64_t points = groups[Depth].points(), multiple = operand.alongDepth ? elements : 1;
  bool isCut = points % matrix.getDepth() != 0, inPieces = points % multiple == 0;
  levels.place(level);
  Value firstNumber = termNumber(step, firstTerm, 0);
  Coordinates term = isCut && !(operand.alongDepth && inPieces)
                         ? values->split(groups[Depth], firstNumber, 1, level, number)
                         : termAt(step, firstTerm, 0, multiple, level, number);
  SmallVector<Value> coordinates;
  for (const LinearForm &place : operand.box->places)
    coordinates.push_back(coordinateOf(place, pointOf(operand, point, term), level));
  levels.place(level);
  if (isCut && operand.alongDepth && inPieces) // Past the last term: outside, which is zero.
    coordinates[0] = make.select(make.lessUnsigned(firstNumber, i32(points)), coordinates[0],
                                 i32(int64_t(operand.box->map.extents[0])));
  Value shared =
      units.atByte(units.atByte(ring, offsetOf(place)), operand.offset + piece * operand.apart());
  bulk.copy(shared, operand.map, coordinates, arrivalOf(place));
}

} // namespace kintsugi::targets
