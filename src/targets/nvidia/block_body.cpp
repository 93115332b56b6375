//===- block_body.cpp - A kernel's tile as the work of a block ------------===//

#include "targets/nvidia/block_body.h"

#include "targets/double_functions.h"
#include "targets/elementwise.h"
#include "targets/nest_emitter.h"
#include "targets/nvidia/approximations.h"
#include "targets/nvidia/matrix_nest.h"
#include "targets/nvidia/streamed_softmax.h"
#include "targets/tile_body.h"
#include "tile/build.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using kintsugi::tile::ComputeOp;
using kintsugi::tile::KernelOp;

namespace kintsugi::targets {

namespace {

Value intrinsic(OpBuilder &builder, const char *name, Type result, ValueRange operands) {
  Location location = builder.getUnknownLoc();
  auto call = LLVM::CallIntrinsicOp::create(builder, location, result, builder.getStringAttr(name),
                                            operands);
  return call.getResults();
}

class BlockThreads final : public Threads {
public:
  BlockThreads(int64_t count, const BlockFrame &frame)
      : Threads(count, frame.exchange), frame(frame) {
    number = frame.thread;
  }

  bool emitProducts(KernelScope &scope, ComputeOp nest, Block *block) override {
    Levels levels(scope.builder, MatrixNest::numLevels, block);
    MatrixNest(scope, nest, frame, levels).emit();
    return true;
  }

  void beginStreamed(KernelScope &scope, ArrayRef<ComputeOp> nests, ArrayRef<Value> written,
                     Block *block) override {
    auto streamed = std::make_unique<StreamedSoftmax>(scope, nests, frame, block);
    if (!streamed->fillsFirst(written))
      return;
    streamed->begin();
    begun = std::move(streamed);
  }

  bool emitStreamed(KernelScope &scope, ArrayRef<ComputeOp> nests, Block *block) override {
    if (begun) {
      begun->finish();
      begun.reset();
    } else {
      StreamedSoftmax(scope, nests, frame, block).emit();
    }
    return true;
  }

  bool areReal() const override { return true; }

  const SpecialUnits *units() const override { return &approximations; }

  void wait(OpBuilder &builder) override { emitBlockWait(builder, frame.hasIdle ? count : 0); }

  Value fromNeighbour(OpBuilder &builder, Value value, unsigned distance) override {
    Emit make(builder);
    Type type = value.getType(), i32 = builder.getI32Type();
    unsigned bits = type.getIntOrFloatBitWidth();
    Type integer = builder.getIntegerType(bits);
    Value raw = value;
    if (isa<FloatType>(type))
      raw = make.bitcast(raw, integer);
    if (bits == 64) {
      Value low = arith::TruncIOp::create(builder, make.location, i32, raw);
      Value high = arith::TruncIOp::create(builder, make.location, i32, make.shiftRight(raw, 32));
      low = arith::ExtUIOp::create(builder, make.location, integer, shuffle(make, low, distance));
      high = arith::ExtUIOp::create(builder, make.location, integer, shuffle(make, high, distance));
      raw = make.bitOr(low, make.shiftLeft(high, 32));
    } else if (bits < 32) {
      raw = arith::ExtUIOp::create(builder, make.location, i32, raw);
      raw = arith::TruncIOp::create(builder, make.location, integer, shuffle(make, raw, distance));
    } else {
      raw = shuffle(make, raw, distance);
    }
    return isa<FloatType>(type) ? make.bitcast(raw, type) : raw;
  }

private:
  const BlockFrame &frame;
  Approximations approximations;
  std::unique_ptr<StreamedSoftmax> begun; ///< The first that is emitted, where its ring is filled.

