//===- lower_block.cpp - Kernels of blocks of threads ---------------------===//

#include "targets/nvidia/lower_block.h"

#include "abi/launch.h"
#include "targets/double_functions.h"
#include "targets/elementwise.h"
#include "targets/lower_kernels.h"
#include "targets/nest_emitter.h"
#include "targets/nvidia/matrix_nest.h"
#include "targets/nvidia/streamed_softmax.h"
#include "targets/tile_body.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using kintsugi::tile::ComputeOp;
using kintsugi::tile::KernelOp;

namespace kintsugi::targets {

namespace {

constexpr unsigned sharedSpace = 3;

Value intrinsic(OpBuilder &builder, const char *name, Type result, ValueRange operands) {
  Location location = builder.getUnknownLoc();
  auto call = LLVM::CallIntrinsicOp::create(builder, location, result, builder.getStringAttr(name),
                                            operands);
  return call.getResults();
}

class BlockThreads final : public Threads {
public:
  BlockThreads(int64_t count, Value number, Value exchange, Value scratch, bool isHopper)
      : Threads(count, exchange), scratch(scratch), isHopper(isHopper) {
    this->number = number;
  }

  bool emitProducts(KernelScope &scope, ComputeOp nest, Block *block) override {
    Levels levels(scope.builder, MatrixNest::numLevels, block);
    MatrixNest(scope, nest, scratch, isHopper, levels).emit();
    return true;
  }

  bool emitStreamed(KernelScope &scope, ArrayRef<ComputeOp> nests, Block *block) override {
    StreamedSoftmax(scope, nests, scratch, block).emit();
    return true;
  }

  bool areReal() const override { return true; }

  void wait(OpBuilder &builder) override {
    Value zero = Emit(builder).integer(builder.getI32Type(), 0);
    LLVM::CallIntrinsicOp::create(builder, builder.getUnknownLoc(),
                                  builder.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.all"),
                                  ValueRange{zero});
  }

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
  Value scratch;
  bool isHopper;

  static Value shuffle(Emit &make, Value value, unsigned distance) {
    Type i32 = make.builder.getI32Type();
    return intrinsic(make.builder, "llvm.nvvm.shfl.sync.down.i32", i32,
                     {make.integer(i32, -1), value, make.integer(i32, distance),
                      make.integer(i32, neighbours - 1)});
  }
};

/// Blocks that are under way at once have neighbouring numbers. Those of products then read fewer
/// rows and columns together, if they lie in a square: tiles are numbered along bands of rows.
Value inBands(Emit &make, KernelOp kernel, Value linear) {
  constexpr int64_t mostRows = 16;
  size_t dimensions = kernel.getExtents().size();
  int64_t rows = dimensions < 2 ? 1 : kernel.tilesAlong(dimensions - 2);
  int64_t columns = dimensions < 2 ? 1 : kernel.tilesAlong(dimensions - 1);
  bool hasProducts = false;
  kernel.walk([&](ComputeOp nest) { hasProducts |= nest.getMatrix().has_value(); });
  if (!hasProducts || rows == 1 || columns == 1)
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

/// Blocks that share a tile.
int64_t clusterOf(KernelOp kernel, bool isHopper) {
  int64_t blocks = 1;
  kernel.walk([&](ComputeOp nest) {
    if (nest.getMatrix())
      blocks = std::max(blocks, MatrixNest::blocksOf(*nest.getMatrix(), isHopper));
  });
  return blocks;
}

class BlockLowering {
public:
  BlockLowering(OpBuilder &builder, KernelOp kernel, bool isHopper, bool waits)
      : builder(builder), kernel(kernel), isHopper(isHopper), waits(waits), make(builder),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())) {}

  Status lower() {
    KINTSUGI_RETURN_IF_ERROR(checkOperations());
    Value exchange;
    LLVM::GlobalOp scratchMemory, exchangeMemory;
    if (kernel.getScratchBytes() > 0)
      scratchMemory = declareShared("_scratch", 0, LLVM::Linkage::External, scratchAlignment());
    if (int64_t bytes = mostExchangeBytes())
      exchangeMemory = declareShared("_exchange", bytes, LLVM::Linkage::Internal, 64);
    LLVM::LLVMFuncOp function = declare();
    OpBuilder::InsertionGuard guard(builder);
    Block *block = function.addEntryBlock(builder);
    builder.setInsertionPointToStart(block);
    TileArguments arguments;
    arguments.buffers.assign(block->args_begin(), block->args_end());
    if (waits)
      waitForLaunches(arguments.buffers);
    if (scratchMemory)
      arguments.scratch = addressOf(scratchMemory);
    if (exchangeMemory)
      exchange = addressOf(exchangeMemory);
    Type i32 = builder.getI32Type();
    Value number = intrinsic(builder, "llvm.nvvm.read.ptx.sreg.tid.x", i32, {});
    Value tile = intrinsic(builder, "llvm.nvvm.read.ptx.sreg.ctaid.x", i32, {});
    if (int64_t blocks = clusterOf(kernel, isHopper); blocks > 1)
      tile = make.shiftRight(tile, llvm::Log2_64(blocks));
    tile = arith::ExtUIOp::create(builder, make.location, builder.getI64Type(), tile);
    arguments.tile = tileNumbers(make, kernel, inBands(make, kernel, tile));
    BlockThreads threads(kernel.getThreads(), number, exchange, arguments.scratch, isHopper);
    arguments.threads = &threads;
    emitTileBody(builder, kernel, arguments, true, block);
    LLVM::ReturnOp::create(builder, make.location, ValueRange());
    return Status::success();
  }

private:
  /// What the import table serves on a processor has no code here.
  Status checkOperations() {
    Status status;
    kernel.walk([&](Operation *op) {
      if (!status.ok() || Elementwise::importOf(op).empty())
        return;
      if (op->getResult(0).getType().isF32() && DoubleFunctions::has(Elementwise::importOf(op)))
        return;
      status = inputError("kernel '" + kernel.getSymName().str() + "' computes '" +
                          Elementwise::importOf(op).str() +
                          "', for which --target cuda has no code yet; use --target cpu");
    });
    return status;
  }

