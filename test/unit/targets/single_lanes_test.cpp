//===- single_lanes_test.cpp - Masked stores of one lane ------------------===//

#include "targets/single_lanes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "gtest/gtest.h"

using namespace kintsugi;
using namespace llvm;

namespace {

/// A function that stores a vector of i16 under a mask; what is left of that.
struct Stored {
  unsigned masked = 0;
  std::vector<const StoreInst *> single;
};

class SingleLanes : public testing::Test {
protected:
  Stored storedUnder(ArrayRef<bool> lanes) {
    auto *type = FixedVectorType::get(Type::getInt16Ty(context), unsigned(lanes.size()));
    auto *function = Function::Create(
        FunctionType::get(Type::getVoidTy(context), {type, PointerType::get(context, 0)}, false),
        Function::ExternalLinkage, "store", module);
    IRBuilder<> builder(BasicBlock::Create(context, "entry", function));
    SmallVector<Constant *> mask;
    for (bool lane : lanes)
      mask.push_back(builder.getInt1(lane));
    builder.CreateMaskedStore(function->getArg(0), function->getArg(1), Align(2),
                              ConstantVector::get(mask));
    builder.CreateRetVoid();
    targets::storeSingleLanes(module);
    Stored result;
    for (const Instruction &instruction : instructions(*function)) {
      result.masked += isa<IntrinsicInst>(instruction);
      if (auto *store = dyn_cast<StoreInst>(&instruction))
        result.single.push_back(store);
    }
    return result;
  }

  LLVMContext context;
  Module module{"test", context};
};

} // namespace

TEST_F(SingleLanes, AreStoredAlone) {
  for (unsigned lane : {0u, 3u}) {
    bool lanes[4] = {};
    lanes[lane] = true;
    Stored stored = storedUnder(lanes);
    EXPECT_EQ(stored.masked, 0u);
    ASSERT_EQ(stored.single.size(), 1u);
    EXPECT_TRUE(stored.single[0]->getValueOperand()->getType()->isIntegerTy(16));
    EXPECT_EQ(stored.single[0]->getAlign(), Align(2));
    APInt offset(64, 0);
    stored.single[0]->getPointerOperand()->stripAndAccumulateConstantOffsets(module.getDataLayout(),
                                                                             offset, true);
    EXPECT_EQ(offset, 2 * lane);
  }
}

TEST_F(SingleLanes, LeaveOtherMasksAlone) {
  for (const std::vector<bool> &lanes :
       {std::vector<bool>{true, true, false, false}, {false, false, false, false}}) {
    bool all[4];
    std::copy(lanes.begin(), lanes.end(), all);
    Stored stored = storedUnder(all);
    EXPECT_EQ(stored.masked, 1u);
    EXPECT_TRUE(stored.single.empty());
  }
}
