#include "targets/bfloat_moves.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace kintsugi::targets {

using namespace llvm;

static bool isBFloat(const Value *value) { return value->getType()->getScalarType()->isBFloatTy(); }

static Value *asBits(IRBuilder<> &builder, Value *value) {
  Type *integer = builder.getInt16Ty();
  if (auto *vector = dyn_cast<VectorType>(value->getType()))
    integer = VectorType::get(integer, vector->getElementCount());
  if (auto *cast = dyn_cast<BitCastInst>(value); cast && cast->getSrcTy() == integer)
    return cast->getOperand(0);
  return builder.CreateBitCast(value, integer);
}

/// The same move of bits; null for what is none.
static Value *moveOfBits(IRBuilder<> &builder, Instruction &instruction) {
  if (auto *select = dyn_cast<SelectInst>(&instruction); select && isBFloat(select))
    return builder.CreateSelect(select->getCondition(), asBits(builder, select->getTrueValue()),
                                asBits(builder, select->getFalseValue()));
  if (auto *load = dyn_cast<LoadInst>(&instruction); load && load->getType()->isBFloatTy())
    return builder.CreateAlignedLoad(builder.getInt16Ty(), load->getPointerOperand(),
                                     load->getAlign());
  if (auto *store = dyn_cast<StoreInst>(&instruction); store && isBFloat(store->getValueOperand()))
    return builder.CreateAlignedStore(asBits(builder, store->getValueOperand()),
                                      store->getPointerOperand(), store->getAlign());
  if (auto *insert = dyn_cast<InsertElementInst>(&instruction); insert && isBFloat(insert))
    return builder.CreateInsertElement(asBits(builder, insert->getOperand(0)),
                                       asBits(builder, insert->getOperand(1)),
                                       insert->getOperand(2));
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction); shuffle && isBFloat(shuffle))
    return builder.CreateShuffleVector(asBits(builder, shuffle->getOperand(0)),
                                       asBits(builder, shuffle->getOperand(1)),
                                       shuffle->getShuffleMask());
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call)
    return nullptr;
  auto alignOf = [&](unsigned operand) { return call->getParamAlign(operand).valueOrOne(); };
  auto operand = [&](unsigned number) { return call->getArgOperand(number); };
  switch (call->getIntrinsicID()) {
  case Intrinsic::masked_load:
  case Intrinsic::masked_gather: {
    if (!isBFloat(call))
      return nullptr;
    Value *rest = asBits(builder, operand(2));
    bool isLoad = call->getIntrinsicID() == Intrinsic::masked_load;
    return isLoad
               ? builder.CreateMaskedLoad(rest->getType(), operand(0), alignOf(0), operand(1), rest)
               : builder.CreateMaskedGather(rest->getType(), operand(0), alignOf(0), operand(1),
                                            rest);
  }
  case Intrinsic::masked_store:
  case Intrinsic::masked_scatter: {
    if (!isBFloat(operand(0)))
      return nullptr;
    Value *stored = asBits(builder, operand(0));
    bool isStore = call->getIntrinsicID() == Intrinsic::masked_store;
    return isStore ? builder.CreateMaskedStore(stored, operand(1), alignOf(1), operand(2))
                   : builder.CreateMaskedScatter(stored, operand(1), alignOf(1), operand(2));
  }
  default:
    return nullptr;
  }
}

void moveBFloatAsIntegers(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      IRBuilder<> builder(&instruction);
      Value *moved = moveOfBits(builder, instruction);
      if (!moved)
        continue;
      if (auto *store = dyn_cast<StoreInst>(moved)) // It may go past the caches.
        store->copyMetadata(instruction);
      if (!instruction.getType()->isVoidTy())
        instruction.replaceAllUsesWith(builder.CreateBitCast(moved, instruction.getType()));
      instruction.eraseFromParent();
    }
}

} // namespace kintsugi::targets
