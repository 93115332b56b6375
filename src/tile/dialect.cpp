//===- dialect.cpp - Verifiers of the tile dialect ------------------------===//

#include "tile/dialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kintsugi::tile {

static ParseResult parseInteger(OpAsmParser &parser, IntegerAttr &value) {
  int64_t number;
  if (parser.parseInteger(number))
    return failure();
  value = parser.getBuilder().getI64IntegerAttr(number);
  return success();
}

static void printInteger(OpAsmPrinter &printer, Operation *, IntegerAttr value) {
  printer << value.getInt();
}

} // namespace kintsugi::tile

#include "tile/tile_dialect.cpp.inc"
#include "tile/tile_enums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tile/tile_attributes.cpp.inc"

#define GET_OP_CLASSES
#include "tile/tile_ops.cpp.inc"

namespace kintsugi::tile {

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tile/tile_attributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tile/tile_ops.cpp.inc"
      >();
}

bool isArgForm(CombinerKind combiner) {
  return combiner == CombinerKind::ArgMax || combiner == CombinerKind::ArgMin ||
         combiner == CombinerKind::UArgMax || combiner == CombinerKind::UArgMin;
}

unsigned accumulatorsOf(CombinerKind combiner) {
  return isArgForm(combiner) || combiner == CombinerKind::SoftmaxStats ? 2 : 1;
}

/// Flat, static, dense, and in the given level; its elements a number of whole bytes.
static bool isFlatBuffer(Type type, unsigned level) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || memref.getRank() != 1 || !memref.hasStaticShape() ||
      !memref.getLayout().isIdentity() || memref.getMemorySpaceAsInt() != level)
    return false;
  Type element = memref.getElementType();
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() % 8 == 0 &&
         element.getIntOrFloatBitWidth() <= 64;
}

static LogicalResult verifyMap(Operation *op, AffineMap map, size_t dimensions) {
  if (map.getNumResults() != 1 || map.getNumSymbols() != 0)
    return op->emitOpError("needs a map with one result and no symbols");
  if (map.getNumDims() != dimensions)
    return op->emitOpError("has a map of ")
           << map.getNumDims() << " dimensions for " << dimensions << " indices";
  bool positive = true;
  map.getResult(0).walk([&](AffineExpr expr) {
    if (expr.getKind() == AffineExprKind::CeilDiv)
      positive = false;
    if (expr.getKind() == AffineExprKind::FloorDiv || expr.getKind() == AffineExprKind::Mod) {
      auto divisor = dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(expr).getRHS());
      positive &= divisor && divisor.getValue() > 0;
    }
  });
  if (!positive)
    return op->emitOpError("needs a map that divides by positive constants, rounding down");
  return success();
}

int64_t KernelOp::numTiles() {
  int64_t tiles = 1;
  for (unsigned dimension = 0; dimension < getExtents().size(); ++dimension)
    tiles *= tilesAlong(dimension);
  return tiles;
}

LogicalResult KernelOp::verify() {
  ArrayRef<int64_t> extents = getExtents(), sizes = getSizes();
  if (extents.size() != sizes.size())
    return emitOpError("has ") << extents.size() << " extents but " << sizes.size() << " sizes";
  int64_t tiles = 1;
  for (auto [extent, size] : llvm::zip(extents, sizes)) {
    if (size < 1 || size > extent)
      return emitOpError("cuts ") << extent << " into tiles of " << size;
    if (llvm::MulOverflow(tiles, (extent - 1) / size + 1, tiles))
      return emitOpError("has more tiles than fit in 64 bits");
  }
  constexpr uint64_t mostBytes = uint64_t(1) << 40;
  if (getScratchBytes() > mostBytes || getStandInBytes() > mostBytes)
    return emitOpError("has negative scratch bytes, or too many");
  int64_t threads = getThreads();
  if (threads < 0 || threads > 1024 || threads % 32 != 0)
    return emitOpError("needs up to 1024 threads, in warps of 32");
  constexpr int64_t mostRegisters = 1024;
  if (getRegisters() < 0 || getRegisters() > mostRegisters)
    return emitOpError("has negative registers, or too many");
  ArrayRef<BlockArgument> arguments = getBody().getArguments();
  if (arguments.size() < extents.size())
    return emitOpError("needs an argument for each dimension of the tile space");
  for (BlockArgument buffer : arguments.drop_back(extents.size()))
    if (!isFlatBuffer(buffer.getType(), 0))
      return emitOpError("has an operand that is no flat buffer in memory: ") << buffer.getType();
  for (BlockArgument tile : arguments.take_back(extents.size()))
    if (!tile.getType().isIndex())
      return emitOpError("has a tile number of type ") << tile.getType();
  for (Operation &op : getBody().front())
    if (!isa<OriginOp, ScratchOp, ComputeOp, ReadOp, IndexOp>(op) &&
        !isa_and_nonnull<arith::ArithDialect>(op.getDialect()))
      return op.emitOpError("does not belong in a tile.kernel");
  return success();
}

