//===- tile_body.cpp - What one tile of a kernel computes -----------------===//

#include "targets/tile_body.h"

#include "abi/stage.h"
#include "targets/nest_emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using kintsugi::tile::ComputeOp;
using kintsugi::tile::KernelOp;
using kintsugi::tile::OriginOp;
using kintsugi::tile::ScratchOp;

namespace kintsugi::targets {

namespace {

class TileBody {
public:
  TileBody(OpBuilder &builder, KernelOp kernel, const TileArguments &arguments, Block *block)
      : builder(builder), kernel(kernel), arguments(arguments), block(block), make(builder) {}

  void emit(bool hasAllMasks) {
    KernelScope scope(builder, arguments.imports, hasAllMasks);
    scope.threads = arguments.threads;
    for (auto [number, buffer] : llvm::enumerate(arguments.buffers))
      scope.pointers[kernel.getBody().getArgument(number)] = buffer;
    bool isFirst = true;
    Operation *emitted = nullptr; ///< The last of several nests that were emitted as one.
    for (Operation &op : kernel.getBody().front()) {
      if (emitted && !emitted->isBeforeInBlock(&op))
        continue;
      builder.setInsertionPointToEnd(block);
      if (auto scratch = dyn_cast<ScratchOp>(op)) {
        scope.pointers[scratch.getBuffer()] = placeOf(scratch);
      } else if (auto origin = dyn_cast<OriginOp>(op)) {
        scope.origins[origin.getOrigin()] = originOf(origin);
      } else if (auto nest = dyn_cast<ComputeOp>(op)) { // A nest looks up its bounds itself.
        if (arguments.threads && isFirst)
          beginStreamed(scope);
        else if (arguments.threads)
          arguments.threads->wait(builder);
        isFirst = false;
        emitted = emitStreamed(scope, nest);
        if (!emitted)
          emitNest(scope, nest);
      }
    }
    builder.setInsertionPointToEnd(block);
  }

private:
  static SmallVector<ComputeOp> streamedFrom(ComputeOp nest) {
    SmallVector<ComputeOp> nests{nest};
    while (nests.size() < ComputeOp::numStreamed)
      nests.push_back(cast<ComputeOp>(nests.back()->getNextNode()));
    return nests;
  }

  /// The first nests that are streamed, where others come before them. Rings of products lie where
  /// theirs does.
  void beginStreamed(KernelScope &scope) {
    SmallVector<Value> written;
    for (ComputeOp nest : kernel.getBody().getOps<ComputeOp>()) {
      if (nest.getStreamed() && !written.empty())
        return arguments.threads->beginStreamed(scope, streamedFrom(nest), written, block);
      if (nest.getMatrix())
        return;
      llvm::append_range(written, nest.getDestinations());
    }
  }

  /// Where real threads make one loop of nests: the last of them.
  Operation *emitStreamed(KernelScope &scope, ComputeOp nest) {
    if (!nest.getStreamed() || !arguments.threads)
      return nullptr;
    SmallVector<ComputeOp> nests = streamedFrom(nest);
    return arguments.threads->emitStreamed(scope, nests, block) ? nests.back() : nullptr;
  }

  Value placeOf(ScratchOp scratch) {
    Value offset = make.integer(builder.getI64Type(), scratch.getOffset());
    return LLVM::GEPOp::create(
        builder, make.location, LLVM::LLVMPointerType::get(builder.getContext()),
        builder.getI8Type(), arguments.scratch, ArrayRef<LLVM::GEPArg>(offset));
  }

  /// min(tile * size, extent - size).
  DimensionValue originOf(OriginOp origin) {
    int64_t extent = kernel.getExtents()[origin.getDimension()];
    int64_t size = kernel.getSizes()[origin.getDimension()], last = extent - size;
    DimensionValue value;
    value.range = {0, last};
    value.multiple = loops::TileDimension{extent, size}.startMultiple();
    if (last == 0)
      return value;
    Type i64 = builder.getI64Type();
    Value start = make.mul(arguments.tile[origin.getDimension()], make.integer(i64, size));
    if (extent % size != 0) {
      Value end = make.integer(i64, last);
      start = make.select(make.less(start, end), start, end);
    }
    value.position.base = {start, 0};
    return value;
  }

