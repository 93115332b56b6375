//===- runtime_api.cpp - The C interface of the runtime -------------------===//

#include "api/runtime/runtime_api.h"

#include "base/file_cache.h"
#include "devices/cpu/cpu_device.h"
#include "devices/cuda/cuda_device.h"
#include "devices/null/null_device.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <new>
#include <system_error>

using namespace kintsugi;
using namespace kintsugi::runtime;

static_assert(KIN_USAGE == static_cast<int>(ErrorKind::Usage) &&
              KIN_INPUT == static_cast<int>(ErrorKind::Input) &&
              KIN_INTERNAL == static_cast<int>(ErrorKind::Internal) &&
              KIN_MACHINE == static_cast<int>(ErrorKind::Machine));
static_assert(KIN_TYPE_F32 == int(KIN_F32) && KIN_TYPE_I64 == int(KIN_I64) &&
              KIN_TYPE_BOOL == int(KIN_BOOL) && KIN_TYPE_F64 == int(KIN_F64) &&
              KIN_TYPE_C128 == int(KIN_C128) && KIN_TYPE_BF16 == int(KIN_BF16));

/// Opened when it is first asked for, and kept.
static Expected<std::shared_ptr<Device>> cudaDevice(int number) {
  static std::mutex mutex;
  static std::map<int, std::shared_ptr<Device>> devices;
  std::lock_guard lock(mutex);
  std::shared_ptr<Device> &device = devices[number];
  if (!device) {
    KINTSUGI_ASSIGN(auto opened, devices::CudaDevice::open(number));
    if (auto folder = FileCache::defaultFolder(); folder.ok())
      opened->keepCodeIn(*folder);
    device = std::move(opened);
  }
  return device;
}

Expected<std::shared_ptr<Device>> api::findDevice(std::string_view name) {
  static const auto cpu = std::make_shared<devices::CpuDevice>();
  static const auto null = std::make_shared<devices::NullDevice>();
  if (name == "cpu")
    return std::shared_ptr<Device>(cpu);
  if (name == "null")
    return std::shared_ptr<Device>(null);
  constexpr std::string_view cuda = "cuda";
  int number = 0;
  std::string_view rest = name.starts_with(cuda) ? name.substr(cuda.size()) : "?";
  const char *last = rest.data() + rest.size();
  if (rest.empty() || (rest.starts_with(':') && rest.size() > 1 &&
                       std::from_chars(rest.data() + 1, last, number).ptr == last))
    return cudaDevice(number);
  return usageError("there is no device '" + std::string(name) +
                    "'; there are: cpu, cuda, cuda:1, ..., null");
}

KinStatus api::report(const Status &status, KinError **error) {
  if (error)
    *error = status.ok() ? nullptr : new KinError{status.error().message};
  return status.ok() ? KIN_OK : static_cast<KinStatus>(status.error().kind);
}

/// Of the exception that is being handled.
static Status statusOfException() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return machineError("not enough memory");
  } catch (const std::system_error &problem) {
    bool isMachines = problem.code() == std::errc::resource_unavailable_try_again;
    return isMachines ? machineError(std::string("can't start a thread: ") + problem.what())
                      : internalError(std::string("unexpected: ") + problem.what());
  } catch (const std::exception &problem) {
    return internalError(std::string("unexpected: ") + problem.what());
  } catch (...) {
    return internalError("an unexpected exception");
  }
}

KinStatus api::reportException(KinError **error) {
  try {
    return report(statusOfException(), error);
  } catch (...) { // There is no memory for the message either.
    if (error)
      *error = new (std::nothrow) KinError{};
    return KIN_MACHINE;
  }
}

//===----------------------------------------------------------------------===//
// Errors and version
//===----------------------------------------------------------------------===//

