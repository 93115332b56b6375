#include "api/compiler/kernel_report.h"

#include "api/compiler/judgement.h"
#include "api/compiler/reports.h"
#include "api/compiler/session.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace kintsugi::api {

using runtime::Manifest;

namespace {

/// What the kernels of a level should have stored, by name, and how exact that can be.
class Right {
public:
  static Expected<Right> of(const KernelLevel &level, const Manifest &manifest,
                            const Settings &settings) {
    Right right(level, manifest, settings);
    KINTSUGI_ASSIGN(right.isolated, verify::isolate(level.level));
    right.exactness = verify::exactnessOf(right.isolated.program);
    KINTSUGI_ASSIGN(right.outputs, right.run(settings.forReference()));
    return right;
  }

  /// An entry of the report: the output of a kernel.
  Expected<Json> judge(const std::string &name, const Tensor &actual) {
    const auto &declared = isolated.program.outputs;
    size_t index = 0;
    while (index < declared.size() && declared[index].name != name)
      ++index;
    if (index == declared.size())
      return internalError("the program does not define '" + name + "'");
    const Tensor &expected = outputs[index];
    if (actual.type() != expected.type() || actual.shape() != expected.shape())
      return internalError("the program defines '" + name + "' with another type or shape");
    Judging judging{.exactness = exactness[index],
                    .rounding = [&](double leastShare) { return roundingCost(index, leastShare); }};
    KINTSUGI_ASSIGN(Json entry, api::judge(actual.view(), expected.view(), judging));
    entry["name"] = name;
    return entry;
  }

private:
  Right(const KernelLevel &level, const Manifest &manifest, const Settings &settings)
      : level(&level), manifest(&manifest), settings(&settings) {}

  /// The same kernels with every f32 value rounded, their inputs as they are.
  Expected<std::optional<verify::Difference>> roundingCost(size_t index, double leastShare) {
    if (rounded.empty()) {
      Settings how = settings->forReference();
      how.compile.rounding = ElementType::F32;
      KINTSUGI_ASSIGN(rounded, run(how));
    }
    return std::optional(
        verify::difference(rounded[index].view(), outputs[index].view(), leastShare));
  }

  /// The outputs on what the kernels read.
  Expected<std::vector<Tensor>> run(const Settings &how) const {
    pipeline::CompileOptions options = how.compile;
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
    // A stack of one step is in the buffer of what the step makes, which has a dimension less.
    for (auto [value, port] : llvm::zip_equal(isolated.inputs, model->manifest().inputs)) {
      KINTSUGI_ASSIGN(const Tensor *tensor, seenOf(*level, *manifest, value));
      in.push_back(
          {"", tensor->type(), port.shape, tensor->bytes().data(), tensor->bytes().size()});
    }
    std::vector<Tensor> results;
    std::vector<runtime::OutputTensor> out;
    for (const runtime::Port &port : model->manifest().outputs) {
      KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(port.type, port.shape));
      results.push_back(std::move(tensor));
      out.push_back({"", results.back().bytes().data(), results.back().bytes().size(), {}});
    }
    KINTSUGI_RETURN_IF_ERROR(context->run(in, out));
    return results;
  }

  const KernelLevel *level;
  const Manifest *manifest;
  const Settings *settings;
  verify::Isolated isolated;
  std::vector<verify::Exactness> exactness;
  std::vector<Tensor> outputs;
  std::vector<Tensor> rounded; ///< Once it was asked for.
};

/// How near to its limits an output is.
double strain(const Json &output) {
  auto share = [&](const char *field, const char *limit) {
    if (output[field].is_null())
      return double(INFINITY);
    double found = output[field].get<double>(), allowed = output[limit].get<double>();
    return found == 0 ? 0 : allowed == 0 ? INFINITY : found / allowed;
  };
  return std::max(share("max_rel", "allowed"), share("slice_rel", "slice_allowed"));
}

/// A kernel's entry: its outputs, and the figures of the one nearest to its limit or farthest
/// beyond.
Expected<Json> judgeKernel(Right &right, const KernelLevel &level, const Manifest &manifest,
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
  for (const char *field : {"max_abs", "max_rel", "depth", "allowed"})
    entry[field] = worst[field];
  addVerdict(worstOf(outputs), entry);
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
  if (const std::vector<OpenDimension> &open = settings.compile.open; !open.empty())
    return usageError("--dim " + open[0].name + ": --per-kernel compares kernels of one size; " +
                      "give it one (--dim " + open[0].name + "=N)");
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
  Json report = {{"model", manifest.modelName},
                 {"target", manifest.target},
                 {"precision", manifest.precision},
                 {"against", "reference"}};
  addVerdict(worstOf(kernels), report);
  report["kernels"] = std::move(kernels);
  return report;
}

} // namespace kintsugi::api
