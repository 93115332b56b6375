#include "tune/race.h"

#include <chrono>

namespace kintsugi::tune {

Expected<Runner> Runner::create(Model model, const std::vector<Tensor> &feeds, unsigned threads) {
  Runner runner;
  runtime::ContextOptions options;
  options.threads = threads;
  const runtime::Manifest &manifest = model->manifest();
  runner.stageSeconds.resize(manifest.stages.size());
  for (size_t i = 0; i < feeds.size(); ++i)
    runner.boundInputs.push_back({manifest.inputs[i].name, feeds[i].type(), feeds[i].shape(),
                                  feeds[i].bytes().data(), feeds[i].bytes().size()});
  for (const runtime::Port &port : manifest.outputs) {
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(port.type, port.shape));
    runner.outputs.push_back(std::move(tensor));
  }
  for (size_t i = 0; i < runner.outputs.size(); ++i)
    runner.boundOutputs.push_back({manifest.outputs[i].name,
                                   runner.outputs[i].bytes().data(),
                                   runner.outputs[i].bytes().size(),
                                   {}});
  KINTSUGI_ASSIGN(runner.context, runtime::Context::create(std::move(model), options));
  return runner;
}

Expected<double> Runner::runOnce(bool byStage) {
  context->clearStageTimes();
  runtime::RunOptions options;
  options.profile = byStage;
  options.timesSteps = true;
  auto start = std::chrono::steady_clock::now();
  KINTSUGI_RETURN_IF_ERROR(context->run(boundInputs, boundOutputs, options));
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (byStage)
    for (size_t stage = 0; stage < stageSeconds.size(); ++stage)
      stageSeconds[stage].push_back(double(context->stageTimes()[stage].nanoseconds) * 1e-9);
  return context->deviceSeconds().value_or(taken.count());
}

/// The first run is not like the others. A device's queue sees one through and records the next.
Status Runner::warmUp() {
  constexpr int recording = 3;
  KINTSUGI_RETURN_IF_ERROR(runOnce(true).status());
  isTimedByDevice = context->timesByDevice();
  for (int run = 0; run < recording && timesStagesApart(); ++run)
    KINTSUGI_RETURN_IF_ERROR(runOnce(false).status());
  stageSeconds.assign(stageSeconds.size(), {});
  return Status::success();
}

/// Events around stages make a device wait for each.
Expected<double> Runner::run() { return runOnce(!timesStagesApart()); }

Expected<double> Runner::timeStages() { return runOnce(true); }

Expected<double> Runner::runAlone() { return runOnce(false); }

Expected<Race> race(Runner &first, Runner &second, size_t leastPairs,
                    const std::function<bool(size_t)> &goOn) {
  Race result;
  for (size_t pair = 0; pair < leastPairs || goOn(pair); ++pair) {
    bool turned = pair % 2;
    KINTSUGI_ASSIGN(double one, (turned ? second : first).run());
    KINTSUGI_ASSIGN(double other, (turned ? first : second).run());
    result.first.push_back(turned ? other : one);
    result.second.push_back(turned ? one : other);
  }
  return result;
}

} // namespace kintsugi::tune
