//===- nvidia.h - The target for NVIDIA GPUs --------------------------------===//
//
// Kernels as PTX text, made in this process: no toolkit takes part, unless machine code is wanted
// besides (assembler.h). A tile is a block of threads, scratch is shared memory (abi/launch.h). The
// levels are "sm_80" and "sm_90a".
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_NVIDIA_H
#define KINTSUGI_TARGETS_NVIDIA_NVIDIA_H

#include "targets/target.h"

#include <memory>

namespace kintsugi::targets {

std::unique_ptr<Target> createNvidiaTarget();

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_NVIDIA_H
