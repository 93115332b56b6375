#include "targets/nvidia/cluster.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace kintsugi::targets {

static constexpr unsigned clusterSpace = 7;

Value Cluster::rank() {
  return LLVM::CallIntrinsicOp::create(
             make.builder, make.location, make.builder.getI32Type(),
             make.builder.getStringAttr("llvm.nvvm.read.ptx.sreg.cluster.ctarank"), ValueRange())
      .getResults();
}

Value Cluster::placeIn(Value block, Value shared) {
  auto pointer = LLVM::LLVMPointerType::get(make.builder.getContext(), clusterSpace);
  return LLVM::CallIntrinsicOp::create(make.builder, make.location, pointer,
                                       make.builder.getStringAttr("llvm.nvvm.mapa.shared.cluster"),
                                       ValueRange{shared, block})
      .getResults();
}

void Cluster::wait() {
  for (const char *name : {"llvm.nvvm.barrier.cluster.arrive", "llvm.nvvm.barrier.cluster.wait"})
    LLVM::CallIntrinsicOp::create(make.builder, make.location, make.builder.getStringAttr(name),
                                  ValueRange());
}

} // namespace kintsugi::targets
