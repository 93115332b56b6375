//===- cpu_program.h - An artifact ready to run on the host ---------------===//
#ifndef KINTSUGI_DEVICES_CPU_CPU_PROGRAM_H
#define KINTSUGI_DEVICES_CPU_CPU_PROGRAM_H

#include "abi/stage.h"
#include "devices/cpu/shared_object.h"
#include "runtime/artifact.h"
#include "runtime/device.h"

#include <memory>
#include <optional>
#include <vector>

namespace kintsugi::devices {

class CpuProgram final : public runtime::DeviceProgram {
public:
  /// See Device::load.
  static Expected<std::unique_ptr<CpuProgram>> load(const runtime::Artifact &artifact);

  const void *constants() const override { return artifact.constants().data(); }
  const runtime::Manifest &manifest() const { return artifact.manifest(); }

  /// Null where the stage is a call.
  KinStageFunction function(uint32_t stage) const { return functions[stage]; }

  /// The most scratch that any stage wants for a worker.
  uint64_t scratchBytes() const;

private:
  explicit CpuProgram(const runtime::Artifact &artifact) : artifact(artifact) {}

  Status loadCode();
  Status findFunctions();

  const runtime::Artifact &artifact;
  std::optional<SharedObject> code; ///< None where every stage is a call.
  std::vector<KinStageFunction> functions;
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CPU_CPU_PROGRAM_H
