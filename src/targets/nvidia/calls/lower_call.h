//===- lower_call.h - Calls as kernels for NVIDIA's devices -----------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_CALLS_LOWER_CALL_H
#define KINTSUGI_TARGETS_NVIDIA_CALLS_LOWER_CALL_H

#include "calls/device_call.h"

#include "llvm/IR/Module.h"

namespace kintsugi::targets {

/// The launches of a call that its rule accepts, or why there is no code for it.
calls::DeviceCall launchesOfCall(const calls::Site &site);

/// Adds their entries to a module for NVIDIA's devices. `waits`: see abi/launch.h.
void emitCall(const calls::Site &site, bool waits, llvm::Module &module);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_CALLS_LOWER_CALL_H
