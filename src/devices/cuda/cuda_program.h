//===- cuda_program.h - An artifact ready to run on a GPU -----------------===//
#ifndef KINTSUGI_DEVICES_CUDA_CUDA_PROGRAM_H
#define KINTSUGI_DEVICES_CUDA_CUDA_PROGRAM_H

#include "devices/cuda/cuda_device.h"
#include "runtime/artifact.h"

namespace kintsugi::devices {

class CudaProgram final : public runtime::DeviceProgram {
public:
  /// See Device::load.
  static Expected<std::unique_ptr<CudaProgram>>
  load(CudaDevice &device, const runtime::Artifact &artifact, const CudaProgram *whole);
  ~CudaProgram() override;

  const void *constants() const override { return placeOfConstants; }
  std::string_view codeSection() const override { return section; }
  const runtime::Manifest &manifest() const { return artifact.manifest(); }
  /// Null where the stage is a call.
  cuda::Handle function(uint32_t stage) const { return functions[stage]; }
  /// What a stage takes of its operands as boxes.
  const std::vector<KinTensorMap> &mapsOf(uint32_t stage) const { return maps[stage]; }
  /// Of a launch.
  unsigned blocksOf(uint32_t stage) const { return blocks[stage]; }
  /// Whether a recorded kernel may be started while the one before it runs.
  bool startsEarly() const { return kernelsWait; }
  /// That a launch of a stage gives each block, beside what its entry declares.
  unsigned sharedBytesOf(uint32_t stage) const { return sharedBytes[stage]; }

private:
  CudaProgram(CudaDevice &device, const runtime::Artifact &artifact)
      : device(device), artifact(artifact) {}

  Status uploadConstants();
  Status loadCode();
  Expected<const runtime::CodeObject *> chooseCode() const;
  Expected<cuda::Handle> loadMachineCode() const;
  Expected<cuda::Handle> loadText() const;
  Status findFunctions();
  Status findKernel(const runtime::Stage &stage);
  Status checkStage(const runtime::Stage &stage) const;
  Expected<std::vector<KinTensorMap>> findMaps(const runtime::Stage &stage) const;
  Expected<cuda::Handle> findFunction(const runtime::Stage &stage) const;
  Expected<unsigned> giveShared(cuda::Handle function, const runtime::Stage &stage) const;
  Expected<unsigned> blocksFor(uint32_t stage) const;
  Expected<unsigned> blocksThatMeet(uint32_t stage) const;

  CudaDevice &device;
  const runtime::Artifact &artifact;
  void *constantMemory = nullptr; ///< Its own, or null.
  const void *placeOfConstants = nullptr;
  bool kernelsWait = false;
  cuda::Handle module = nullptr; ///< Null where every stage is a call.
  bool isForAnyDevice = false;   ///< The code that was chosen.
  std::vector<cuda::Handle> functions;
  std::vector<unsigned> blocks, sharedBytes;
  const runtime::CodeObject *code = nullptr; ///< That was chosen.
  std::string section;                       ///< Of what the module was made from.
  std::vector<std::vector<KinTensorMap>> maps;
};

} // namespace kintsugi::devices

#endif // KINTSUGI_DEVICES_CUDA_CUDA_PROGRAM_H
