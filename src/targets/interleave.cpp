//===- interleave.cpp - Independent chains of a block side by side --------===//

#include "targets/interleave.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kintsugi::targets {

void interleave(Block &block) {
  SmallVector<Operation *> order;
  for (Operation &op : block) {
    if (op.getNumRegions() != 0 || isa<LLVM::CallOp>(op))
      return;
    if (!op.hasTrait<OpTrait::IsTerminator>())
      order.push_back(&op);
  }
  llvm::DenseMap<Operation *, unsigned> height;
  for (Operation *op : llvm::reverse(order)) {
    if (isa<LLVM::Prefetch>(op) && op->getNextNode()) { // It stays with what it is ahead of.
      unsigned next = height.lookup(op->getNextNode());
      height[op] = next;
      continue;
    }
    unsigned &own = height[op];
    for (Operation *user : op->getUsers())
      if (user->getBlock() == &block)
        own = std::max(own, height.lookup(user) + 1);
  }
  llvm::DenseMap<Operation *, unsigned> number;
  for (auto [position, op] : llvm::enumerate(order))
    number[op] = position;
  llvm::sort(order, [&](Operation *a, Operation *b) {
    return height[a] != height[b] ? height[a] > height[b] : number[a] < number[b];
  });
  for (Operation *op : order)
    op->moveBefore(&block, block.mightHaveTerminator() ? Block::iterator(block.getTerminator())
                                                       : block.end());
}

} // namespace kintsugi::targets
