//===- call_code.h - The device code of a call, in the making ---------------===//
//
// What the code of a call is made of: kernels, each with what it reads and writes and a function
// that writes its body, and memory between them. A call's file says all of that for a site; here is
// what they share. Places are those of calls::Launch.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_CALLS_CALL_CODE_H
#define KINTSUGI_TARGETS_NVIDIA_CALLS_CALL_CODE_H

#include "targets/nvidia/calls/block_builder.h"

#include <functional>
#include <string>
#include <vector>

namespace kintsugi::targets {

struct CallKernel {
  calls::Launch launch; ///< But for its symbol.
  /// Writes the body; the builder's operands are what the launch reads, then what it writes.
  std::function<void(BlockBuilder &)> emit;
};

struct CallCode {
  explicit CallCode(const calls::Site &site, size_t results)
      : firstMemory(unsigned(site.operands.size() + results)) {}

  /// Memory between kernels; its place.
  unsigned addMemory(uint64_t bytes) {
    memory.push_back(bytes);
    return unsigned(firstMemory + memory.size() - 1);
  }

  unsigned firstMemory; ///< The place.
  std::vector<CallKernel> kernels;
  std::vector<uint64_t> memory;
  std::optional<unsigned> report; ///< Among the memory: see calls::DeviceCall.
  std::string reason;             ///< Why there is no code for the site; empty where there is.
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_CALLS_CALL_CODE_H
