#include "compiled_engine.h"

#include "devices/cpu/cpu_device.h"
#include "devices/cuda/cuda_device.h"
#include "pipeline/pipeline.h"
#include "runtime/context.h"

namespace kintsugi::conformance {

namespace {

/// By the stages that are left to run: none means that linking computed everything.
Means meansOf(const runtime::Manifest &manifest) {
  if (manifest.stages.empty())
    return Means::Folded;
  for (const runtime::Stage &stage : manifest.stages)
    if (stage.kind == runtime::Stage::Kind::Call || !stage.call.empty())
      return Means::Call;
  return Means::Generated;
}

Expected<std::vector<runtime::InputTensor>>
bindInputs(const runtime::Manifest &manifest, const std::map<std::string, Tensor> &inputs) {
  std::vector<runtime::InputTensor> tensors;
  for (const runtime::Port &port : manifest.inputs) {
    auto input = inputs.find(port.name);
    if (input == inputs.end())
      return internalError("the artifact has the input '" + port.name + "', the case has none");
    const Tensor &tensor = input->second;
    tensors.push_back(
        {port.name, tensor.type(), tensor.shape(), tensor.bytes().data(), tensor.bytes().size()});
  }
  return tensors;
}

/// Runs with outputs of the bounds' size, then gives each the extents that the run reported.
Expected<std::map<std::string, Tensor>> execute(std::shared_ptr<const runtime::Model> model,
                                                const std::map<std::string, Tensor> &inputs) {
  const runtime::Manifest &manifest = model->manifest();
  KINTSUGI_ASSIGN(std::vector<runtime::InputTensor> in, bindInputs(manifest, inputs));
  std::vector<Tensor> results;
  std::vector<std::vector<int64_t>> shapes;
  for (const runtime::Port &port : manifest.outputs) {
    KINTSUGI_ASSIGN(Tensor result, Tensor::create(port.type, port.shape));
    results.push_back(std::move(result));
    shapes.push_back(port.shape);
  }
  std::vector<runtime::OutputTensor> out;
  for (size_t i = 0; i < results.size(); ++i)
    out.push_back({manifest.outputs[i].name, results[i].bytes().data(), results[i].bytes().size(),
                   shapes[i]});
  KINTSUGI_ASSIGN(std::unique_ptr<runtime::Context> context,
                  runtime::Context::create(model, {.threads = 1}));
  KINTSUGI_RETURN_IF_ERROR(context->run(in, out));
  std::map<std::string, Tensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    auto bytes = bytesOf(results[i].type(), shapes[i]);
    TensorView front{results[i].type(), shapes[i], results[i].bytes().first(*bytes)};
    KINTSUGI_ASSIGN(Tensor output, Tensor::copyOf(front));
    outputs.insert_or_assign(manifest.outputs[i].name, std::move(output));
  }
  return outputs;
}

} // namespace

Expected<Outcome> CompiledEngine::run(const Case &which, std::map<std::string, Tensor> inputs) {
  pipeline::CompileOptions options;
  KINTSUGI_ASSIGN(options.import, importOptions(which, inputs));
  options.target = target;
  options.machine = machine;
  options.threads = 1;
  auto host = std::make_shared<devices::CpuDevice>();
  std::shared_ptr<runtime::Device> device = host;
  if (target == "cuda") {
    KINTSUGI_ASSIGN(device, devices::CudaDevice::open(0));
  }
  std::vector<std::byte> bytes;
  runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(bytes);
  Diagnostics diagnostics;
  KINTSUGI_RETURN_IF_ERROR(
      pipeline::compile(which.model(), options, *host, writer, diagnostics).status());
  KINTSUGI_ASSIGN(
      runtime::Artifact artifact,
      runtime::Artifact::fromMemory(bytes, which.name, runtime::Model::optionsFor(*device, {})));
  KINTSUGI_ASSIGN(std::shared_ptr<const runtime::Model> model,
                  runtime::Model::create(std::move(artifact), device));
  Outcome outcome;
  outcome.means = meansOf(model->manifest());
  KINTSUGI_ASSIGN(outcome.outputs, execute(model, inputs));
  return outcome;
}

} // namespace kintsugi::conformance
