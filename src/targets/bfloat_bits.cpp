#include "targets/bfloat_bits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"

namespace kintsugi::targets {

using namespace llvm;

static bool isBFloat(const Value *value) { return value->getType()->getScalarType()->isBFloatTy(); }

/// `element`, or a vector of as many as `type` has.
static Type *shapedLike(Type *element, Type *type) {
  auto *vector = dyn_cast<VectorType>(type);
  return vector ? VectorType::get(element, vector->getElementCount()) : element;
}

static Value *asBits(IRBuilder<> &builder, Value *value) {
  Type *integer = shapedLike(builder.getInt16Ty(), value->getType());
  if (auto *cast = dyn_cast<BitCastInst>(value); cast && cast->getSrcTy() == integer)
    return cast->getOperand(0);
  return builder.CreateBitCast(value, integer);
}

/// The bits are the upper half of an f32's.
static Value *asFloat(IRBuilder<> &builder, Value *value) {
  Value *bits = builder.CreateZExt(asBits(builder, value),
                                   shapedLike(builder.getInt32Ty(), value->getType()));
  return builder.CreateBitCast(builder.CreateShl(bits, 16),
                               shapedLike(builder.getFloatTy(), value->getType()));
}

/// To nearest even.
static Value *rounded(IRBuilder<> &builder, Value *value) {
  Type *integer = shapedLike(builder.getInt32Ty(), value->getType());
  auto number = [&](uint32_t n) { return ConstantInt::get(integer, n); };
  Value *bits = builder.CreateBitCast(value, integer);
  Value *last = builder.CreateAnd(builder.CreateLShr(bits, 16), number(1));
  Value *up = builder.CreateAdd(builder.CreateAdd(bits, last), number(0x7fff));
  Value *quiet = builder.CreateOr(bits, number(0x00400000));
  Value *chosen = builder.CreateSelect(builder.CreateFCmpUNO(value, value), quiet, up);
  return builder.CreateTrunc(builder.CreateLShr(chosen, 16),
                             shapedLike(builder.getInt16Ty(), value->getType()));
}

/// What puts elements together and takes them apart.
static Value *shuffleOfBits(IRBuilder<> &builder, Instruction &instruction) {
  if (auto *insert = dyn_cast<InsertElementInst>(&instruction))
    return builder.CreateInsertElement(asBits(builder, insert->getOperand(0)),
                                       asBits(builder, insert->getOperand(1)),
                                       insert->getOperand(2));
  if (auto *extract = dyn_cast<ExtractElementInst>(&instruction))
    return builder.CreateExtractElement(asBits(builder, extract->getVectorOperand()),
                                        extract->getIndexOperand());
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(&instruction))
    return builder.CreateShuffleVector(asBits(builder, shuffle->getOperand(0)),
                                       asBits(builder, shuffle->getOperand(1)),
                                       shuffle->getShuffleMask());
  return nullptr;
}

/// The bits of what an instruction or intrinsic gives; null: it is not known here.
static Value *bitsOf(IRBuilder<> &builder, Instruction &instruction) {
  Type *bits = shapedLike(builder.getInt16Ty(), instruction.getType());
  auto operand = [&](unsigned number) { return asBits(builder, instruction.getOperand(number)); };
  auto wide = [&](unsigned number) { return asFloat(builder, instruction.getOperand(number)); };
  if (Value *shuffled = shuffleOfBits(builder, instruction))
    return shuffled;
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return builder.CreateAlignedLoad(bits, load->getPointerOperand(), load->getAlign());
  if (auto *select = dyn_cast<SelectInst>(&instruction))
    return builder.CreateSelect(select->getCondition(), operand(1), operand(2));
  if (isa<FPTruncInst>(instruction) &&
      instruction.getOperand(0)->getType()->getScalarType()->isFloatTy())
    return rounded(builder, instruction.getOperand(0));
  if (instruction.getOpcode() == Instruction::FNeg)
    return builder.CreateXor(operand(0), ConstantInt::get(bits, 0x8000));
  if (auto *convert = dyn_cast<CastInst>(&instruction);
      convert && (isa<SIToFPInst>(convert) || isa<UIToFPInst>(convert)))
    return rounded(builder,
                   builder.CreateCast(convert->getOpcode(), convert->getOperand(0),
                                      shapedLike(builder.getFloatTy(), convert->getType())));
  // Rounding twice, to f32 and from there, is as good as once.
  if (auto *binary = dyn_cast<BinaryOperator>(&instruction))
    return rounded(builder, builder.CreateBinOp(binary->getOpcode(), wide(0), wide(1)));
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  auto alignOf = [&](unsigned number) { return call->getParamAlign(number).valueOrOne(); };
  switch (call ? call->getIntrinsicID() : Intrinsic::not_intrinsic) {
  case Intrinsic::fabs:
    return builder.CreateAnd(operand(0), ConstantInt::get(bits, 0x7fff));
  case Intrinsic::floor:
  case Intrinsic::ceil:
  case Intrinsic::trunc:
  case Intrinsic::roundeven:
  case Intrinsic::sqrt:
    return rounded(builder, builder.CreateUnaryIntrinsic(call->getIntrinsicID(), wide(0)));
  case Intrinsic::masked_load:
    return builder.CreateMaskedLoad(bits, call->getArgOperand(0), alignOf(0),
                                    call->getArgOperand(1), operand(2));
  case Intrinsic::masked_gather:
    return builder.CreateMaskedGather(bits, call->getArgOperand(0), alignOf(0),
                                      call->getArgOperand(1), operand(2));
  default:
    return nullptr;
  }
}

