//===- block_frame.h - What a block's threads have in common ----------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_BLOCK_FRAME_H
#define KINTSUGI_TARGETS_NVIDIA_BLOCK_FRAME_H

#include "targets/nvidia/bulk_copies.h"

namespace kintsugi::targets {

struct BlockFrame {
  mlir::Value thread;            ///< This one's number, an i32.
  mlir::Value scratch, exchange; ///< Shared memory; null where no kernel needs any.
  int64_t scratchBytes = 0;      ///< That any device has room for.
  bool isHopper = false;         ///< Whether there are groups of warps, and clusters.
  bool hasIdle = false; ///< Whether threads that a kernel does not need may wait elsewhere.
  BulkResources *bulk = nullptr; ///< Null: nothing comes in bulk.
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_BLOCK_FRAME_H
