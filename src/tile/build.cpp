//===- build.cpp - From schedules to tile programs ------------------------===//

#include "tile/build.h"

#include "loops/block_registers.h"
#include "loops/loop_order.h"
#include "loops/running.h"
#include "tile/build_expr.h"
#include "tile/dialect.h"
#include "tile/program_impl.h"

using namespace mlir;
using kintsugi::loops::Buffer;
using kintsugi::loops::Home;
using kintsugi::loops::LoopNest;
using kintsugi::loops::Schedule;

namespace kintsugi::tile {

namespace {

class KernelBuilder {
public:
  KernelBuilder(OpBuilder &builder, const NamedSchedule &named)
      : builder(builder), name(named.name), node(named.node), schedule(*named.schedule) {}

  Status build();

private:
  Status checkTypes() const;
  KernelOp declare();
  void buildNest(const LoopNest &nest);
  MatrixAttr matrixOf(const LoopNest &nest) const;
  SmallVector<Value> buildBounds(const LoopNest &nest, ArrayRef<te::Interval> ranges);
  CombinerKind combinerOf(const te::Reduction &reduction) const;
  ElementType payloadType(const LoopNest &nest, ArrayRef<te::Interval> ranges) const;
  SmallVector<Type, 2> accumulatorTypes(const LoopNest &nest, ArrayRef<te::Interval> ranges) const;
  AffineMap mapOf(const te::Index &index, const LoopNest &nest, unsigned iterators,
                  ArrayRef<te::Interval> ranges);
  Block *addBlock(Region &region, const LoopNest &nest, unsigned iterators, ArrayRef<Type> others);
  ExprScope scopeOf(ArrayRef<te::Interval> ranges, ArrayRef<Value> iterators,
                    ArrayRef<Value> accumulators, ArrayRef<loops::Ahead> ahead = {}) const;
  SmallVector<Value> iteratorsOf(Block &block, const LoopNest &nest, unsigned iterators) const;
  void buildBody(const LoopNest &nest, Block &block, ArrayRef<te::Interval> ranges,
                 ArrayRef<Type> accumulators);
  void buildEpilogue(const LoopNest &nest, Block &block, ArrayRef<te::Interval> ranges);
  Value asStored(Value value, ElementType type, unsigned buffer, ExprBuilder &exprs) const;
  void yieldStored(const LoopNest &nest, SmallVector<Value, 2> values, ArrayRef<ElementType> types,
                   ExprBuilder &exprs);

