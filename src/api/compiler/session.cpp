#include "api/compiler/session.h"

#include "base/feeds.h"
#include "base/file_cache.h"
#include "devices/cuda/cuda_device.h"
#include "import/random_weights.h"

#include <algorithm>
#include <unistd.h>

namespace kintsugi::api {

using runtime::Port;

/// A damaged file in the cache is as good as none.
Expected<Session> Session::openAnew(const std::string &damaged, const std::string &path,
                                    const std::string &inputs, const Settings &settings) {
  if (::unlink(damaged.c_str()) != 0)
    return machineError(damaged + ": is damaged, and can't be removed from the cache");
  return open(path, inputs, settings);
}

/// The target's; for an artifact, which has its target already, the one that runs it.
static Expected<std::shared_ptr<runtime::Device>> deviceFor(const std::string &artifact,
                                                            const Settings &settings) {
  bool isForGpu = settings.compile.target == "cuda";
  if (!isForGpu && settings.compile.target == "cpu") {
    auto opened = runtime::Artifact::open(artifact, {.verifyConstants = false});
    isForGpu = opened.ok() && opened->manifest().target == "cuda";
  }
  if (!isForGpu)
    return hostDevice();
  KINTSUGI_ASSIGN(auto device, devices::CudaDevice::open(settings.device));
  if (auto folder = FileCache::defaultFolder(); settings.cache && folder.ok())
    device->keepCodeIn(*folder);
  return std::shared_ptr<runtime::Device>(std::move(device));
}

static Expected<std::shared_ptr<const runtime::Model>> loadModel(const std::string &artifact,
                                                                 const Settings &settings) {
  KINTSUGI_ASSIGN(auto device, deviceFor(artifact, settings));
  runtime::ReadOptions options;
  if (settings.level)
    options.variant = machine::nameOf(*settings.level);
  return runtime::Model::load(artifact, std::move(device), options);
}

Expected<Session> Session::open(const std::string &path, const std::string &inputs,
                                const Settings &settings) {
  if (!isArtifact(path)) // One says itself what it has code for.
    KINTSUGI_RETURN_IF_ERROR(checkRuns(settings));
  KINTSUGI_ASSIGN(Prepared prepared, prepare(path, settings));
  auto loaded = loadModel(prepared.path, settings);
  return load(std::move(prepared), std::move(loaded), path, inputs, settings);
}

Expected<Session> Session::load(Prepared prepared,
                                Expected<std::shared_ptr<const runtime::Model>> loaded,
                                const std::string &path, const std::string &inputs,
                                const Settings &settings) {
  if (!loaded.ok() && prepared.fromCache && loaded.error().kind == ErrorKind::Input)
    return openAnew(prepared.path, path, inputs, settings);
  Session session;
  KINTSUGI_ASSIGN(session.model, std::move(loaded));
  session.modelPath = path;
  runtime::ContextOptions options;
  options.threads = settings.compile.threads;
  KINTSUGI_ASSIGN(session.context, runtime::Context::create(session.model, options));
  session.takeReport(std::move(prepared));
  KINTSUGI_RETURN_IF_ERROR(inputs.empty() ? session.makeInputs() : session.readInputs(inputs));
  KINTSUGI_RETURN_IF_ERROR(session.makeOutputs());
  session.bind();
  return session;
}

Status Session::takePlan(const Settings &settings) {
  KINTSUGI_ASSIGN(auto used, context->modelFor(boundInputs));
  if (used == model)
    return Status::success();
  context.reset(); // Not both at a time: a GPU may have no memory left.
  KINTSUGI_ASSIGN(context, runtime::Context::create(used, {settings.compile.threads}));
  return Status::success();
}

/// The plan of all sizes has the runs that no other takes.
std::vector<OpenDimension> Session::planned() const {
  std::vector<OpenDimension> result = plan().open;
  if (&plan() != &manifest())
    return result;
  for (size_t number = 0; number < result.size(); ++number)
    for (const auto &part : model->smaller())
      if (int64_t high = part->manifest().open[number].high; high < result[number].high)
        result[number].low = std::max(result[number].low, high + 1);
  return result;
}

Expected<OpenSizes> Session::sizes() const {
  std::vector<const runtime::InputTensor *> found(boundInputs.size());
  return runtime::bindInputs(manifest(), boundInputs, found);
}

Expected<Session> Session::openOrLook(const std::string &path, const Settings &settings) {
  KINTSUGI_ASSIGN(Prepared prepared, prepare(path, settings, /*wantsDecisions=*/true));
  auto loaded = loadModel(prepared.path, settings);
  if (loaded.ok() || loaded.error().kind != ErrorKind::Machine)
    return load(std::move(prepared), std::move(loaded), path, "", settings);
  Session session;
  KINTSUGI_ASSIGN(session.unloaded, runtime::Artifact::open(prepared.path, {}));
  prepared.note +=
      (prepared.note.empty() ? "" : "; ") + loaded.error().message + "; nothing is measured";
  session.takeReport(std::move(prepared));
  return session;
}

/// What is known of how the artifact came to be.
void Session::takeReport(Prepared prepared) {
  compilation = std::move(prepared.report);
  compilationNote = std::move(prepared.note);
  compilerDecisions = std::move(prepared.decisions);
  if (!compilation.is_null())
    return;
  Expected<Json> provenance = parseJson(artifact().provenance());
  compilation = provenance.ok() ? std::move(*provenance) : Json::object();
}

Status Session::makeInputs() {
  for (const Port &port : manifest().inputs) {
    Expected<Tensor> tensor = import::randomFeed(port.name, port.type, port.shape);
    if (!tensor.ok())
      return inputError("input '" + port.name + "': " + tensor.error().message +
                        "; give it with --inputs FILE.npz");
    inputs.push_back(std::move(*tensor));
  }
  fitInputs();
  return Status::success();
}

/// What is made up keeps to what the model looks at before a run.
void Session::fitInputs() {
  for (const runtime::Check &check : manifest().checks) {
    if (!check.range)
      continue;
    Tensor &tensor = inputs[manifest().buffers[check.buffer].home.index];
    for (int64_t k = 0; k < tensor.count(); ++k)
      if (int64_t value = loadInteger(tensor.view(), k); value >= check.range->high)
        storeInteger(tensor.type(), tensor.bytes(), k, value % check.range->high);
  }
}

static std::vector<OpenExtent> openExtentsOf(const runtime::Manifest &manifest, const Port &port) {
  std::vector<OpenExtent> extents;
  for (const runtime::OpenAxis &axis : port.open)
    extents.push_back({axis.dimension, axis.step, axis.step * manifest.open[axis.number].low});
  return extents;
}

Status Session::readInputs(const std::string &path) {
  std::vector<FeedPort> ports;
  for (const Port &port : manifest().inputs)
    ports.push_back({port.name, port.type, port.shape, openExtentsOf(manifest(), port)});
  KINTSUGI_ASSIGN(inputs, readFeeds(path, ports));
  return Status::success();
}

Status Session::makeOutputs() {
  for (const Port &port : manifest().outputs) {
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(port.type, port.shape));
    outputs.push_back(std::move(tensor));
    shapes.push_back(port.shape);
  }
  return Status::success();
}

void Session::bind() {
  const runtime::Manifest &contents = manifest();
  for (size_t i = 0; i < inputs.size(); ++i)
    boundInputs.push_back({contents.inputs[i].name, inputs[i].type(), inputs[i].shape(),
                           inputs[i].bytes().data(), inputs[i].bytes().size()});
  for (size_t i = 0; i < outputs.size(); ++i)
    boundOutputs.push_back({contents.outputs[i].name, outputs[i].bytes().data(),
                            outputs[i].bytes().size(), shapes[i]});
}

Status Session::run(const runtime::RunOptions &options) {
  Status status = context->run(boundInputs, boundOutputs, options);
  // Positions that the model does not allow: nothing below knows which file it came from.
  if (!status.ok() && status.error().kind == ErrorKind::Input)
    return at(modelPath, status.takeError());
  return status;
}

TensorView Session::output(size_t index) const {
  const Tensor &tensor = outputs[index];
  auto bytes = bytesOf(tensor.type(), shapes[index]);
  return {tensor.type(), shapes[index], tensor.bytes().first(size_t(*bytes))};
}

} // namespace kintsugi::api
