#include "pipeline/host_trial.h"

#include "te/check.h"
#include "te/constant.h"
#include "te/operations.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace kintsugi::pipeline {

using namespace te;

namespace {

/// A run is to be short beside the compilation that it serves.
constexpr double mostOperations = 1.5e11;
constexpr double mostConstantBytes = 2e9;

double constantBytesOf(const Program &program) {
  double bytes = 0;
  for (const Value &value : program.values)
    if (value.kind == ValueKind::Constant)
      bytes += value.bytes();
  return bytes;
}

/// Tells a run to end once it takes too long: what ends a loop may not happen with made up inputs.
class Deadline {
public:
  Deadline() : watch([this] { wait(); }) {}
  ~Deadline() {
    {
      std::lock_guard lock(mutex);
      isOver = true;
    }
    changed.notify_one();
    watch.join();
  }

  static constexpr int seconds = 60;
  std::atomic<bool> isPast = false;

private:
  void wait() {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, std::chrono::seconds(seconds), [this] { return isOver; }))
      isPast = true;
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool isOver = false;
  std::thread watch;
};

CompileOptions trialOptions(const CompileOptions &options) {
  CompileOptions trial;
  trial.machine = *machine::Machine::forLevel(machine::nameOf(machine::Level::V3));
  trial.plan = orchestrate::PlanMode::Separate;
  trial.threads = options.threads;
  trial.constantBudget = options.constantBudget;
  if (options.progress)
    trial.progress = [&options](std::string_view, uint64_t step, uint64_t steps) {
      return options.progress("trying", step, steps);
    };
  trial.disabled = withoutSearch();
  return trial;
}

} // namespace

Status checkTriable(const Program &program) {
  if (operationsOf(program) > mostOperations || constantBytesOf(program) > mostConstantBytes)
    return machineError("the model is too large to be tried on the processor while it is compiled");
  return Status::success();
}

Expected<HostTrial> HostTrial::compile(const Program &program, const CompileOptions &options,
                                       runtime::Device &host) {
  std::vector<std::byte> bytes;
  runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(bytes);
  KINTSUGI_RETURN_IF_ERROR(
      pipeline::compile(program, trialOptions(options), host, writer).status());
  KINTSUGI_ASSIGN(runtime::Artifact artifact,
                  runtime::Artifact::fromMemory(std::move(bytes), program.name));
  std::shared_ptr<runtime::Device> borrowed(std::shared_ptr<void>(), &host);
  KINTSUGI_ASSIGN(std::shared_ptr<const runtime::Model> model,
                  runtime::Model::create(std::move(artifact), borrowed));
  HostTrial trial;
  KINTSUGI_ASSIGN(trial.context, runtime::Context::create(std::move(model), {options.threads}));
  for (const Program::Output &output : modelOutputs(program)) {
    const Value &value = program.value(output.value);
    trial.outputs.push_back({value.type, plainShape(value.shape)});
  }
  return trial;
}

Expected<std::vector<Tensor>> HostTrial::run(std::span<const Tensor> feeds) {
  std::vector<runtime::InputTensor> given;
  for (const Tensor &feed : feeds)
    given.push_back({{}, feed.type(), feed.shape(), feed.bytes().data(), feed.bytes().size()});
  std::vector<Tensor> results;
  std::vector<runtime::OutputTensor> places;
  for (const Port &output : outputs) {
    KINTSUGI_ASSIGN(Tensor result, Tensor::create(output.type, output.shape));
    results.push_back(std::move(result));
    places.push_back({{}, results.back().bytes().data(), results.back().bytes().size(), {}});
  }
  Deadline deadline;
  Status ran = context->run(given, places, {.cancel = &deadline.isPast});
  if (deadline.isPast)
    return machineError("the model, tried on the processor while it is compiled, did not end in " +
                        std::to_string(Deadline::seconds) + " s");
  KINTSUGI_RETURN_IF_ERROR(std::move(ran));
  return results;
}

} // namespace kintsugi::pipeline
