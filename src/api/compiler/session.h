//===- session.h - A model with its tensors, ready to run -------------------===//
//
// Loads what prepare() gave and owns memory for inputs and outputs, so that verbs that run models
// only say how often.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_SESSION_H
#define KINTSUGI_API_COMPILER_SESSION_H

#include "api/compiler/artifacts.h"
#include "base/npz.h"
#include "runtime/context.h"

namespace kintsugi::api {

class Session {
public:
  /// `inputs` is an .npz file with an array for each input, or empty for made-up values (see
  /// import/random_weights.h). Input errors name the array that is missing, superfluous, or wrong
  /// in type or shape.
  static Expected<Session> open(const std::string &path, const std::string &inputs,
                                const Settings &settings);

  /// The same for what is worth a look where there is no device for it: then the session does not
  /// run, and its note says why. With what the compiler decided, if it had to compile.
  static Expected<Session> openOrLook(const std::string &path, const Settings &settings);
  bool runs() const { return context != nullptr; }

  Status run(const runtime::RunOptions &options = {});

  const runtime::Manifest &manifest() const { return artifact().manifest(); }
  const runtime::Artifact &artifact() const { return model ? model->artifact() : *unloaded; }

  /// Makes the plan that runs have, which serves some of a model's sizes, the session's own: that
  /// of all sizes is what is profiled otherwise.
  Status takePlan(const Settings &settings);
  const runtime::Manifest &plan() const {
    return context ? context->model().manifest() : manifest();
  }
  /// The sizes of open dimensions whose runs have that plan.
  std::vector<OpenDimension> planned() const;
  /// Those of the inputs.
  Expected<OpenSizes> sizes() const;
  /// What the device chose to run; "" where it had no choice or there is none.
  std::string_view codeSection() const {
    return context ? context->model().program().codeSection() : std::string_view();
  }
  std::span<const runtime::StageTime> stageTimes() const { return context->stageTimes(); }
  void clearStageTimes() { context->clearStageTimes(); }
  std::span<const runtime::StageSpan> stageSpans() const { return context->stageSpans(); }
  bool timesByDevice() const { return context->timesByDevice(); }
  std::optional<double> deviceSeconds() { return context->deviceSeconds(); }

  /// Of the last run.
  TensorView output(size_t index) const;
  const Tensor &input(size_t index) const { return inputs[index]; }

  /// The compiler's report: from the compilation, or what the artifact says of itself.
  const Json &report() const { return compilation; }

  /// What the compiler decided, where that is wanted and it compiled now; null otherwise.
  const Json &decisions() const { return compilerDecisions; }

  /// What a user should know of how the artifact came to be; empty where there is nothing.
  const std::string &note() const { return compilationNote; }

private:
  static Expected<Session> load(Prepared prepared,
                                Expected<std::shared_ptr<const runtime::Model>> loaded,
                                const std::string &path, const std::string &inputs,
                                const Settings &settings);
  void takeReport(Prepared prepared);
  static Expected<Session> openAnew(const std::string &damaged, const std::string &path,
                                    const std::string &inputs, const Settings &settings);
  Status readInputs(const std::string &path);
  Status makeInputs();
  void fitInputs();
  Status makeOutputs();
  void bind();

  std::shared_ptr<const runtime::Model> model; ///< Of all sizes; null where there is no context.
  std::unique_ptr<runtime::Context> context;
  std::optional<runtime::Artifact> unloaded; ///< Where there is no context.
  Json compilation, compilerDecisions;
  std::string compilationNote;
  std::string modelPath;
  std::vector<Tensor> inputs, outputs;
  std::vector<std::vector<int64_t>> shapes;      ///< Of outputs, after the last run.
  std::vector<runtime::InputTensor> boundInputs; ///< Made once: timed runs shall only run.
  std::vector<runtime::OutputTensor> boundOutputs;
};

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_SESSION_H
