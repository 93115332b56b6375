//===- cluster.h - What blocks that run side by side tell each other --------===//
//
// From sm_90 on, blocks of a cluster are under way at once, and each may read the others' shared
// memory. PTX ISA, sections "Cluster of Cooperative Thread Arrays", "mapa" and "barrier.cluster".
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_CLUSTER_H
#define KINTSUGI_TARGETS_NVIDIA_CLUSTER_H

#include "targets/emit.h"

namespace kintsugi::targets {

class Cluster {
public:
  /// `blocks` of each; 1: there are no clusters.
  Cluster(mlir::OpBuilder &builder, int64_t blocks) : blocks(blocks), make(builder) {}

  /// Of this block, an i32.
  mlir::Value rank();
  /// The place in another block's shared memory that corresponds to one here.
  mlir::Value placeIn(mlir::Value block, mlir::Value shared);
  /// All threads of all blocks come, and see what each has stored in shared memory.
  void wait();

  const int64_t blocks;

private:
  Emit make;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_CLUSTER_H
