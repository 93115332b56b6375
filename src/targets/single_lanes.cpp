#include "targets/single_lanes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace kintsugi::targets {

using namespace llvm;

/// The one lane that a mask lets through, if it is known.
static std::optional<unsigned> singleLane(const Value *mask) {
  auto *constant = dyn_cast<Constant>(mask);
  auto *type = dyn_cast<FixedVectorType>(mask->getType());
  if (!constant || !type)
    return std::nullopt;
  std::optional<unsigned> found;
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    Constant *element = constant->getAggregateElement(lane);
    if (!element || !isa<ConstantInt>(element) || (found && !element->isZeroValue()))
      return std::nullopt;
    if (!element->isZeroValue())
      found = lane;
  }
  return found;
}

void storeSingleLanes(Module &module) {
  constexpr unsigned stored = 0, place = 1, mask = 2;
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      auto *call = dyn_cast<IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != Intrinsic::masked_store)
        continue;
      std::optional<unsigned> lane = singleLane(call->getArgOperand(mask));
      if (!lane)
        continue;
      IRBuilder<> builder(call);
      Value *element = builder.CreateExtractElement(call->getArgOperand(stored), *lane);
      Value *address =
          builder.CreateConstGEP1_32(element->getType(), call->getArgOperand(place), *lane);
      const DataLayout &layout = module.getDataLayout();
      Align alignment = commonAlignment(call->getParamAlign(place).valueOrOne(),
                                        layout.getTypeStoreSize(element->getType()) * *lane);
      builder.CreateAlignedStore(element, address, alignment);
      call->eraseFromParent();
    }
}

} // namespace kintsugi::targets