  /// Buffers' addresses come of the wait, so that no read of them may stand ahead of it.
  void waitForLaunches(SmallVectorImpl<Value> &buffers) {
    Type i64 = builder.getI64Type();
    auto dialect = LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT);
    auto wait = LLVM::InlineAsmOp::create(
        builder, make.location, i64, ValueRange(), "griddepcontrol.wait;\n\tmov.b64 $0, 0;",
        "=l,~{memory}", /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::tailcallkind::TailCallKind::None, dialect, ArrayAttr());
    for (Value &buffer : buffers)
      buffer = LLVM::GEPOp::create(builder, make.location, pointer, builder.getI8Type(), buffer,
                                   ArrayRef<LLVM::GEPArg>(wait.getResult(0)));
  }

  int64_t mostExchangeBytes() {
    int64_t most = 0;
    kernel.walk([&](ComputeOp nest) {
      most = std::max(most, exchangeBytes(nest, kernel.getThreads(), true));
    });
    return most;
  }

  /// Rings count their places from it.
  unsigned scratchAlignment() {
    unsigned alignment = 64;
    kernel.walk([&](ComputeOp nest) {
      if (nest.getMatrix() && nest.getMatrix()->getInFours())
        alignment = 1024;
    });
    return alignment;
  }

  /// No bytes: as many as the launch says.
  LLVM::GlobalOp declareShared(const char *suffix, int64_t bytes, LLVM::Linkage linkage,
                               unsigned alignment) {
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
    return LLVM::GlobalOp::create(builder, make.location, type, false, linkage,
                                  kernel.getSymName().str() + suffix, Attribute(), alignment,
                                  sharedSpace);
  }

  Value addressOf(LLVM::GlobalOp global) {
    Value address = LLVM::AddressOfOp::create(builder, make.location, global);
    return LLVM::AddrSpaceCastOp::create(builder, make.location, pointer, address);
  }

  bool isWritten(BlockArgument buffer) {
    bool written = false;
    kernel.walk(
        [&](ComputeOp nest) { written |= llvm::is_contained(nest.getDestinations(), buffer); });
    return written;
  }

  /// What a kernel writes its threads may read again after a wait, which promises nothing of
  /// operands that no other pointer leads to: only those that are never written are marked so.
  LLVM::LLVMFuncOp declare() {
    SmallVector<Type> parameters(kernel.numBuffers(), pointer);
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), parameters);
    auto function = LLVM::LLVMFuncOp::create(builder, make.location, kernel.getSymName(), type);
    function.setCConv(LLVM::CConv::PTX_Kernel);
    for (unsigned number = 0; number < kernel.numBuffers(); ++number) {
      function.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(KIN_LAUNCH_ALIGNMENT));
      if (isWritten(kernel.getBody().getArgument(number)))
        continue;
      function.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
      function.setArgAttr(number, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
    }
    return function;
  }

  OpBuilder &builder;
  KernelOp kernel;
  bool isHopper, waits;
  Emit make;
  Type pointer;
};

} // namespace

bool startsEarly(const std::string &level) { return level == "sm_90a"; }

Expected<std::unique_ptr<llvm::Module>> lowerToBlocks(const tile::TileProgram &program,
                                                      const std::string &level,
                                                      llvm::LLVMContext &context) {
  llvm::StringMap<int64_t> threads, clusters;
  bool isHopper = level == "sm_90a";
  auto module = lowerKernels(program, context, [&](OpBuilder &builder, KernelOp kernel) -> Status {
    if (kernel.getThreads() == 0)
      return internalError("kernel '" + kernel.getSymName().str() + "' has no threads");
    threads[kernel.getSymName()] = kernel.getThreads();
    clusters[kernel.getSymName()] = clusterOf(kernel, isHopper);
    return BlockLowering(builder, kernel, isHopper, startsEarly(level)).lower();
  });
  if (!module.ok())
    return module;
  for (llvm::Function &function : **module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("nvvm.maxntid", std::to_string(threads.lookup(function.getName())));
    if (int64_t blocks = clusters.lookup(function.getName()); blocks > 1)
      function.addFnAttr("nvvm.cluster_dim", std::to_string(blocks));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  return module;
}

} // namespace kintsugi::targets
