//===- part_clocks.h - When the parts of a launch are under way --------------===//
//
// What kernels that share a launch note for whoever asks (abi/launch.h): no event of the driver
// stands between them. Where nobody asks, a launch looks at one parameter twice.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_PART_CLOCKS_H
#define KINTSUGI_TARGETS_NVIDIA_PART_CLOCKS_H

#include "targets/nvidia/block_body.h"

namespace kintsugi::targets {

class PartClocks {
public:
  /// `table`: the launch's last parameter, an i64; `part` makes, where the builder stands, an i64
  /// that says on which part a block works.
  PartClocks(mlir::OpBuilder &builder, const BlockFrame &frame, mlir::Value table,
             llvm::function_ref<mlir::Value()> part)
      : builder(builder), frame(frame), table(table), part(part) {}

  void emitBegin();
  /// Waits, where somebody asks, for all threads at work. Without a count all of the block's are.
  void emitEnd(int64_t count = 0);

private:
  void note(const char *text);

  mlir::OpBuilder &builder;
  const BlockFrame &frame;
  mlir::Value table;
  llvm::function_ref<mlir::Value()> part;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_PART_CLOCKS_H