/// What takes bf16 and gives something else, or nothing; null: it is not known here.
static Value *takerOfBits(IRBuilder<> &builder, Instruction &instruction) {
  if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    auto *moved = builder.CreateAlignedStore(asBits(builder, store->getValueOperand()),
                                             store->getPointerOperand(), store->getAlign());
    moved->copyMetadata(*store); // It may go past the caches.
    return moved;
  }
  if (isa<FPExtInst>(instruction)) {
    Value *wide = asFloat(builder, instruction.getOperand(0));
    return wide->getType() == instruction.getType()
               ? wide
               : builder.CreateFPExt(wide, instruction.getType());
  }
  if (isa<FPToSIInst>(instruction) || isa<FPToUIInst>(instruction))
    return builder.CreateCast(cast<CastInst>(instruction).getOpcode(),
                              asFloat(builder, instruction.getOperand(0)), instruction.getType());
  if (auto *compare = dyn_cast<FCmpInst>(&instruction))
    return builder.CreateFCmp(compare->getPredicate(), asFloat(builder, compare->getOperand(0)),
                              asFloat(builder, compare->getOperand(1)));
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  auto alignOf = [&](unsigned number) { return call->getParamAlign(number).valueOrOne(); };
  switch (call ? call->getIntrinsicID() : Intrinsic::not_intrinsic) {
  case Intrinsic::masked_store:
    return builder.CreateMaskedStore(asBits(builder, call->getArgOperand(0)),
                                     call->getArgOperand(1), alignOf(1), call->getArgOperand(2));
  case Intrinsic::masked_scatter:
    return builder.CreateMaskedScatter(asBits(builder, call->getArgOperand(0)),
                                       call->getArgOperand(1), alignOf(1), call->getArgOperand(2));
  default:
    return nullptr;
  }
}

static void replace(Instruction &instruction) {
  IRBuilder<> builder(&instruction);
  Value *replacement = nullptr;
  if (isBFloat(&instruction)) {
    if (Value *bits = bitsOf(builder, instruction))
      replacement = builder.CreateBitCast(bits, instruction.getType());
  } else {
    replacement = takerOfBits(builder, instruction);
  }
  if (!replacement)
    return;
  if (!instruction.getType()->isVoidTy())
    instruction.replaceAllUsesWith(replacement);
  instruction.eraseFromParent();
}

/// What comes from blocks that follow is not spelled out yet, so it gets its bits there.
static void replacePhi(PHINode &phi) {
  IRBuilder<> builder(&phi);
  auto *bits = builder.CreatePHI(shapedLike(builder.getInt16Ty(), phi.getType()),
                                 phi.getNumIncomingValues());
  for (auto [value, block] : zip(phi.incoming_values(), phi.blocks())) {
    builder.SetInsertPoint(block->getTerminator());
    bits->addIncoming(builder.CreateBitCast(value, bits->getType()), block);
  }
  builder.SetInsertPoint(phi.getParent(), phi.getParent()->getFirstInsertionPt());
  phi.replaceAllUsesWith(builder.CreateBitCast(bits, phi.getType()));
  phi.eraseFromParent();
}

/// There and back again, which phis and what follows them leave.
static void dropCasts(Function &function) {
  SmallVector<WeakTrackingVH> dead;
  for (Instruction &instruction : instructions(function)) {
    auto *cast = dyn_cast<BitCastInst>(&instruction);
    auto *other = cast ? dyn_cast<BitCastInst>(cast->getOperand(0)) : nullptr;
    if (other && other->getSrcTy() == cast->getDestTy())
      cast->replaceAllUsesWith(other->getOperand(0));
    if (cast)
      dead.push_back(cast);
  }
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(dead);
}

static bool handlesBFloat(const Instruction &instruction) {
  return isBFloat(&instruction) ||
         any_of(instruction.operands(), [](const Use &use) { return isBFloat(use.get()); });
}

void spellOutBFloat(Module &module) {
  for (Function &function : module) {
    SmallVector<PHINode *> phis;
    SmallVector<Instruction *> others;
    for (Instruction &instruction : instructions(function))
      if (auto *phi = dyn_cast<PHINode>(&instruction); phi && isBFloat(phi))
        phis.push_back(phi);
      else if (!isa<BitCastInst>(instruction) && handlesBFloat(instruction))
        others.push_back(&instruction);
    if (phis.empty() && others.empty())
      continue;
    for (PHINode *phi : phis)
      replacePhi(*phi);
    for (Instruction *instruction : others)
      replace(*instruction);
    dropCasts(function);
  }
}

} // namespace kintsugi::targets