  OpBuilder &builder;
  const std::string &name, &node;
  const Schedule &schedule;
  SmallVector<Value> buffers;
  SmallVector<Value> origins;
};

Status KernelBuilder::checkTypes() const {
  for (const Buffer &buffer : schedule.buffers)
    if (!storedType(builder.getContext(), buffer.type))
      return inputError(describeKernel(name, node) + ": it has elements of type " +
                        std::string(nameOf(buffer.type)) + ", which does not compute");
  return Status::success();
}

KernelOp KernelBuilder::declare() {
  SmallVector<int64_t> extents, sizes;
  for (const loops::TileDimension &dimension : schedule.space) {
    extents.push_back(dimension.extent);
    sizes.push_back(dimension.size);
  }
  int registers = schedule.threads > 0 ? loops::registersOf(schedule) : 0;
  Location location = builder.getUnknownLoc(), named = location; // What errors of targets name.
  if (!node.empty())
    named = NameLoc::get(builder.getStringAttr(node));
  auto kernel = KernelOp::create(
      builder, named, name, extents, sizes, static_cast<uint64_t>(schedule.scratchBytes),
      static_cast<uint64_t>(schedule.threads), static_cast<uint64_t>(schedule.standInBytes),
      static_cast<uint64_t>(registers));
  Block &block = kernel.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&block);
  for (const Buffer &buffer : schedule.buffers) {
    Type element = storedType(builder.getContext(), buffer.type);
    if (buffer.home == Home::Memory)
      buffers.push_back(block.addArgument(MemRefType::get({buffer.elements}, element), location));
  }
  for (const Buffer &buffer : schedule.buffers)
    if (buffer.home == Home::Scratch) {
      auto type = MemRefType::get({buffer.elements}, storedType(builder.getContext(), buffer.type),
                                  MemRefLayoutAttrInterface(), builder.getI64IntegerAttr(1));
      buffers.push_back(
          ScratchOp::create(builder, location, type, static_cast<uint64_t>(buffer.scratchOffset)));
    }
  for (unsigned dimension = 0; dimension < extents.size(); ++dimension) {
    Value tile = block.addArgument(builder.getIndexType(), location);
    origins.push_back(OriginOp::create(builder, location, builder.getIndexType(), tile,
                                       static_cast<uint64_t>(dimension)));
  }
  return kernel;
}

CombinerKind KernelBuilder::combinerOf(const te::Reduction &reduction) const {
  bool isUnsigned = !isFloat(reduction.accumulator) && !isSigned(reduction.accumulator);
  switch (reduction.combiner) {
  case te::Combiner::Sum:
    return CombinerKind::Sum;
  case te::Combiner::Prod:
    return CombinerKind::Prod;
  case te::Combiner::Max:
    return isUnsigned ? CombinerKind::UMax : CombinerKind::Max;
  case te::Combiner::Min:
    return isUnsigned ? CombinerKind::UMin : CombinerKind::Min;
  case te::Combiner::And:
    return CombinerKind::And;
  case te::Combiner::Or:
    return CombinerKind::Or;
  case te::Combiner::ArgMax:
    return isUnsigned ? CombinerKind::UArgMax : CombinerKind::ArgMax;
  case te::Combiner::ArgMin:
    return isUnsigned ? CombinerKind::UArgMin : CombinerKind::ArgMin;
  case te::Combiner::SoftmaxStats:
    return CombinerKind::SoftmaxStats;
  }
  llvm_unreachable("a combiner");
}

/// What an arg form's payload is carried in: an index fits in few bits.
ElementType KernelBuilder::payloadType(const LoopNest &nest, ArrayRef<te::Interval> ranges) const {
  const te::Expr &payload = nest.bodies[1];
  bool isNarrow = payload.kind() == te::ExprKind::Index && payload.type() == ElementType::I64 &&
                  fitsInt32(te::rangeOf(payload.indexValue(), ranges));
  return isNarrow ? ElementType::I32 : payload.type();
}

SmallVector<Type, 2> KernelBuilder::accumulatorTypes(const LoopNest &nest,
                                                     ArrayRef<te::Interval> ranges) const {
  SmallVector<Type, 2> types;
  if (!nest.reduction)
    return types;
  CombinerKind combiner = combinerOf(*nest.reduction);
  types.assign(accumulatorsOf(combiner),
               valueType(builder.getContext(), nest.reduction->accumulator));
  if (isArgForm(combiner))
    types[1] = valueType(builder.getContext(), payloadType(nest, ranges));
  return types;
}

Block *KernelBuilder::addBlock(Region &region, const LoopNest &nest, unsigned iterators,
                               ArrayRef<Type> others) {
  Block &block = region.emplaceBlock();
  for (unsigned iterator = 0; iterator < iterators; ++iterator)
    block.addArgument(builder.getIndexType(), builder.getUnknownLoc());
  for (Type type : others)
    block.addArgument(type, builder.getUnknownLoc());
  return &block;
}

SmallVector<Value> KernelBuilder::iteratorsOf(Block &block, const LoopNest &nest,
                                              unsigned iterators) const {
  SmallVector<Value> values(nest.parallel.size() + nest.numReductions());
  for (unsigned iterator = 0; iterator < iterators; ++iterator)
    values[iterator] = block.getArgument(iterator);
  values.append(origins.begin(), origins.end());
  return values;
}

ExprScope KernelBuilder::scopeOf(ArrayRef<te::Interval> ranges, ArrayRef<Value> iterators,
                                 ArrayRef<Value> accumulators, ArrayRef<loops::Ahead> ahead) const {
  return {schedule.buffers, buffers, iterators, ranges, accumulators, ahead};
}

/// Booleans lie in memory as bytes; everything is stored in its buffer's type.
Value KernelBuilder::asStored(Value value, ElementType type, unsigned buffer,
                              ExprBuilder &exprs) const {
  ElementType stored = schedule.buffers[buffer].type;
  value = exprs.operations().cast(type, stored, value);
  return stored == ElementType::Bool
             ? exprs.operations().cast(ElementType::Bool, ElementType::U8, value)
             : value;
}

void KernelBuilder::yieldStored(const LoopNest &nest, SmallVector<Value, 2> values,
                                ArrayRef<ElementType> types, ExprBuilder &exprs) {
  for (auto [position, value] : llvm::enumerate(values))
    value = asStored(value, types[position], nest.destinations[position], exprs);
  YieldOp::create(builder, builder.getUnknownLoc(), values);
}

/// An expression in which what stands in `others` too is the very same, and so is built once.
static te::Expr sharedWith(const te::Expr &expr, ArrayRef<te::Expr> others) {
  return te::rewrite(expr, [&](const te::Expr &e) {
    te::Expr same = e;
    for (const te::Expr &other : others)
      other.walk([&](const te::Expr &part) {
        if (part == e)
          same = part;
      });
    return same;
  });
}

void KernelBuilder::buildBody(const LoopNest &nest, Block &block, ArrayRef<te::Interval> ranges,
                              ArrayRef<Type> accumulators) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  SmallVector<Value> iterators =
      iteratorsOf(block, nest, nest.parallel.size() + nest.numReductions());
  ExprScope scope = scopeOf(ranges, iterators, {}, nest.ahead);
  ExprBuilder exprs(builder, scope);
  SmallVector<Value, 2> values;
  SmallVector<ElementType, 2> types;
  bool isArg = nest.reduction && isArgForm(nest.reduction->combiner);
  for (const te::Expr &body : nest.bodies) {
    types.push_back(isArg && !values.empty() ? payloadType(nest, ranges) : body.type());
    values.push_back(exprs.build(
        types.back() == body.type() ? body : te::Expr::index(body.indexValue(), types.back())));
  }
  if (!nest.reduction)
    return yieldStored(nest, values, types, exprs);
  values[0] = exprs.operations().cast(types[0], nest.reduction->accumulator, values[0]);
  for (const loops::Kept &kept : nest.kept) {
    if (loops::keepsRunningValue(nest))
      break;
    te::Expr value = sharedWith(kept.value, nest.bodies);
    values.push_back(asStored(exprs.build(value), value.type(), kept.buffer, exprs));
  }
  YieldOp::create(builder, builder.getUnknownLoc(), values);
}

