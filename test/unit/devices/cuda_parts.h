//===- cuda_parts.h - The fixtures' artifacts for a GPU's device ------------===//
#ifndef KINTSUGI_TEST_DEVICES_CUDA_PARTS_H
#define KINTSUGI_TEST_DEVICES_CUDA_PARTS_H

#include "fixture.h"

#include <cstring>
#include <span>
#include <string_view>

namespace kintsugi::runtime {

/// The same artifact, its kernels blocks of threads in a module's text.
inline Parts cudaParts(Parts parts) {
  parts.manifest.target = "cuda";
  for (Stage &stage : parts.manifest.stages)
    if (stage.kind == Stage::Kind::Kernel)
      stage.threads = 64;
  constexpr std::string_view text = "the stages of the fixture";
  parts.code.assign(text.size() + 1, std::byte(0));
  std::memcpy(parts.code.data(), text.data(), text.size());
  return parts;
}

/// Of a stage's first operand, 1000 numbers of 4 bytes, as pairs of 2 bytes; its boxes have 512.
inline KinTensorMap mapOfOperand() { return {0, 2, 64, 32, {64, 31}, {2, 128}, {32, 8}, {1, 1}}; }

/// The affine model's kernels alone.
inline Parts withoutCall(Parts parts) {
  parts.manifest.stages.pop_back();
  parts.manifest.plan.children.pop_back();
  parts.manifest.outputs.resize(1);
  parts.manifest.buffers.resize(parts.manifest.buffers.size() - 2);
  return parts;
}

} // namespace kintsugi::runtime

#endif // KINTSUGI_TEST_DEVICES_CUDA_PARTS_H