LogicalResult OriginOp::verify() {
  auto kernel = dyn_cast<KernelOp>((*this)->getParentOp());
  if (!kernel)
    return emitOpError("belongs in a tile.kernel");
  uint64_t dimension = getDimension(), dimensions = kernel.getExtents().size();
  if (dimension >= dimensions)
    return emitOpError("speaks of dimension ") << dimension << " of " << dimensions;
  if (getTile() != kernel.getBody().getArgument(kernel.numBuffers() + dimension))
    return emitOpError("needs the kernel's argument for its dimension");
  return success();
}

LogicalResult ScratchOp::verify() {
  auto kernel = dyn_cast<KernelOp>((*this)->getParentOp());
  if (!kernel)
    return emitOpError("belongs in a tile.kernel");
  if (!isFlatBuffer(getBuffer().getType(), 1))
    return emitOpError("is no flat buffer in level 1");
  auto type = cast<MemRefType>(getBuffer().getType());
  int64_t bytes, end, offset = getOffset();
  if (offset < 0 || offset % 64 != 0)
    return emitOpError("needs an offset that is a multiple of 64");
  int64_t limit = kernel.getScratchBytes() + kernel.getStandInBytes();
  if (llvm::MulOverflow<int64_t>(type.getNumElements(), type.getElementTypeBitWidth() / 8, bytes) ||
      llvm::AddOverflow(offset, bytes, end) || end > limit)
    return emitOpError("leaves the kernel's scratch memory");
  return success();
}

LogicalResult ReadOp::verify() {
  if (!isFlatBuffer(getBuffer().getType(), 0) && !isFlatBuffer(getBuffer().getType(), 1))
    return emitOpError("reads no flat buffer");
  if (getElement().getType() != cast<MemRefType>(getBuffer().getType()).getElementType())
    return emitOpError("gives another type than its buffer's elements");
  if (std::optional<ArrayRef<int64_t>> ahead = getAhead())
    if (ahead->size() != 4 || (*ahead)[1] < 0 || (*ahead)[1] > 1 || (*ahead)[3] < -1)
      return emitOpError("needs a distance, whether it is for the nearest cache, the distance of "
                         "rows and the first iterator whose blocks share to read ahead");
  return verifyMap(*this, getMap(), getIndices().size());
}

LogicalResult IndexOp::verify() {
  unsigned width = getValue().getType().getIntOrFloatBitWidth();
  if (width != 32 && width != 64)
    return emitOpError("gives an integer of 32 or 64 bits");
  return verifyMap(*this, getMap(), getIndices().size());
}

int ComputeOp::boundedPosition(unsigned iterator) {
  ArrayRef<int64_t> bounded = getBounded().value_or(ArrayRef<int64_t>());
  const int64_t *found = llvm::find(bounded, int64_t(iterator));
  return found == bounded.end() ? -1 : int(found - bounded.begin());
}

TypeRange ComputeOp::accumulatorTypes() {
  if (!isReduction())
    return {};
  return TypeRange(getEpilogue().getArgumentTypes()).drop_front(numParallel());
}

