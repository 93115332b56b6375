#include "targets/nvidia/calls/block_builder.h"

#include "abi/launch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace kintsugi::targets {

constexpr unsigned sharedSpace = 3;

BlockBuilder::BlockBuilder(llvm::Module &module, const calls::Launch &launch, bool waits)
    : ir(module.getContext()), shared(nullptr), threads(launch.threads), module(module),
      function(declare(launch)) {
  ir.SetInsertPoint(newBlock());
  for (llvm::Argument &argument : function->args())
    operands.push_back(&argument);
  thread = ir.CreateIntrinsic(ir.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
  block = ir.CreateIntrinsic(ir.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
  if (waits)
    waitForLaunches();
  if (launch.sharedBytes == 0)
    return;
  auto *memory = new llvm::GlobalVariable(
      module, llvm::ArrayType::get(ir.getInt8Ty(), 0), false, llvm::GlobalValue::ExternalLinkage,
      nullptr, launch.symbol + "_scratch", nullptr, llvm::GlobalValue::NotThreadLocal, sharedSpace);
  memory->setAlignment(llvm::Align(KIN_LAUNCH_ALIGNMENT));
  shared = memory;
}

llvm::Function *BlockBuilder::declare(const calls::Launch &launch) {
  size_t reads = launch.reads.size();
  llvm::SmallVector<llvm::Type *> parameters(reads + launch.writes.size(), ir.getPtrTy());
  auto *type = llvm::FunctionType::get(ir.getVoidTy(), parameters, false);
  auto *result =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, launch.symbol, module);
  result->setCallingConv(llvm::CallingConv::PTX_Kernel);
  result->addFnAttr("nvvm.maxntid", std::to_string(launch.threads));
  result->addFnAttr(llvm::Attribute::NoUnwind);
  for (unsigned number = 0; number < parameters.size(); ++number) {
    result->addParamAttr(number, llvm::Attribute::getWithAlignment(
                                     ir.getContext(), llvm::Align(KIN_LAUNCH_ALIGNMENT)));
    if (number >= reads)
      continue;
    result->addParamAttr(number, llvm::Attribute::NoAlias);
    result->addParamAttr(number, llvm::Attribute::ReadOnly);
  }
  return result;
}

/// Operands' addresses come of the wait, so that no read of them may stand ahead of it.
void BlockBuilder::waitForLaunches() {
  auto *type = llvm::FunctionType::get(ir.getInt64Ty(), false);
  auto *wait =
      llvm::InlineAsm::get(type, "griddepcontrol.wait;\n\tmov.b64 $0, 0;", "=l,~{memory}", true);
  Value *nothing = ir.CreateCall(type, wait);
  for (Value *&operand : operands)
    operand = ir.CreateGEP(ir.getInt8Ty(), operand, nothing);
}

BlockBuilder::Value *BlockBuilder::load(llvm::Type *type, Value *memory, Value *index) {
  return ir.CreateAlignedLoad(type, place(memory, type, index),
                              llvm::Align(type->getScalarSizeInBits() / 8));
}

void BlockBuilder::store(Value *value, Value *memory, Value *index) {
  llvm::Type *type = value->getType();
  ir.CreateAlignedStore(value, place(memory, type, index),
                        llvm::Align(type->getScalarSizeInBits() / 8));
}

void BlockBuilder::ifThen(Value *condition, llvm::function_ref<void()> then) {
  llvm::BasicBlock *inside = newBlock(), *after = newBlock();
  ir.CreateCondBr(condition, inside, after);
  ir.SetInsertPoint(inside);
  then();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
}

BlockBuilder::Value *BlockBuilder::valueOr(Value *condition, Value *value,
                                           llvm::function_ref<Value *()> otherwise) {
  llvm::BasicBlock *before = ir.GetInsertBlock(), *inside = newBlock(), *after = newBlock();
  ir.CreateCondBr(condition, after, inside);
  ir.SetInsertPoint(inside);
  Value *other = otherwise();
  llvm::BasicBlock *end = ir.GetInsertBlock();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
  llvm::PHINode *result = ir.CreatePHI(value->getType(), 2);
  result->addIncoming(value, before);
  result->addIncoming(other, end);
  return result;
}

BlockBuilder::Values
BlockBuilder::loopWhile(llvm::ArrayRef<Value *> first,
                        llvm::function_ref<Value *(llvm::ArrayRef<Value *>)> condition,
                        llvm::function_ref<Values(llvm::ArrayRef<Value *>)> body) {
  llvm::BasicBlock *before = ir.GetInsertBlock();
  llvm::BasicBlock *head = newBlock(), *inside = newBlock(), *after = newBlock();
  ir.CreateBr(head);
  ir.SetInsertPoint(head);
  Values current;
  for (Value *value : first) {
    llvm::PHINode *phi = ir.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    current.push_back(phi);
  }
  ir.CreateCondBr(condition(current), inside, after);
  ir.SetInsertPoint(inside);
  Values next = body(current);
  for (auto [phi, value] : llvm::zip_equal(current, next))
    llvm::cast<llvm::PHINode>(phi)->addIncoming(value, ir.GetInsertBlock());
  ir.CreateBr(head);
  ir.SetInsertPoint(after);
  return current;
}

void BlockBuilder::loop(Value *begin, Value *end, uint64_t step,
                        llvm::function_ref<void(Value *)> body) {
  loopWhile(
      {begin}, [&](auto current) { return ir.CreateICmpULT(current[0], end); },
      [&](auto current) -> Values {
        body(current[0]);
        return {add(current[0], step)};
      });
}

BlockBuilder::Value *BlockBuilder::firstNot(Value *low, Value *high,
                                            llvm::function_ref<Value *(Value *)> condition) {
  return loopWhile(
             {low, high}, [&](auto range) { return ir.CreateICmpULT(range[0], range[1]); },
             [&](auto range) -> Values {
               Value *middle =
                   ir.CreateAdd(range[0], ir.CreateLShr(ir.CreateSub(range[1], range[0]), 1));
               Value *holds = condition(middle);
               return {ir.CreateSelect(holds, add(middle, 1), range[0]),
                       ir.CreateSelect(holds, range[1], middle)};
             })
      .front();
}

void BlockBuilder::wait() {
  ir.CreateIntrinsic(ir.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                     {ir.getInt32(0)});
}

} // namespace kintsugi::targets
