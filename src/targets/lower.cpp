//===- lower.cpp - From the tile dialect to LLVM's ------------------------===//

#include "targets/lower.h"

#include "abi/stage.h"

#include "targets/nest_emitter.h"
#include "tile/program_impl.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"

#include <numeric>

using namespace mlir;
using kintsugi::tile::ComputeOp;
using kintsugi::tile::KernelOp;
using kintsugi::tile::OriginOp;
using kintsugi::tile::ScratchOp;

namespace kintsugi::targets {

namespace {

class KernelLowering {
public:
  KernelLowering(OpBuilder &builder, KernelOp kernel, const LoweringOptions &options)
      : builder(builder), kernel(kernel), options(options), make(builder),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())), i64(builder.getI64Type()) {}

  void lower() {
    LLVM::LLVMFuncOp tile = emitTile();
    emitStage(tile);
  }

private:
  unsigned dimensions() { return kernel.getExtents().size(); }
  LLVM::LLVMFuncOp declareTile();
  LLVM::LLVMFuncOp emitTile();
  void emitNest(KernelScope &scope, ComputeOp nest, Block *block);
  void emitPastCaches(KernelScope &scope, ComputeOp nest, Block *block);
  void emitStage(LLVM::LLVMFuncOp tile);
  SmallVector<Value> tileNumbers(Value linear);
  DimensionValue originOf(OriginOp origin, Value tile);

  OpBuilder &builder;
  KernelOp kernel;
  const LoweringOptions &options;
  Emit make;
  Type pointer, i64;
};

/// (buffers..., scratch, imports, tile numbers..., whether it is the first of a run). Written
/// operands overlap no other (abi/stage.h), and of those only read it does not matter.
LLVM::LLVMFuncOp KernelLowering::declareTile() {
  SmallVector<Type> parameters(kernel.numBuffers() + 2, pointer);
  parameters.append(dimensions(), i64);
  parameters.push_back(builder.getI1Type());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), parameters);
  auto function = LLVM::LLVMFuncOp::create(
      builder, make.location, kernel.getSymName().str() + ".tile", type, LLVM::Linkage::Internal);
  for (unsigned argument = 0; argument < kernel.numBuffers() + 2; ++argument)
    function.setArgAttr(argument, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  return function;
}

/// min(tile * size, extent - size).
DimensionValue KernelLowering::originOf(OriginOp origin, Value tile) {
  int64_t extent = kernel.getExtents()[origin.getDimension()];
  int64_t size = kernel.getSizes()[origin.getDimension()], last = extent - size;
  DimensionValue value;
  value.range = {0, last};
  value.multiple = extent % size == 0 ? size : std::gcd(size, last);
  if (last == 0)
    return value;
  Value start = make.mul(tile, make.integer(i64, size));
  if (extent % size != 0) {
    Value end = make.integer(i64, last);
    start = make.select(make.less(start, end), start, end);
  }
  value.position.base = {start, 0};
  return value;
}

LLVM::LLVMFuncOp KernelLowering::emitTile() {
  LLVM::LLVMFuncOp function = declareTile();
  OpBuilder::InsertionGuard guard(builder);
  Block *block = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  unsigned buffers = kernel.numBuffers();
  KernelScope scope(builder, block->getArgument(buffers + 1), options.hasAllMasks);
  for (unsigned buffer = 0; buffer < buffers; ++buffer)
    scope.pointers[kernel.getBody().getArgument(buffer)] = block->getArgument(buffer);
  for (Operation &op : kernel.getBody().front()) {
    builder.setInsertionPointToEnd(block);
    if (auto scratch = dyn_cast<ScratchOp>(op)) {
      Value offset = make.integer(i64, scratch.getOffset());
      scope.pointers[scratch.getBuffer()] =
          LLVM::GEPOp::create(builder, make.location, pointer, builder.getI8Type(),
                              block->getArgument(buffers), ArrayRef<LLVM::GEPArg>(offset));
    } else if (auto origin = dyn_cast<OriginOp>(op)) {
      Value tile = block->getArgument(buffers + 2 + origin.getDimension());
      scope.origins[origin.getOrigin()] = originOf(origin, tile);
    } else if (auto nest = dyn_cast<ComputeOp>(op)) { // A nest looks up its bounds itself.
      emitNest(scope, nest, block);
    }
  }
  builder.setInsertionPointToEnd(block);
  LLVM::ReturnOp::create(builder, make.location, ValueRange());
  return function;
}