static LogicalResult verifyRegisters(ComputeOp op) {
  RegistersAttr registers = op.getRegisters();
  int64_t iterators = op.numIterators(), parallel = op.numParallel();
  if (registers.getVector() < -1 || registers.getVector() >= iterators)
    return op.emitOpError("has no iterator ") << registers.getVector() << " to vectorize";
  if (registers.getRow() < -1 || registers.getRow() >= parallel)
    return op.emitOpError("has no parallel iterator ") << registers.getRow() << " to unroll";
  if (registers.getRow() != -1 && registers.getRow() == registers.getVector())
    return op.emitOpError("both vectorizes and unrolls iterator ") << registers.getRow();
  int64_t threads = cast<KernelOp>(op->getParentOp()).getThreads();
  int64_t mostLanes = threads ? threads : 64;
  if (registers.getLanes() < 1 || registers.getLanes() > mostLanes ||
      !llvm::isPowerOf2_64(registers.getLanes()))
    return op.emitOpError("needs a power of two of at most ") << mostLanes << " lanes";
  if (registers.getApart() < 1 || registers.getApart() > mostLanes / registers.getLanes() ||
      (registers.getApart() > 1 && !threads))
    return op.emitOpError("has lanes that are farther apart than there are threads");
  int64_t column = registers.getColumn();
  if (column < -1 || column >= parallel || (column != -1 && column == registers.getRow()) ||
      registers.getColumns() < 1 || registers.getColumns() * registers.getRows() > 1024 ||
      ((column == -1 || registers.getLanes() == 1 || !threads) && registers.getColumns() != 1))
    return op.emitOpError("has columns that no lanes share");
  if (threads && registers.getLanes() > 1 &&
      (registers.getVector() < parallel || !llvm::isPowerOf2_64(threads)))
    return op.emitOpError("has lanes, which among threads only a reduction has");
  if (registers.getVectors() < 1 || registers.getRows() < 1 ||
      registers.getVectors() * registers.getRows() > 1024)
    return op.emitOpError("needs 1 to 1024 vectors in its register tile");
  if (registers.getVector() == -1 && (registers.getLanes() != 1 || registers.getVectors() != 1))
    return op.emitOpError("has lanes or vectors but no iterator for them");
  if (registers.getRow() == -1 && registers.getRows() != 1)
    return op.emitOpError("has rows but no iterator for them");
  if (registers.getUnroll() < 0 || registers.getUnroll() > iterators - parallel)
    return op.emitOpError("unrolls more reduction loops than it has");
  bool isArg = op.isReduction() && isArgForm(*op.getCombiner());
  if (!isArg && op.getPayloadOrder() != 0)
    return op.emitOpError("has an order of a payload that it has not");
  if (isArg && (threads || op.getPayloadOrder() == 0) && registers.getVector() >= parallel &&
      registers.getLanes() * registers.getVectors() > 1)
    return op.emitOpError("can't spread an arg form's reduction over lanes");
  return success();
}

/// A number that is made of constants, origins and what is read at origins.
static bool isOfTile(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() > 0 || (isa<ReadOp>(op) && cast<ReadOp>(op).getMask()))
    return false;
  if (isa<arith::ConstantOp, OriginOp>(op))
    return true;
  if (auto read = dyn_cast<ReadOp>(op))
    return llvm::all_of(read.getIndices(), isOfTile);
  return llvm::all_of(op->getOperands(), isOfTile);
}

