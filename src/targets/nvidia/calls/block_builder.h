//===- block_builder.h - Writing the code of a block by hand ----------------===//
//
// A launch's entry as LLVM IR, for code that no tile program says: loops and conditions as
// functions, the block's and the thread's number, shared memory, and the wait between its threads.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_CALLS_BLOCK_BUILDER_H
#define KINTSUGI_TARGETS_NVIDIA_CALLS_BLOCK_BUILDER_H

#include "calls/device_call.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace kintsugi::targets {

class BlockBuilder {
public:
  using Value = llvm::Value;
  using Values = llvm::SmallVector<Value *, 4>;

  /// `waits`: whether the kernel ends its own wait for the launches before it (abi/launch.h).
  BlockBuilder(llvm::Module &module, const calls::Launch &launch, bool waits);
  /// When all is written.
  void finish() { ir.CreateRetVoid(); }

  llvm::Type *integerType(unsigned bits) { return ir.getIntNTy(bits); }
  /// All of one type.
  Value *number(Value *like, uint64_t value) {
    return llvm::ConstantInt::get(like->getType(), value);
  }
  Value *add(Value *a, uint64_t b) { return ir.CreateAdd(a, number(a, b)); }
  Value *mul(Value *a, uint64_t b) { return ir.CreateMul(a, number(a, b)); }
  Value *div(Value *a, uint64_t b) { return ir.CreateUDiv(a, number(a, b)); }
  Value *rem(Value *a, uint64_t b) { return ir.CreateURem(a, number(a, b)); }
  Value *less(Value *a, uint64_t b) { return ir.CreateICmpULT(a, number(a, b)); }
  Value *least(Value *a, Value *b) { return ir.CreateSelect(ir.CreateICmpULT(a, b), a, b); }
  Value *wide(Value *a) { return ir.CreateZExt(a, ir.getInt64Ty()); }

  /// The place of an element in memory, of a type.
  Value *place(Value *memory, llvm::Type *type, Value *index) {
    return ir.CreateInBoundsGEP(type, memory, index);
  }
  Value *load(llvm::Type *type, Value *memory, Value *index);
  void store(Value *value, Value *memory, Value *index);

  void ifThen(Value *condition, llvm::function_ref<void()> then);
  /// A value where a condition holds, or what else is made of it.
  Value *valueOr(Value *condition, Value *value, llvm::function_ref<Value *()> otherwise);
  /// For begin, begin + step, ... below end.
  void loop(Value *begin, Value *end, uint64_t step, llvm::function_ref<void(Value *)> body);
  /// While a condition of some values holds, the body makes the next ones.
  Values loopWhile(llvm::ArrayRef<Value *> first,
                   llvm::function_ref<Value *(llvm::ArrayRef<Value *>)> condition,
                   llvm::function_ref<Values(llvm::ArrayRef<Value *>)> body);
  /// The first number of [low, high) for which a condition is false, which then stays false; or
  /// high.
  Value *firstNot(Value *low, Value *high, llvm::function_ref<Value *(Value *)> condition);

  /// Until all threads of the block are here and see what each has stored.
  void wait();

  llvm::IRBuilder<> ir;
  Values operands;        ///< What is read, then what is written.
  Value *thread, *block;  ///< Numbers, i32.
  Value *shared;          ///< Null where the launch asks for none.
  const uint32_t threads; ///< Of the block.

private:
  llvm::Function *declare(const calls::Launch &launch);
  void waitForLaunches();
  llvm::BasicBlock *newBlock() { return llvm::BasicBlock::Create(ir.getContext(), "", function); }

  llvm::Module &module;
  llvm::Function *function;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_CALLS_BLOCK_BUILDER_H
