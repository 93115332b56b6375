//===- kernel_recorder.h - What each kernel read and stored -----------------===//
//
// Follows a run stage by stage and keeps what stages read and stored at their first launch. Stages
// belong to a level: the model's program, or the body of a scan, whose tensors change step by step.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_KERNEL_RECORDER_H
#define KINTSUGI_API_COMPILER_KERNEL_RECORDER_H

#include "base/tensor.h"
#include "runtime/context.h"
#include "verify/isolate.h"

#include <list>
#include <map>

namespace kintsugi::api {

/// A level of the program with the stages that run it.
struct KernelLevel {
  verify::Level level;
  std::vector<uint32_t> stages;            ///< Kernels, in the order of a run.
  std::map<std::string, uint32_t> buffers; ///< Of the values that the stages store.
  std::map<uint32_t, Tensor> seen;         ///< By buffer: what stages read or stored first.
};

/// All levels, the outermost first. The program is the one that the manifest's kernels compute; an
/// internal error where the two do not fit.
Expected<std::list<KernelLevel>> kernelLevels(const te::Program &program,
                                              const runtime::Manifest &manifest);

class KernelRecorder : public runtime::StageObserver {
public:
  KernelRecorder(const runtime::Manifest &manifest, std::list<KernelLevel> &levels);

  Status launched(uint32_t stage, std::span<void *const> buffers,
                  runtime::DeviceQueue &queue) override;

private:
  const runtime::Manifest &manifest;
  std::vector<KernelLevel *> levelOf; ///< By stage; null for calls.
};

/// What the stages of a level found in a value that they do not store, or stored in one that they
/// do. An internal error where no stage touched it.
Expected<const Tensor *> seenOf(const KernelLevel &level, const runtime::Manifest &manifest,
                                te::ValueId value);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_KERNEL_RECORDER_H