  /// Stores bypass the caches where the destinations are aligned: callers' outputs may not be.
  void emitPastCaches(KernelScope &scope, ComputeOp nest) {
    Type i64 = builder.getI64Type();
    Value bits;
    for (Value destination : nest.getDestinations()) {
      Value place =
          LLVM::PtrToIntOp::create(builder, make.location, i64, scope.pointers.lookup(destination));
      bits = bits ? arith::OrIOp::create(builder, make.location, bits, place) : place;
    }
    Value low = make.bitAnd(bits, make.integer(i64, KIN_BUFFER_ALIGNMENT - 1));
    Value isAligned = make.equal(low, make.integer(i64, 0));
    auto choice = scf::IfOp::create(builder, make.location, isAligned, true);
    for (Block *branch : {choice.thenBlock(), choice.elseBlock()}) {
      branch->getTerminator()->erase();
      builder.setInsertionPointToEnd(branch);
      scope.pastCaches = branch == choice.thenBlock();
      NestEmitter(scope, nest, branch).emit();
      builder.setInsertionPointToEnd(branch);
      scf::YieldOp::create(builder, make.location);
    }
    scope.pastCaches = false;
  }

  /// What is shared is computed at the start of a run of tiles, and where the dimensions that share
  /// it start anew.
  void emitNest(KernelScope &scope, ComputeOp nest) {
    unsigned shared = nest.getShared();
    if (nest.getMatrix() && arguments.threads &&
        arguments.threads->emitProducts(scope, nest, block))
      return;
    if (nest.getPastCaches() && !shared && !arguments.threads)
      return emitPastCaches(scope, nest);
    if (!shared || !arguments.startsRun)
      return NestEmitter(scope, nest, block).emit();
    Value starts = arguments.startsRun, zero = make.integer(builder.getI64Type(), 0), atStart;
    for (Value number : ArrayRef(arguments.tile).take_back(shared)) {
      Value isZero =
          arith::CmpIOp::create(builder, make.location, arith::CmpIPredicate::eq, number, zero);
      atStart = atStart ? make.bitAnd(atStart, isZero) : isZero;
    }
    starts = arith::OrIOp::create(builder, make.location, starts, atStart);
    auto choice = scf::IfOp::create(builder, make.location, starts, false);
    Block *then = choice.thenBlock();
    then->getTerminator()->erase();
    builder.setInsertionPointToEnd(then);
    NestEmitter(scope, nest, then).emit();
    builder.setInsertionPointToEnd(then);
    scf::YieldOp::create(builder, make.location);
  }

  OpBuilder &builder;
  KernelOp kernel;
  const TileArguments &arguments;
  Block *block;
  Emit make;
};

} // namespace

void emitTileBody(OpBuilder &builder, KernelOp kernel, const TileArguments &arguments,
                  bool hasAllMasks, Block *block) {
  TileBody(builder, kernel, arguments, block).emit(hasAllMasks);
}

SmallVector<Value> tileNumbers(Emit &make, KernelOp kernel, Value linear) {
  Type i64 = make.builder.getI64Type();
  SmallVector<Value> numbers(kernel.getExtents().size());
  for (unsigned dimension = numbers.size(); dimension-- > 0;) {
    Value count = make.integer(i64, kernel.tilesAlong(dimension));
    if (kernel.tilesAlong(dimension) == 1) {
      numbers[dimension] = make.integer(i64, 0);
      continue;
    }
    numbers[dimension] = arith::RemUIOp::create(make.builder, make.location, linear, count);
    linear = arith::DivUIOp::create(make.builder, make.location, linear, count);
  }
  return numbers;
}

} // namespace kintsugi::targets
