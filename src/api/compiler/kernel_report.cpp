#include "api/compiler/kernel_report.h"

#include "api/compiler/reports.h"
#include "api/compiler/session.h"
#include "verify/compare.h"
#include "verify/policy.h"

#include <algorithm>
#include <cmath>

namespace kintsugi::api {

using runtime::Manifest;

namespace {

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

/// What the kernels of a level should have stored, by name, and how exact that can be.
class Right {
public:
  static Expected<Right> of(const KernelLevel &level, const Manifest &manifest,
                            const Settings &settings) {
    Right right;
    KINTSUGI_ASSIGN(right.isolated, verify::isolate(level.level));
    right.exactness = verify::exactnessOf(right.isolated.program);
    KINTSUGI_RETURN_IF_ERROR(right.run(level, manifest, settings));
    return right;
  }

  /// An entry of the report: the output of a kernel.
  Expected<Json> judge(const std::string &name, const Tensor &actual) const {
    const auto &declared = isolated.program.outputs;
    size_t index = 0;
    while (index < declared.size() && declared[index].name != name)
      ++index;
    if (index == declared.size())
      return internalError("the program does not define '" + name + "'");
    const Tensor &expected = outputs[index];
    if (actual.type() != expected.type() || actual.shape() != expected.shape())
      return internalError("the program defines '" + name + "' with another type or shape");
    verify::Difference found = verify::difference(actual.view(), expected.view());
    double allowed = verify::tolerance(expected.type(), exactness[index]);
    return Json{{"name", name},
                {"type", nameOf(actual.type())},
                {"shape", actual.shape()},
                {"max_abs", finite(found.maxAbsolute)},
                {"max_rel", finite(found.relative)},
                {"worst_element", found.worst},
                {"depth", exactness[index].depth},
                {"allowed", allowed},
                {"within", found.relative <= allowed}};
  }

private:
  Status run(const KernelLevel &level, const Manifest &manifest, const Settings &settings) {
    pipeline::CompileOptions options = settings.forReference().compile;
    options.log = nullptr;
    std::vector<std::byte> bytes;
    runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(bytes);
    KINTSUGI_RETURN_IF_ERROR(
        pipeline::compile(isolated.program, options, *hostDevice(), writer).status());
    KINTSUGI_ASSIGN(runtime::Artifact artifact,
                    runtime::Artifact::fromMemory(bytes, isolated.program.name));
    KINTSUGI_ASSIGN(auto model, runtime::Model::create(std::move(artifact), hostDevice()));
    KINTSUGI_ASSIGN(auto context, runtime::Context::create(model, {options.threads}));
    std::vector<runtime::InputTensor> in;
    for (te::ValueId value : isolated.inputs) {
      KINTSUGI_ASSIGN(const Tensor *tensor, seenOf(level, manifest, value));
      in.push_back(
          {"", tensor->type(), tensor->shape(), tensor->bytes().data(), tensor->bytes().size()});
    }
    std::vector<runtime::OutputTensor> out;
    for (const runtime::Port &port : model->manifest().outputs) {
      KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(port.type, port.shape));
      outputs.push_back(std::move(tensor));
      out.push_back({"", outputs.back().bytes().data(), outputs.back().bytes().size(), {}});
    }
    return context->run(in, out);
  }

  verify::Isolated isolated;
  std::vector<verify::Exactness> exactness;
  std::vector<Tensor> outputs;
};

/// How near to its limit an output is.
double strain(const Json &output) {
  if (output["max_rel"].is_null())
    return INFINITY;
  double found = output["max_rel"].get<double>(), allowed = output["allowed"].get<double>();
  return found == 0 ? 0 : allowed == 0 ? INFINITY : found / allowed;
}

/// A kernel's entry: its outputs, and the figures of the one nearest to its limit or farthest
/// beyond.
Expected<Json> judgeKernel(const Right &right, const KernelLevel &level, const Manifest &manifest,
                           uint32_t number) {
  const runtime::Stage &stage = manifest.stages[number];
  Json entry = {{"name", stage.symbol},
                {"stage", number},
                {"nodes", stage.nodes},
                {"expressions", stage.expressions}};
  Json outputs = Json::array();
  for (uint32_t buffer : std::span(stage.buffers).last(stage.resultCount)) {
    KINTSUGI_ASSIGN(Json output, right.judge(manifest.buffers[buffer].name, level.seen.at(buffer)));
    outputs.push_back(std::move(output));
  }
  const Json &worst = *std::ranges::max_element(outputs, {}, strain);
  for (const char *field : {"max_abs", "max_rel", "depth", "allowed", "within"})
    entry[field] = worst[field];
  entry["outputs"] = std::move(outputs);
  return entry;
}

} // namespace

Expected<Json> judgeKernels(const std::list<KernelLevel> &levels, const Manifest &manifest,
                            const Settings &settings) {
  std::map<uint32_t, Json> byStage;
  for (const KernelLevel &level : levels) {
    if (level.stages.empty() || level.seen.empty())
      continue;
    KINTSUGI_ASSIGN(Right right, Right::of(level, manifest, settings));
    for (uint32_t stage : level.stages) {
      KINTSUGI_ASSIGN(byStage[stage], judgeKernel(right, level, manifest, stage));
    }
  }
  Json kernels = Json::array();
  for (auto &[stage, entry] : byStage)
    kernels.push_back(std::move(entry));
  return kernels;
}

Expected<Json> compareKernels(const std::string &model, const std::string &inputs,
                              const Settings &settings) {
  if (isArtifact(model))
    return usageError(model + ": an artifact does not hold what its kernels were made from; "
                              "give --per-kernel the model itself");
  KINTSUGI_ASSIGN(Session session, Session::open(model, inputs, settings));
  const Manifest &manifest = session.manifest();
  Diagnostics diagnostics;
  KINTSUGI_ASSIGN(te::Program program,
                  pipeline::kernelProgram(model, settings.compile, *hostDevice(), diagnostics));
  KINTSUGI_ASSIGN(std::list<KernelLevel> levels, kernelLevels(program, manifest));
  KernelRecorder recorder(manifest, levels);
  KINTSUGI_RETURN_IF_ERROR(settings.tell("running"));
  KINTSUGI_RETURN_IF_ERROR(session.run({.observer = &recorder}));
  KINTSUGI_RETURN_IF_ERROR(settings.tell("running the reference"));
  KINTSUGI_ASSIGN(Json kernels, judgeKernels(levels, manifest, settings));
  bool within =
      std::ranges::all_of(kernels, [](const Json &kernel) { return kernel["within"].get<bool>(); });
  return Json{{"model", manifest.modelName},     {"target", manifest.target},
              {"precision", manifest.precision}, {"against", "reference"},
              {"kernels", std::move(kernels)},   {"within", within}};
}

} // namespace kintsugi::api