static LogicalResult verifyBounds(ComputeOp op) {
  ArrayRef<int64_t> bounded = op.getBounded().value_or(ArrayRef<int64_t>());
  RegistersAttr registers = op.getRegisters();
  int64_t iterators = op.numIterators();
  if (op.getBounds().size() != 2 * bounded.size())
    return op.emitOpError("needs a begin and an end for each bounded iterator");
  for (auto [position, iterator] : llvm::enumerate(bounded)) {
    if (iterator < 0 || iterator >= iterators)
      return op.emitOpError("has no iterator ") << iterator << " to bound";
    if (op.boundedPosition(iterator) != int(position))
      return op.emitOpError("bounds iterator ") << iterator << " twice";
    bool isParallel = iterator < int64_t(op.numParallel());
    bool isUnrolledSum = !isParallel && (iterator == registers.getRow() ||
                                         iterator >= iterators - registers.getUnroll());
    if (iterator == registers.getVector() || isUnrolledSum)
      return op.emitOpError("bounds iterator ") << iterator << ", which is unrolled";
    if (!isParallel && op.isReduction() && isArgForm(*op.getCombiner()))
      return op.emitOpError("can't bound an arg form's reduction");
  }
  for (Value bound : op.getBounds())
    if (!isOfTile(bound) || bound.getType().getIntOrFloatBitWidth() < 32)
      return op.emitOpError("needs bounds of 32 or 64 bits that a tile's origin says");
  return success();
}

/// Scores, their maximum and sum, their powers, and the sum of those with values.
static LogicalResult verifyStreamed(ComputeOp op) {
  if (!op.getStreamed())
    return op.getSkipsBlocks() ? op.emitOpError("skips blocks of no loop") : success();
  if (op.getSkipsBlocks()) {
    auto chosen = op.getEpilogue().front().getTerminator()->getOperand(0).getDefiningOp();
    if (!isa_and_nonnull<arith::SelectOp>(chosen))
      return op.emitOpError("skips blocks without a condition");
  }
  SmallVector<ComputeOp> nests{op};
  while (nests.size() < ComputeOp::numStreamed) {
    auto next = dyn_cast_or_null<ComputeOp>(nests.back()->getNextNode());
    if (!next)
      return op.emitOpError("is streamed with nests that do not follow");
    nests.push_back(next);
  }
  bool fits = nests[0].getMatrix() && nests[1].getCombiner() &&
              *nests[1].getCombiner() == CombinerKind::SoftmaxStats && !nests[2].isReduction() &&
              nests[3].getMatrix() &&
              nests[0].getMatrix()->getColumns() == nests[3].getMatrix()->getDepth() &&
              nests[0].getMatrix()->getRows() == nests[3].getMatrix()->getRows();
  return fits ? success() : op.emitOpError("is streamed with nests of another kind");
}

static LogicalResult verifyMatrix(ComputeOp op) {
  auto kernel = cast<KernelOp>(op->getParentOp());
  MatrixAttr matrix = op.getMatrix().value_or(MatrixAttr());
  if (!matrix)
    return success();
  int64_t threads = kernel.getThreads(), down = matrix.getDown(), across = matrix.getAcross();
  if (!matrix.getElement().isF16() && !matrix.getElement().isBF16())
    return op.emitOpError("has factors of ") << matrix.getElement() << " for matrix units";
  int64_t warpsK = matrix.getWarpsK();
  if (down < 1 || across < 1 || warpsK < 1 || down * across * warpsK * 32 != threads)
    return op.emitOpError("needs as many warps on matrix units as the kernel has");
  auto isCut = [](int64_t size, int64_t parts) {
    return size > 0 && size <= 1024 && size % (16 * parts) == 0;
  };
  auto halvesToFew = [](int64_t size) {
    return llvm::isPowerOf2_64(size) || (size % 3 == 0 && llvm::isPowerOf2_64(size / 3));
  };
  if (!isCut(matrix.getRows(), down) || !isCut(matrix.getColumns(), across) ||
      !isCut(matrix.getDepth(), warpsK) ||
      (matrix.getRows() * matrix.getDepth()) % (8 * threads) != 0 ||
      (matrix.getColumns() * matrix.getDepth()) % (8 * threads) != 0)
    return op.emitOpError("has a matrix tile that its threads can't share");
  if (matrix.getInFours() &&
      (down % 4 != 0 || warpsK > 4 || !llvm::isPowerOf2_64(matrix.getDepth()) ||
       !halvesToFew(matrix.getColumns() / across) || matrix.getColumns() / across > 256 ||
       !halvesToFew(matrix.getRows()) || matrix.getRing() % 1024 != 0))
    return op.emitOpError("has a matrix tile that four warps can't share");
  int64_t blocks = matrix.getBlocks(), steps = 1;
  for (int64_t extent : op.getReduction())
    steps *= extent;
  steps = llvm::divideCeil(steps, matrix.getDepth());
  bool isAlone = llvm::hasSingleElement(kernel.getBody().getOps<ComputeOp>());
  if (blocks < 1 || blocks > 8 || !llvm::isPowerOf2_64(blocks) ||
      (blocks > 1 && (!isAlone || steps < blocks)))
    return op.emitOpError("has a matrix tile that a cluster can't share");
  if (matrix.getColumnsFactor() < 0 || matrix.getColumnsFactor() > 1 || matrix.getStages() < 2 ||
      matrix.getRing() < 0 || matrix.getRing() % 16 != 0)
    return op.emitOpError("has no such ring of operands");
  if (!op.isReduction() || *op.getCombiner() != CombinerKind::Sum || op.getBounded() ||
      op.getPasses() || !op.accumulatorTypes()[0].isF32())
    return op.emitOpError("sums no products in f32");
  return success();
}

