//===- model.h - A loaded artifact ----------------------------------------===//
//
// An artifact made ready on a device: code loaded, constants in place. Immutable, so that any
// number of contexts on any threads share one.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_MODEL_H
#define KINTSUGI_RUNTIME_MODEL_H

#include "base/status.h"
#include "runtime/artifact.h"
#include "runtime/device.h"

#include <memory>
#include <string>

namespace kintsugi::runtime {

class Model {
public:
  /// Opens the artifact, with the variant that is best on the device, and makes it ready; see
  /// Artifact::open and Device::load for the errors.
  static Expected<std::shared_ptr<const Model>>
  load(const std::string &path, std::shared_ptr<Device> device, ReadOptions options = {});

  /// With what a device says of itself.
  static ReadOptions optionsFor(const Device &device, ReadOptions options);

  static Expected<std::shared_ptr<const Model>> create(Artifact artifact,
                                                       std::shared_ptr<Device> device);

  const Artifact &artifact() const { return opened; }
  const Manifest &manifest() const { return opened.manifest(); }
  Device &device() const { return *runner; }
  const DeviceProgram &program() const { return *ready; }
  /// Variants for some sizes of the open dimensions, those of the least ones first.
  const std::vector<std::shared_ptr<const Model>> &smaller() const { return forSizes; }

private:
  Status loadSmaller();
  static Expected<std::shared_ptr<Model>> make(Artifact artifact, std::shared_ptr<Device> device,
                                               const DeviceProgram *whole);

  Model(Artifact artifact, std::shared_ptr<Device> device)
      : opened(std::move(artifact)), runner(std::move(device)) {}

  Artifact opened;
  std::shared_ptr<Device> runner;
  std::unique_ptr<DeviceProgram> ready;
  std::vector<std::shared_ptr<const Model>> forSizes; ///< They use what is ready.
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_MODEL_H
