//===- lower.cpp - From the tile dialect to LLVM's ------------------------===//

#include "targets/lower.h"

#include "targets/lower_kernels.h"
#include "targets/nest_emitter.h"
#include "targets/tile_body.h"
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

using namespace mlir;
using kintsugi::tile::KernelOp;

namespace kintsugi::targets {

namespace {

/// Each kernel of a processor: a function for one tile, and the stage that loops over tiles.
class StageLowering {
public:
  StageLowering(OpBuilder &builder, KernelOp kernel, const LoweringOptions &options)
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
  Value exchangeMemory();
  void emitStage(LLVM::LLVMFuncOp tile);

  OpBuilder &builder;
  KernelOp kernel;
  const LoweringOptions &options;
  Emit make;
  Type pointer, i64;
};

/// (buffers..., scratch, imports, tile numbers..., whether it is the first of a run). Written
/// operands overlap no other (abi/stage.h), and of those only read it does not matter.
LLVM::LLVMFuncOp StageLowering::declareTile() {
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

LLVM::LLVMFuncOp StageLowering::emitTile() {
  LLVM::LLVMFuncOp function = declareTile();
  OpBuilder::InsertionGuard guard(builder);
  Block *block = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  SmallVector<Value> all(block->getArguments());
  ArrayRef<Value> values = all;
  unsigned buffers = kernel.numBuffers();
  TileArguments arguments;
  arguments.buffers.assign(values.begin(), values.begin() + buffers);
  arguments.scratch = values[buffers];
  arguments.imports = values[buffers + 1];
  arguments.tile.assign(values.begin() + buffers + 2, values.end() - 1);
  arguments.startsRun = values.back();
  Threads threads(kernel.getThreads(), exchangeMemory());
  if (kernel.getThreads())
    arguments.threads = &threads;
  emitTileBody(builder, kernel, arguments, options.hasAllMasks, block);
  LLVM::ReturnOp::create(builder, make.location, ValueRange());
  return function;
}

/// Where a worker keeps what a block's threads would exchange; null: nothing.
Value StageLowering::exchangeMemory() {
  int64_t bytes = 0;
  kernel.walk([&](tile::ComputeOp nest) {
    bytes = std::max(bytes, exchangeBytes(nest, kernel.getThreads(), false));
  });
  if (bytes == 0)
    return {};
  return LLVM::AllocaOp::create(builder, make.location, pointer, builder.getI8Type(),
                                make.integer(i64, bytes), 64);
}

void StageLowering::emitStage(LLVM::LLVMFuncOp tile) {
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
  operands.append(tileNumbers(make, kernel, loop.getInductionVar()));
  operands.push_back(arith::CmpIOp::create(builder, make.location, arith::CmpIPredicate::eq,
                                           loop.getInductionVar(), block->getArgument(1)));
  LLVM::CallOp::create(builder, make.location, tile, operands);
  builder.setInsertionPointToEnd(block);
  bool pastCaches = llvm::any_of(kernel.getBody().getOps<tile::ComputeOp>(),
                                 [](tile::ComputeOp nest) { return nest.getPastCaches(); });
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

Expected<std::unique_ptr<llvm::Module>>
lowerKernels(const tile::TileProgram &program, llvm::LLVMContext &llvmContext,
             llvm::function_ref<Status(OpBuilder &, ModuleOp)> lowerAll) {
  tile::ProgramImpl &impl = program.implementation();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  impl.context.appendDialectRegistry(registry);
  impl.context.loadDialect<LLVM::LLVMDialect, scf::SCFDialect, cf::ControlFlowDialect>();

  OpBuilder builder(&impl.context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  KINTSUGI_RETURN_IF_ERROR(lowerAll(builder, *impl.module));
  KINTSUGI_RETURN_IF_ERROR(tile::verifyModule(*module));
  KINTSUGI_RETURN_IF_ERROR(convertToLLVM(*module));
  auto lowered = translateModuleToLLVMIR(*module, llvmContext, "kintsugi");
  if (!lowered)
    return internalError("a tile program could not be translated to LLVM IR");
  return lowered;
}

Expected<std::unique_ptr<llvm::Module>> lowerToLLVM(const tile::TileProgram &program,
                                                    llvm::LLVMContext &context,
                                                    const LoweringOptions &options) {
  return lowerKernels(program, context, [&](OpBuilder &builder, ModuleOp kernels) {
    for (KernelOp kernel : kernels.getOps<KernelOp>())
      StageLowering(builder, kernel, options).lower();
    return Status::success();
  });
}

} // namespace kintsugi::targets
