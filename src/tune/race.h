//===- race.h - Two models side by side -----------------------------------------===//
//
// Runs two artifacts of one model in turns on the same inputs, as a whole and stage by stage. What
// a kernel takes alone is one thing; here it shares caches with its neighbours.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_RACE_H
#define KINTSUGI_TUNE_RACE_H

#include "base/tensor.h"
#include "runtime/context.h"

#include <functional>

namespace kintsugi::tune {

using Model = std::shared_ptr<const runtime::Model>;

/// A model with memory for its inputs and outputs, which runs on made-up inputs.
class Runner {
public:
  /// `feeds`: a tensor for each input; they must outlive the runner.
  static Expected<Runner> create(Model model, const std::vector<Tensor> &feeds, unsigned threads);

  /// Runs until a run is like those that follow.
  Status warmUp();

  /// Seconds of one run; on a device with a clock of its own, by that.
  Expected<double> run();

  /// Whether runs' times of stages come along with run(), or take runs of their own.
  bool timesStagesApart() const { return isTimedByDevice; }
  /// A run that is there for the times of its stages, and its seconds.
  Expected<double> timeStages();
  /// A run that nothing is timed of but its seconds.
  Expected<double> runAlone();

  /// By stage of the manifest, the seconds of each run since.
  const std::vector<std::vector<double>> &stages() const { return stageSeconds; }

private:
  Expected<double> runOnce(bool byStage);

  std::unique_ptr<runtime::Context> context;
  std::vector<Tensor> outputs;
  std::vector<runtime::InputTensor> boundInputs;
  std::vector<runtime::OutputTensor> boundOutputs;
  std::vector<std::vector<double>> stageSeconds;
  bool isTimedByDevice = false; ///< Known when it is warm.
};

struct Race {
  std::vector<double> first, second; ///< Seconds of the runs, in pairs.
};

/// Of runners that are warm: at least `leastPairs`, and more while `goOn`, which is told how many
/// there are, says so.
Expected<Race> race(Runner &first, Runner &second, size_t leastPairs,
                    const std::function<bool(size_t)> &goOn);

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_RACE_H