/// Stores bypass the caches where the destinations are aligned: callers' outputs may not be.
void KernelLowering::emitPastCaches(KernelScope &scope, ComputeOp nest, Block *block) {
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
void KernelLowering::emitNest(KernelScope &scope, ComputeOp nest, Block *block) {
  unsigned shared = nest.getShared();
  if (nest.getPastCaches() && !shared)
    return emitPastCaches(scope, nest, block);
  if (!shared)
    return NestEmitter(scope, nest, block).emit();
  ArrayRef<BlockArgument> arguments = block->getArguments();
  Value starts = arguments.back(), zero = make.integer(i64, 0), atStart;
  for (Value number : arguments.drop_back().take_back(shared)) {
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

/// Row-major over the tile space.
SmallVector<Value> KernelLowering::tileNumbers(Value linear) {
  SmallVector<Value> numbers(dimensions());
  for (unsigned dimension = dimensions(); dimension-- > 0;) {
    Value count = make.integer(i64, kernel.tilesAlong(dimension));
    if (kernel.tilesAlong(dimension) == 1) {
      numbers[dimension] = make.integer(i64, 0);
      continue;
    }
    numbers[dimension] = arith::RemUIOp::create(builder, make.location, linear, count);
    linear = arith::DivUIOp::create(builder, make.location, linear, count);
  }
  return numbers;
}

void KernelLowering::emitStage(LLVM::LLVMFuncOp tile) {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          {pointer, i64, i64, pointer, pointer});
  auto function = LLVM::LLVMFuncOp::create(builder, make.location, kernel.getSymName(), type);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  SmallVector<Value> operands;
  for (unsigned buffer = 0; buffer < kernel.numBuffers(); ++buffer) {
    Value place =
        LLVM::GEPOp::create(builder, make.location, pointer, pointer, block->getArgument(0),
                            ArrayRef<LLVM::GEPArg>(static_cast<int32_t>(buffer)));
    operands.push_back(LLVM::LoadOp::create(builder, make.location, pointer, place));
  }
  operands.push_back(block->getArgument(3));
  operands.push_back(block->getArgument(4));
  auto loop = scf::ForOp::create(builder, make.location, block->getArgument(1),
                                 block->getArgument(2), make.integer(i64, 1));
  builder.setInsertionPointToStart(loop.getBody());
  operands.append(tileNumbers(loop.getInductionVar()));
  operands.push_back(arith::CmpIOp::create(builder, make.location, arith::CmpIPredicate::eq,
                                           loop.getInductionVar(), block->getArgument(1)));
  LLVM::CallOp::create(builder, make.location, tile, operands);
  builder.setInsertionPointToEnd(block);
  bool pastCaches = llvm::any_of(kernel.getBody().getOps<ComputeOp>(),
                                 [](ComputeOp nest) { return nest.getPastCaches(); });
  if (pastCaches) // Such stores are in no order with the barrier that ends the stage.
    LLVM::CallIntrinsicOp::create(builder, make.location,
                                  builder.getStringAttr("llvm.x86.sse.sfence"), ValueRange());
  LLVM::ReturnOp::create(builder, make.location, ValueRange());
}

Status convertToLLVM(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LLVMTypeConverter types(context);
  LLVMConversionTarget target(*context);
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  target.addLegalOp<ModuleOp>();
  if (failed(applyFullConversion(module, target, std::move(patterns))))
    return internalError("a tile program could not be lowered to LLVM");
  return Status::success();
}

} // namespace

Expected<std::unique_ptr<llvm::Module>> lowerToLLVM(const tile::TileProgram &program,
                                                    llvm::LLVMContext &llvmContext,
                                                    const LoweringOptions &options) {
  tile::ProgramImpl &impl = program.implementation();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  impl.context.appendDialectRegistry(registry);
  impl.context.loadDialect<LLVM::LLVMDialect, scf::SCFDialect, cf::ControlFlowDialect>();

  OpBuilder builder(&impl.context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  for (KernelOp kernel : impl.module->getOps<KernelOp>())
    KernelLowering(builder, kernel, options).lower();
  KINTSUGI_RETURN_IF_ERROR(tile::verifyModule(*module));
  KINTSUGI_RETURN_IF_ERROR(convertToLLVM(*module));
  auto lowered = translateModuleToLLVMIR(*module, llvmContext, "kintsugi");
  if (!lowered)
    return internalError("a tile program could not be translated to LLVM IR");
  return lowered;
}

} // namespace kintsugi::targets