KinError *kin_error_create(const char *message) {
  try {
    return new KinError{message};
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

const char *kin_error_message(const KinError *error) {
  if (!error)
    return "no error";
  return error->message.empty() ? "not enough memory" : error->message.c_str();
}

void kin_error_free(KinError *error) { delete error; }

const char *kin_runtime_version(void) { return KINTSUGI_VERSION; }

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static KinPort describe(const Manifest &manifest, const Port &port) {
  KinPort described = {};
  described.name = port.name.c_str();
  described.type = toInt(port.type);
  described.rank = static_cast<int32_t>(port.shape.size());
  described.dims = port.shape.data();
  described.bytes = manifest.buffers[port.buffer].bytes;
  described.dynamic = !port.dynamic.empty();
  described.may_alias = static_cast<int32_t>(port.mayAlias);
  static_assert(std::size(KinPort().open) == mostOpenDimensions);
  for (size_t k = 0; k < mostOpenDimensions; ++k) {
    described.open[k].dimension = -1;
    if (k >= port.open.size())
      continue;
    const OpenAxis &axis = port.open[k];
    const OpenDimension &open = manifest.open[axis.number];
    described.open[k] = {static_cast<int32_t>(axis.dimension), axis.step, open.low, open.high,
                         open.name.c_str()};
  }
  return described;
}

std::unique_ptr<KinModel> api::wrapModel(std::shared_ptr<const Model> model) {
  auto handle = std::make_unique<KinModel>();
  const Manifest &manifest = model->manifest();
  for (const Port &port : manifest.inputs)
    handle->inputs.push_back(describe(manifest, port));
  for (const Port &port : manifest.outputs)
    handle->outputs.push_back(describe(manifest, port));
  handle->manifest = printJson(manifest.toJson(), 1);
  handle->model = std::move(model);
  return handle;
}

/// A struct of options starts with the size that its caller knows of it; ours must be the same.
template <typename Options> static Status checkOptions(const Options *options) {
  if (options && options->struct_bytes != sizeof(Options))
    return usageError("the options have a struct_bytes of " +
                      std::to_string(options->struct_bytes) + " instead of " +
                      std::to_string(sizeof(Options)));
  return Status::success();
}

static Status makeModel(Expected<Artifact> (*open)(const void *, size_t, ReadOptions),
                        const void *source, size_t bytes, const KinLoadOptions *options,
                        KinModel **result) {
  if (!result || !source)
    return usageError("there is no artifact to load or nowhere to put the model");
  *result = nullptr;
  KINTSUGI_RETURN_IF_ERROR(checkOptions(options));
  std::string_view name = options && options->device ? options->device : "cpu";
  KINTSUGI_ASSIGN(auto device, api::findDevice(name));
  ReadOptions readOptions;
  readOptions.verifyConstants = !(options && options->skip_constants_check);
  KINTSUGI_ASSIGN(Artifact artifact,
                  open(source, bytes, Model::optionsFor(*device, std::move(readOptions))));
  KINTSUGI_ASSIGN(auto model, Model::create(std::move(artifact), std::move(device)));
  *result = api::wrapModel(std::move(model)).release();
  return Status::success();
}

KinStatus kin_model_load(const char *path, const KinLoadOptions *options, KinModel **model,
                         KinError **error) {
  auto open = [](const void *path, size_t, ReadOptions options) {
    return Artifact::open(static_cast<const char *>(path), options);
  };
  return api::guarded(error, [&] { return makeModel(open, path, 0, options, model); });
}

KinStatus kin_model_load_memory(const void *bytes, size_t count, const KinLoadOptions *options,
                                KinModel **model, KinError **error) {
  auto open = [](const void *bytes, size_t count, ReadOptions options) {
    return Artifact::fromMemory({static_cast<const std::byte *>(bytes), count}, "artifact",
                                options);
  };
  return api::guarded(error, [&] { return makeModel(open, bytes, count, options, model); });
}

void kin_model_free(KinModel *model) { delete model; }

size_t kin_model_input_count(const KinModel *model) { return model->inputs.size(); }

size_t kin_model_output_count(const KinModel *model) { return model->outputs.size(); }

const KinPort *kin_model_input(const KinModel *model, size_t index) {
  return index < model->inputs.size() ? &model->inputs[index] : nullptr;
}

const KinPort *kin_model_output(const KinModel *model, size_t index) {
  return index < model->outputs.size() ? &model->outputs[index] : nullptr;
}

const char *kin_model_manifest(const KinModel *model) { return model->manifest.c_str(); }

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

static Status makeContext(const KinModel *model, const KinContextOptions *options,
                          KinContext **result) {
  if (!model || !result)
    return usageError("there is no model or nowhere to put the context");
  *result = nullptr;
  KINTSUGI_RETURN_IF_ERROR(checkOptions(options));
  auto handle = std::make_unique<KinContext>();
  ContextOptions contextOptions;
  if (options) {
    contextOptions.threads = options->threads;
    handle->options.profile = options->profile;
  }
  handle->options.cancel = &handle->cancel;
  KINTSUGI_ASSIGN(handle->context, Context::create(model->model, contextOptions));
  *result = handle.release();
  return Status::success();
}

KinStatus kin_context_create(const KinModel *model, const KinContextOptions *options,
                             KinContext **context, KinError **error) {
  return api::guarded(error, [&] { return makeContext(model, options, context); });
}

void kin_context_free(KinContext *context) { delete context; }

static std::string_view nameOf(const KinTensor &tensor) {
  return tensor.name ? std::string_view(tensor.name) : std::string_view();
}

/// The extents of a tensor; a usage error where there is a rank but no extents.
static Expected<std::span<int64_t>> extentsOf(const KinTensor &tensor) {
  if (tensor.rank < 0 || (tensor.rank > 0 && !tensor.dims))
    return usageError("tensor '" + std::string(nameOf(tensor)) + "' has rank " +
                      std::to_string(tensor.rank) + " but no extents");
  return std::span<int64_t>(tensor.dims, tensor.rank);
}

static Status convertTensors(KinContext &context, std::span<const KinTensor> inputs,
                             std::span<const KinTensor> outputs) {
  context.inputs.clear();
  context.outputs.clear();
  for (const KinTensor &tensor : inputs) {
    KINTSUGI_ASSIGN(std::span<int64_t> extents, extentsOf(tensor));
    auto type = static_cast<ElementType>(kinElementFromOnnx(tensor.type));
    context.inputs.push_back({nameOf(tensor), type, extents, tensor.data, tensor.bytes});
  }
  for (const KinTensor &tensor : outputs) {
    std::span<int64_t> extents;
    if (tensor.dims) {
      KINTSUGI_ASSIGN(extents, extentsOf(tensor));
    }
    context.outputs.push_back({nameOf(tensor), tensor.data, tensor.bytes, extents});
  }
  return Status::success();
}

static Status checkOutputTypes(const Manifest &manifest, std::span<const KinTensor> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    int64_t port = outputs[i].name ? Manifest::find(manifest.outputs, outputs[i].name)
                                   : static_cast<int64_t>(i);
    bool known = port >= 0 && static_cast<size_t>(port) < manifest.outputs.size();
    if (!known || outputs[i].type == KIN_TYPE_ANY)
      continue; // What is not known, the run will name.
    const Port &wanted = manifest.outputs[port];
    if (outputs[i].type != toInt(wanted.type))
      return usageError("output '" + wanted.name + "' is to have type " +
                        kinElementName(outputs[i].type) + ", the model gives " +
                        std::string(kintsugi::nameOf(wanted.type)));
  }
  return Status::success();
}

/// Has the tensors in the context, whose lock the caller holds.
static Status takeTensors(KinContext &context, std::span<const KinTensor> inputs,
                          std::span<const KinTensor> outputs) {
  if ((!inputs.data() && !inputs.empty()) || (!outputs.data() && !outputs.empty()))
    return usageError("there are no tensors");
  KINTSUGI_RETURN_IF_ERROR(checkOutputTypes(context.context->model().manifest(), outputs));
  return convertTensors(context, inputs, outputs);
}

/// A context's own with those of a run.
static RunOptions optionsOf(const KinContext &context, const KinRunOptions &given) {
  RunOptions options = context.options;
  if (given.on_stream)
    options.stream = given.stream;
  options.waits = !given.no_wait;
  return options;
}

/// What a run's tensors become where they are kept for others, or what they were.
static Expected<Binding *> bindingOf(KinContext &context, std::span<const KinTensor> inputs,
                                     std::span<const KinTensor> outputs, KinBinding *&binding) {
  if (binding) {
    if (binding->context != &context || !inputs.empty() || !outputs.empty())
      return usageError("the binding is another context's, or there are tensors beside it");
    return binding->binding.get();
  }
  KINTSUGI_RETURN_IF_ERROR(takeTensors(context, inputs, outputs));
  auto handle = std::make_unique<KinBinding>();
  handle->context = &context;
  KINTSUGI_ASSIGN(handle->binding,
                  context.context->bind(context.inputs, context.outputs, context.options));
  binding = handle.release();
  return binding->binding.get();
}

static Status runContext(KinContext *context, std::span<const KinTensor> inputs,
                         std::span<const KinTensor> outputs, const KinRunOptions *options) {
  if (!context)
    return usageError("there is no context");
  KINTSUGI_RETURN_IF_ERROR(checkOptions(options));
  const KinRunOptions &given = options ? *options : KinRunOptions{};
  if (given.only_wait)
    return context->context->wait();
  std::lock_guard lock(context->running);
  Binding *binding = nullptr;
  if (given.binding) {
    KINTSUGI_ASSIGN(binding, bindingOf(*context, inputs, outputs, *given.binding));
  } else {
    KINTSUGI_RETURN_IF_ERROR(takeTensors(*context, inputs, outputs));
  }
  RunOptions how = optionsOf(*context, given);
  Status status = binding ? context->context->run(*binding, how)
                          : context->context->run(context->inputs, context->outputs, how);
  context->cancel.store(false, std::memory_order_relaxed);
  return status;
}

KinStatus kin_run(KinContext *context, const KinTensor *inputs, size_t input_count,
                  const KinTensor *outputs, size_t output_count, KinError **error) {
  return kin_run_with(context, inputs, input_count, outputs, output_count, nullptr, error);
}

KinStatus kin_run_with(KinContext *context, const KinTensor *inputs, size_t input_count,
                       const KinTensor *outputs, size_t output_count, const KinRunOptions *options,
                       KinError **error) {
  return api::guarded(error, [&] {
    return runContext(context, std::span(inputs, input_count), std::span(outputs, output_count),
                      options);
  });
}

void kin_binding_free(KinBinding *binding) { delete binding; }

void *kin_context_stream(const KinContext *context) {
  return context ? context->context->nativeQueue() : nullptr;
}

int kin_context_owns(const KinContext *context, const void *memory) {
  return context && context->context->isOnDevice(memory);
}

void kin_context_cancel(KinContext *context) {
  context->cancel.store(true, std::memory_order_relaxed);
}

size_t kin_context_profile(const KinContext *context, KinStageTime *times, size_t capacity) {
  std::span<const StageTime> stages = context->context->stageTimes();
  for (size_t i = 0; i < std::min(capacity, stages.size()); ++i)
    times[i] = {stages[i].launches, stages[i].nanoseconds};
  return stages.size();
}