  static Value shuffle(Emit &make, Value value, unsigned distance) {
    Type i32 = make.builder.getI32Type();
    return intrinsic(make.builder, "llvm.nvvm.shfl.sync.down.i32", i32,
                     {make.integer(i32, -1), value, make.integer(i32, distance),
                      make.integer(i32, neighbours - 1)});
  }
};

/// Whether neighbours along the last tile dimension but one read memory side by side.
bool readsAlongRows(KernelOp kernel) {
  unsigned rows = kernel.getExtents().size() - 2;
  bool found = false;
  kernel.walk([&](tile::ReadOp read) {
    AffineMap map = read.getMap();
    if (!isa<BlockArgument>(read.getBuffer()))
      return;
    for (auto [d, index] : llvm::enumerate(read.getIndices())) {
      auto origin = index.getDefiningOp<tile::OriginOp>();
      if (!origin || origin.getDimension() != rows)
        continue;
      SmallVector<Attribute> zeros(map.getNumInputs(),
                                   IntegerAttr::get(IndexType::get(read.getContext()), 0));
      SmallVector<Attribute> ones = zeros;
      ones[d] = IntegerAttr::get(IndexType::get(read.getContext()), 1);
      auto at = [&](ArrayRef<Attribute> place) {
        SmallVector<Attribute> result;
        bool isKnown = succeeded(map.constantFold(place, result));
        return isKnown ? cast<IntegerAttr>(result[0]).getInt() : 0;
      };
      found |= at(ones) - at(zeros) == 1;
    }
  });
  return found;
}

/// Blocks that are under way at once have neighbouring numbers. Those of products then read fewer
/// rows and columns together, and those that turn what they read read longer runs, if they lie in a
/// square: tiles are numbered along bands of rows.
Value inBands(Emit &make, KernelOp kernel, Value linear) {
  constexpr int64_t mostRows = tile::rowsOfBand;
  size_t dimensions = kernel.getExtents().size();
  int64_t rows = dimensions < 2 ? 1 : kernel.tilesAlong(dimensions - 2);
  int64_t columns = dimensions < 2 ? 1 : kernel.tilesAlong(dimensions - 1);
  bool hasProducts = false;
  kernel.walk([&](ComputeOp nest) { hasProducts |= nest.getMatrix().has_value(); });
  if (rows == 1 || columns == 1 || !(hasProducts || readsAlongRows(kernel)))
    return linear;
  auto number = [&](int64_t value) { return make.integer(linear.getType(), value); };
  auto divide = [&](Value a, Value b) {
    return arith::DivUIOp::create(make.builder, make.location, a, b);
  };
  auto modulo = [&](Value a, Value b) {
    return arith::RemUIOp::create(make.builder, make.location, a, b);
  };
  Value matrix = divide(linear, number(rows * columns));
  Value within = modulo(linear, number(rows * columns));
  Value first = make.mul(divide(within, number(mostRows * columns)), number(mostRows));
  Value inBand = modulo(within, number(mostRows * columns));
  Value left = make.sub(number(rows), first);
  Value height = make.select(make.lessUnsigned(left, number(mostRows)), left, number(mostRows));
  Value row = make.add(first, modulo(inBand, height));
  Value inMatrix = make.add(make.mul(row, number(columns)), divide(inBand, height));
  return make.add(make.mul(matrix, number(rows * columns)), inMatrix);
}

/// Blocks that start late should have little to do. Of a softmax that leaves hidden blocks out the
/// last rows often see the most, and never much less than others.
Value inOrder(Emit &make, KernelOp kernel, Value number) {
  bool isUneven = false;
  kernel.walk([&](ComputeOp nest) { isUneven |= nest.getSkipsBlocks(); });
  if (!isUneven)
    return number;
  return make.sub(make.integer(number.getType(), kernel.numTiles() - 1), number);
}

} // namespace

Status checkOperations(KernelOp kernel) {
  Status status;
  kernel.walk([&](Operation *op) {
    if (!status.ok() || Elementwise::importOf(op).empty())
      return;
    if (op->getResult(0).getType().isF32() && DoubleFunctions::has(Elementwise::importOf(op)))
      return;
    auto node = dyn_cast<NameLoc>(kernel.getLoc());
    status =
        inputError(tile::describeKernel(kernel.getSymName(), node ? node.getName().strref() : "") +
                   ": it computes '" + Elementwise::importOf(op).str() +
                   "', for which --target cuda has no code yet; use --target cpu");
  });
  return status;
}

int64_t mostExchangeBytes(KernelOp kernel) {
  int64_t most = 0;
  kernel.walk([&](ComputeOp nest) {
    most = std::max(most, exchangeBytes(nest, kernel.getThreads(), true));
  });
  return most;
}

bool multipliesInFours(KernelOp kernel) {
  return llvm::any_of(kernel.getOps<ComputeOp>(), [](ComputeOp nest) {
    return nest.getMatrix() && nest.getMatrix()->getInFours();
  });
}

unsigned scratchAlignment(KernelOp kernel) { return multipliesInFours(kernel) ? 1024 : 64; }

int64_t clusterOf(KernelOp kernel, bool isHopper) {
  int64_t blocks = 1;
  kernel.walk([&](ComputeOp nest) {
    if (nest.getMatrix())
      blocks = std::max(blocks, MatrixNest::blocksOf(*nest.getMatrix(), isHopper));
  });
  return blocks;
}

void emitBlockBody(OpBuilder &builder, KernelOp kernel, const BlockFrame &frame,
                   ArrayRef<Value> buffers, Value number, Block *block) {
  Emit make(builder);
  builder.setInsertionPointToEnd(block);
  TileArguments arguments;
  arguments.buffers.assign(buffers.begin(), buffers.end());
  arguments.scratch = frame.scratch;
  arguments.tile = tileNumbers(make, kernel, inBands(make, kernel, inOrder(make, kernel, number)));
  BlockThreads threads(kernel.getThreads(), frame);
  arguments.threads = &threads;
  emitTileBody(builder, kernel, arguments, true, block);
}

namespace {

/// Of the sixteen that a block has: the first for all threads, the second for those with work.
enum Barrier : int64_t { OfAll, OfSome, Further };

void waitFor(OpBuilder &builder, Value barrier, int64_t count) {
  Emit make(builder);
  Value threads = make.integer(builder.getI32Type(), count);
  LLVM::CallIntrinsicOp::create(builder, make.location,
                                builder.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.count"),
                                ValueRange{barrier, threads});
}

} // namespace

void emitBlockWait(OpBuilder &builder, int64_t count) {
  Emit make(builder);
  Value barrier = make.integer(builder.getI32Type(), count ? OfSome : OfAll);
  if (count)
    return waitFor(builder, barrier, count);
  LLVM::CallIntrinsicOp::create(builder, make.location,
                                builder.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.all"),
                                ValueRange{barrier});
}

void emitWaitAt(OpBuilder &builder, Value barrier, int64_t count) {
  Emit make(builder);
  waitFor(builder, make.add(barrier, make.integer(builder.getI32Type(), Further)), count);
}

} // namespace kintsugi::targets
