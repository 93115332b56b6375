//===- model.cpp - A loaded artifact --------------------------------------===//

#include "runtime/model.h"

#include <algorithm>

using namespace kintsugi;
using namespace kintsugi::runtime;

ReadOptions Model::optionsFor(const Device &device, ReadOptions options) {
  options.supports = [&](std::string_view feature) { return device.supports(feature); };
  options.runsTarget = [&](std::string_view target) { return device.runsTarget(target); };
  return options;
}

Expected<std::shared_ptr<const Model>>
Model::load(const std::string &path, std::shared_ptr<Device> device, ReadOptions options) {
  KINTSUGI_ASSIGN(Artifact artifact, Artifact::open(path, optionsFor(*device, std::move(options))));
  return create(std::move(artifact), std::move(device));
}

Expected<std::shared_ptr<Model>> Model::make(Artifact artifact, std::shared_ptr<Device> device,
                                             const DeviceProgram *whole) {
  const std::string &target = artifact.manifest().target;
  if (!device->runsTarget(target))
    return usageError(artifact.name() + ": compiled for target '" + target +
                      "', which the device '" + std::string(device->name()) +
                      "' does not run; compile the model for it");
  std::shared_ptr<Model> model(new Model(std::move(artifact), std::move(device)));
  auto program = model->runner->load(model->opened, whole);
  if (!program.ok())
    return at(model->opened.name(), program.takeError());
  model->ready = std::move(*program);
  return model;
}

/// Whether a variant computes what another does, at some of its sizes.
static bool isSmaller(const Manifest &smaller, const Manifest &whole) {
  auto haveSamePorts = [](const std::vector<Port> &a, const std::vector<Port> &b) {
    return std::ranges::equal(a, b, [](const Port &port, const Port &other) {
      return port.name == other.name && port.type == other.type && port.open == other.open &&
             port.shape.size() == other.shape.size();
    });
  };
  auto isPart = [](const OpenDimension &part, const OpenDimension &all) {
    return part.name == all.name && part.low >= all.low && part.high <= all.high;
  };
  return std::ranges::equal(smaller.open, whole.open, isPart) && smaller.smaller.empty() &&
         smaller.target == whole.target && haveSamePorts(smaller.inputs, whole.inputs) &&
         haveSamePorts(smaller.outputs, whole.outputs);
}

/// The constants were looked at with those of the whole.
Status Model::loadSmaller() {
  for (const std::string &variant : manifest().smaller) {
    ReadOptions options;
    options.variant = variant;
    options.verifyConstants = false;
    KINTSUGI_ASSIGN(Artifact artifact, opened.reopen(optionsFor(*runner, options)));
    if (!isSmaller(artifact.manifest(), manifest()) ||
        artifact.constants().size() > opened.constants().size())
      return inputError(opened.name() + ": damaged: the variant '" + variant +
                        "' is not of the same model; compile the model again");
    KINTSUGI_ASSIGN(std::shared_ptr<Model> model, make(std::move(artifact), runner, ready.get()));
    forSizes.push_back(std::move(model));
  }
  auto greatest = [](const std::shared_ptr<const Model> &model) {
    double steps = 1;
    for (const OpenDimension &open : model->manifest().open)
      steps *= static_cast<double>(open.high);
    return steps;
  };
  std::ranges::sort(forSizes, {}, greatest);
  return Status::success();
}

Expected<std::shared_ptr<const Model>> Model::create(Artifact artifact,
                                                     std::shared_ptr<Device> device) {
  KINTSUGI_ASSIGN(std::shared_ptr<Model> model,
                  make(std::move(artifact), std::move(device), nullptr));
  KINTSUGI_RETURN_IF_ERROR(model->loadSmaller());
  return std::shared_ptr<const Model>(std::move(model));
}
