//===- records.h - What tuning knows of a machine -----------------------------===//
//
// The measurements that a compile started with and those that it makes, which go to the store at
// once. Schedules of kernels are recorded under space::tuningKey, what kernels take in runs of
// models under space::timingKey, and whole plans under the kernels in them: where what was measured
// made a model slower as a whole, it ships without.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_RECORDS_H
#define KINTSUGI_TUNE_RECORDS_H

#include "base/hash.h"
#include "orchestrate/plan.h"
#include "store/store.h"

namespace kintsugi::tune {

/// What a tuned kernel takes at most of the default's time.
constexpr double clearGain = 0.97;

class Records {
public:
  /// Reads the store once. What others add later is not seen. A store of null keeps nothing.
  static Expected<Records> read(std::shared_ptr<store::Store> store, std::string machine,
                                std::string compiler);

  bool empty() const { return known.empty(); }
  const store::Measurement *find(Hash128 structure) const;
  /// Known from now on, and in the store when this returns.
  Status add(const store::Measurement &measurement);

  /// What a kernel takes in a run of a model, under space::timingKey, and what was predicted.
  Status addTime(Hash128 key, double seconds, double predictedSeconds);

  /// What a plan takes in its own runs, or a kernel in those of this plan: under RunKeys.
  Status addRunTime(Hash128 key, double seconds, double predictedSeconds);

  /// What was recorded by addTime or addRunTime.
  std::optional<double> secondsOf(Hash128 key) const;

  /// The kernels that have a better schedule than the default, and those whose seconds are known.
  /// `stageSeconds`: what a kernel takes at least by predictions, which small ones say nothing of.
  space::MeasuredKernels kernels(double stageSeconds) const;
  /// Of all that may change what a compile does.
  Digest digest() const;

private:
  std::shared_ptr<store::Store> store;
  std::string machine, compiler;
  std::map<Hash128, store::Measurement> known;
};

/// Stands for a model whose plan by measured seconds ran against that of predictions alone.
Hash128 modelKey(const te::Program &program);

/// What came of it.
enum class Verdict : uint8_t { NotRaced, Won, Lost };
Verdict verdictOn(const Records &records, Hash128 model);
store::Measurement verdict(Hash128 key, double seconds, double defaultSeconds, bool hasWon);

/// Stands for the kernels in a plan and their schedules.
Hash128 planKey(const orchestrate::Plan &plan);

/// What a kernel's seconds are kept under.
Hash128 timingKeyOf(const orchestrate::Kernel &kernel, const search::ScheduleOptions &options);

/// What the times of one plan's own runs are kept under, on a machine: there each kernel meets its
/// data as it will when the plan ships. Other plans are priced without.
class RunKeys {
public:
  RunKeys(Hash128 model, const orchestrate::Plan &plan, const search::ScheduleOptions &options);

  Hash128 whole() const { return ofPlan; }
  Hash128 ofKernel(const orchestrate::Kernel &kernel) const;

private:
  const search::ScheduleOptions &options;
  Hash128 ofPlan;
};

/// Whether the plan was timed as a whole and was not quicker than the one that nothing measured
/// decided on.
bool lostAsAWhole(const Records &records, const orchestrate::Plan &plan);

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_RECORDS_H