void KernelBuilder::buildEpilogue(const LoopNest &nest, Block &block,
                                  ArrayRef<te::Interval> ranges) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  SmallVector<Value> iterators = iteratorsOf(block, nest, nest.parallel.size());
  SmallVector<Value> accumulators(block.getArguments().drop_front(nest.parallel.size()));
  OpsBuilder operations(builder);
  // Of an arg form, te sees the payload only.
  if (isArgForm(nest.reduction->combiner))
    accumulators = {
        operations.cast(payloadType(nest, ranges), nest.bodies[1].type(), accumulators[1])};
  ExprScope scope = scopeOf(ranges, iterators, accumulators);
  ExprBuilder exprs(builder, scope);
  SmallVector<Value, 2> values;
  SmallVector<ElementType, 2> types;
  for (const te::Expr &expr : nest.epilogue) {
    values.push_back(exprs.build(expr));
    types.push_back(expr.type());
  }
  yieldStored(nest, values, types, exprs);
}

MatrixAttr KernelBuilder::matrixOf(const LoopNest &nest) const {
  if (!nest.matrix)
    return {};
  const loops::MatrixTile &tile = *nest.matrix;
  return MatrixAttr::get(builder.getContext(), valueType(builder.getContext(), tile.element),
                         tile.columnsFactor, tile.rows, tile.columns, tile.depth, tile.down,
                         tile.across, tile.warpsK, tile.inFours, tile.inBulk, tile.blocks,
                         tile.stages, tile.ring);
}

/// A begin and an end for each span, ahead of the nest.
SmallVector<Value> KernelBuilder::buildBounds(const LoopNest &nest, ArrayRef<te::Interval> ranges) {
  SmallVector<Value> iterators(nest.parallel.size() + nest.numReductions());
  iterators.append(origins.begin(), origins.end());
  ExprScope scope = scopeOf(ranges, iterators, {});
  ExprBuilder exprs(builder, scope);
  SmallVector<Value> bounds;
  for (const loops::Span &span : nest.spans) {
    int64_t extent = nest.extentOf(span.iterator.asIterator());
    bounds.push_back(span.begin ? exprs.build(*span.begin)
                                : exprs.operations().constant(ElementType::I64, int64_t(0)));
    bounds.push_back(span.end ? exprs.build(*span.end)
                              : exprs.operations().constant(ElementType::I64, extent));
  }
  return bounds;
}