static LogicalResult verifyKept(ComputeOp op) {
  ArrayAttr maps = op.getKeptMaps().value_or(ArrayAttr());
  if ((maps ? maps.size() : 0) != op.getKept().size())
    return op.emitOpError("needs a map for each buffer that it keeps values in");
  bool sharesLanes = op.getRegisters().getVector() >= int64_t(op.numParallel());
  if (op.getRunning() && (op.getKept().size() != 1 || op.getPasses() || sharesLanes))
    return op.emitOpError("keeps a running value that no step has");
  if (op.getKept().empty())
    return success();
  if (!op.isReduction() || accumulatorsOf(*op.getCombiner()) != 1 || op.getMatrix() ||
      cast<KernelOp>(op->getParentOp()).getThreads())
    return op.emitOpError("keeps values, which only a worker's reduction to one value does");
  for (auto [buffer, map] : llvm::zip(op.getKept(), maps.getAsValueRange<AffineMapAttr>())) {
    if (!isFlatBuffer(buffer.getType(), 1) || llvm::is_contained(op.getDestinations(), buffer))
      return op.emitOpError("keeps values in what is no scratch of its own");
    if (failed(verifyMap(op, map, op.numIterators() + op.getIndices().size())))
      return failure();
  }
  return success();
}

LogicalResult ComputeOp::verify() {
  for (ArrayRef<int64_t> extents : {getParallel(), getReduction()})
    for (int64_t extent : extents)
      if (extent < 0)
        return emitOpError("has a negative extent");
  if (!isReduction() && (!getReduction().empty() || !getEpilogue().empty()))
    return emitOpError("has a reduction's parts but no combiner");
  if (isReduction() && getEpilogue().empty())
    return emitOpError("needs an epilogue after its reduction");
  if (getDestinations().empty())
    return emitOpError("stores nothing");
  if (getPasses() && (!isReduction() || getReduction().empty() || getDestinations().size() != 1 ||
                      *getCombiner() != CombinerKind::Sum))
    return emitOpError("has passes, which only a sum into one destination has");
  if (getPasses() && getReduction()[0] < 2)
    return emitOpError("has passes but only one of them, which would start from the destination");
  if (getPasses() && getBounded() && boundedPosition(numParallel()) >= 0)
    return emitOpError("has passes that are bounded");
  for (Value destination : getDestinations())
    if (!isFlatBuffer(destination.getType(), 0) && !isFlatBuffer(destination.getType(), 1))
      return emitOpError("stores to what is no flat buffer");
  if (failed(verifyMap(*this, getMap(), numParallel() + getIndices().size())))
    return failure();
  if (failed(verifyKept(*this)) || failed(verifyRegisters(*this)) || failed(verifyMatrix(*this)) ||
      failed(verifyStreamed(*this)))
    return failure();
  return verifyBounds(*this);
}

