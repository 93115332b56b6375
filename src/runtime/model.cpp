//===- model.cpp - A loaded artifact --------------------------------------===//

#include "runtime/model.h"

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

Expected<std::shared_ptr<const Model>> Model::create(Artifact artifact,
                                                     std::shared_ptr<Device> device) {
  const std::string &target = artifact.manifest().target;
  if (!device->runsTarget(target))
    return usageError(artifact.name() + ": compiled for target '" + target +
                      "', which the device '" + std::string(device->name()) +
                      "' does not run; compile the model for it");
  std::shared_ptr<Model> model(new Model(std::move(artifact), std::move(device)));
  auto program = model->runner->load(model->opened);
  if (!program.ok())
    return at(model->opened.name(), program.takeError());
  model->ready = std::move(*program);
  return std::shared_ptr<const Model>(std::move(model));
}