/// A position's map, whose dimensions are the first `iterators`, then the origins.
AffineMap KernelBuilder::mapOf(const te::Index &index, const LoopNest &nest, unsigned iterators,
                               ArrayRef<te::Interval> ranges) {
  assert(index.isStatic() && "where values are stored does not depend on data");
  Block numbering;
  for (unsigned iterator = 0; iterator < iterators; ++iterator)
    numbering.addArgument(builder.getIndexType(), builder.getUnknownLoc());
  SmallVector<Value> values = iteratorsOf(numbering, nest, iterators);
  ExprScope scope = scopeOf(ranges, values, {});
  IndexMap found = ExprBuilder(builder, scope).indexMap(index);
  SmallVector<AffineExpr> dimensions;
  for (Value operand : found.operands) {
    unsigned position = llvm::find(values, operand) - values.begin();
    if (position >= iterators)
      position -= nest.parallel.size() + nest.numReductions() - iterators;
    dimensions.push_back(getAffineDimExpr(position, builder.getContext()));
  }
  return AffineMap::get(iterators + origins.size(), 0,
                        found.map.getResult(0).replaceDims(dimensions));
}

void KernelBuilder::buildNest(const LoopNest &nest) {
  SmallVector<int64_t> parallel, reduction;
  for (const te::Iterator &iterator : nest.parallel)
    parallel.push_back(iterator.extent.constant());
  if (nest.reduction)
    for (const te::Iterator &iterator : nest.reduction->iterators)
      reduction.push_back(iterator.extent.constant());
  llvm::SmallVector<te::Interval> ranges = nest.ranges(schedule.space);

  SmallVector<Value> destinations;
  for (unsigned destination : nest.destinations)
    destinations.push_back(buffers[destination]);
  AffineMap map = mapOf(nest.destinationIndex, nest, parallel.size(), ranges);
  SmallVector<Value> kept;
  SmallVector<AffineMap> keptMaps;
  for (const loops::Kept &each : nest.kept) {
    kept.push_back(buffers[each.buffer]);
    keptMaps.push_back(mapOf(each.index, nest, parallel.size() + reduction.size(), ranges));
  }

  MLIRContext *context = builder.getContext();
  const loops::RegisterTile &tile = nest.registers;
  auto registers = RegistersAttr::get(context, tile.vectorIterator, tile.lanes, tile.vectors,
                                      tile.rowIterator, tile.rows, tile.unrolledReductions,
                                      tile.apart, tile.columnIterator, tile.columns);
  CombinerKindAttr combiner;
  if (nest.reduction)
    combiner = CombinerKindAttr::get(context, combinerOf(*nest.reduction));
  SmallVector<int64_t> bounded;
  for (const loops::Span &span : nest.spans)
    bounded.push_back(span.iterator.asIterator());
  SmallVector<Value> bounds = buildBounds(nest, ranges);
  auto compute = ComputeOp::create(
      builder, builder.getUnknownLoc(), parallel, reduction, combiner, registers, map, destinations,
      origins, bounded.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(bounded),
      bounds, nest.sharedDimensions, nest.inPasses, nest.pastCaches,
      nest.bodies.size() == 2 && nest.reduction ? loops::payloadOrder(nest) : 0,
      loops::keepsRunningValue(nest), matrixOf(nest), nest.streamed, nest.skipsBlocks, kept,
      kept.empty() ? ArrayAttr() : builder.getAffineMapArrayAttr(keptMaps));
  SmallVector<Type, 2> accumulators = accumulatorTypes(nest, ranges);
  Block *body = addBlock(compute.getBody(), nest, parallel.size() + reduction.size(), {});
  buildBody(nest, *body, ranges, accumulators);
  if (nest.reduction)
    buildEpilogue(nest, *addBlock(compute.getEpilogue(), nest, parallel.size(), accumulators),
                  ranges);
}

Status KernelBuilder::build() {
  KINTSUGI_RETURN_IF_ERROR(checkTypes());
  OpBuilder::InsertionGuard guard(builder);
  declare();
  for (const LoopNest &nest : schedule.nests)
    buildNest(nest);
  return Status::success();
}

} // namespace

std::string describeKernel(llvm::StringRef kernel, llvm::StringRef node) {
  return (node.empty() ? "kernel '" + kernel.str() : "node '" + node.str()) + "'";
}

Expected<TileProgram> buildTileProgram(llvm::ArrayRef<NamedSchedule> kernels) {
  TileProgram program;
  ProgramImpl &impl = program.implementation();
  OpBuilder builder(&impl.context);
  builder.setInsertionPointToEnd(impl.module->getBody());
  for (const NamedSchedule &kernel : kernels)
    KINTSUGI_RETURN_IF_ERROR(KernelBuilder(builder, kernel).build());
  KINTSUGI_RETURN_IF_ERROR(program.verify());
  return program;
}

} // namespace kintsugi::tile