static LogicalResult verifyArguments(ComputeOp op, Region &region, unsigned iterators) {
  if (region.getNumArguments() < iterators)
    return op.emitOpError("needs an argument for each iterator");
  for (BlockArgument argument : region.getArguments().take_front(iterators))
    if (!argument.getType().isIndex())
      return op.emitOpError("has an iterator of type ") << argument.getType();
  for (Operation &inner : region.front().without_terminator()) {
    Dialect *dialect = inner.getDialect();
    bool arithmetic =
        dialect && (isa<arith::ArithDialect>(dialect) || isa<math::MathDialect>(dialect));
    if ((!arithmetic && !isa<ReadOp, IndexOp>(inner)) || inner.getNumResults() != 1 ||
        inner.getNumRegions() != 0)
      return inner.emitOpError("does not belong in a nest");
    if (isa<VectorType>(inner.getResult(0).getType()))
      return inner.emitOpError("works on vectors: bodies are scalar");
  }
  if (!isa<YieldOp>(region.front().getTerminator()))
    return op.emitOpError("has a region that does not end in tile.yield");
  return success();
}

static LogicalResult verifyAccumulators(ComputeOp op) {
  TypeRange types = op.accumulatorTypes();
  CombinerKind combiner = *op.getCombiner();
  if (types.size() != accumulatorsOf(combiner))
    return op.emitOpError("has a wrong number of accumulators");
  auto isFloat = [](Type type) { return isa<FloatType>(type); };
  bool fits = true;
  switch (combiner) {
  case CombinerKind::SoftmaxStats:
    fits = isFloat(types[0]) && types[0] == types[1];
    break;
  case CombinerKind::UMax:
  case CombinerKind::UMin:
  case CombinerKind::UArgMax:
  case CombinerKind::UArgMin:
  case CombinerKind::And:
  case CombinerKind::Or:
    fits = types[0].isInteger();
    break;
  default:
    fits = types[0].isIntOrFloat();
  }
  return fits ? success() : op.emitOpError("can't combine values of type ") << types[0];
}

LogicalResult ComputeOp::verifyRegions() {
  if (failed(verifyArguments(*this, getBody(), numIterators())))
    return failure();
  if (getBody().getNumArguments() != numIterators())
    return emitOpError("has a body with arguments that are no iterators");
  if (getBody().front().getTerminator()->getNumOperands() < numKeptValues())
    return emitOpError("keeps more values than its body has");
  TypeRange keptTypes = getRunning() ? accumulatorTypes() : TypeRange(keptValues());
  for (auto [type, buffer] : llvm::zip(keptTypes, getKept()))
    if (type != cast<MemRefType>(buffer.getType()).getElementType())
      return emitOpError("keeps a ") << type << " in " << buffer.getType();
  auto bodyTypes = bodyValues().getTypes();
  if (isReduction()) {
    if (failed(verifyArguments(*this, getEpilogue(), numParallel())) ||
        failed(verifyAccumulators(*this)))
      return failure();
    TypeRange expected = accumulatorTypes();
    if (*getCombiner() == CombinerKind::SoftmaxStats)
      expected = expected.take_front(1);
    if (TypeRange(bodyTypes) != expected)
      return emitOpError("has a body whose values are not the accumulators' types");
  }
  auto stored =
      isReduction() ? getEpilogue().front().getTerminator()->getOperandTypes() : bodyTypes;
  if (stored.size() != getDestinations().size())
    return emitOpError("stores ") << stored.size() << " values to " << getDestinations().size()
                                  << " destinations";
  if (getPasses() && (accumulatorTypes()[0] != stored[0] || !isa<FloatType>(stored[0])))
    return emitOpError("has passes whose running values don't fit the destination");
  for (auto [type, destination] : llvm::zip(stored, getDestinations()))
    if (type != cast<MemRefType>(destination.getType()).getElementType())
      return emitOpError("stores a ") << type << " to " << destination.getType();
  return success();
}

} // namespace kintsugi::tile
