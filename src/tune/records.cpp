#include "tune/records.h"

#include "search/point_text.h"
#include "te/hash.h"
#include "tune/pairs.h"

namespace kintsugi::tune {

/// In the place of a schedule's text.
static constexpr std::string_view isTime = "time", isRunTime = "time in a plan";

Expected<Records> Records::read(std::shared_ptr<store::Store> store, std::string machine,
                                std::string compiler) {
  Records records;
  if (store) {
    KINTSUGI_ASSIGN(records.known, store->load(machine, compiler));
  }
  records.store = std::move(store);
  records.machine = std::move(machine);
  records.compiler = std::move(compiler);
  return records;
}

const store::Measurement *Records::find(Hash128 structure) const {
  auto found = known.find(structure);
  return found == known.end() ? nullptr : &found->second;
}

Status Records::add(const store::Measurement &measurement) {
  if (store)
    KINTSUGI_RETURN_IF_ERROR(store->put({&measurement, 1}, machine, compiler));
  known[measurement.structure] = measurement;
  return Status::success();
}

Status Records::addTime(Hash128 key, double seconds, double predictedSeconds) {
  return add({key, std::string(isTime), seconds, predictedSeconds, 0});
}

Status Records::addRunTime(Hash128 key, double seconds, double predictedSeconds) {
  return add({key, std::string(isRunTime), seconds, predictedSeconds, 0});
}

std::optional<double> Records::secondsOf(Hash128 key) const {
  const store::Measurement *found = find(key);
  if (!found || (found->schedule != isTime && found->schedule != isRunTime))
    return std::nullopt;
  return found->seconds;
}

space::MeasuredKernels Records::kernels(double stageSeconds) const {
  constexpr double mostlyWork = 4;
  space::MeasuredKernels result;
  std::vector<double> shares;
  for (const auto &[structure, measurement] : known) {
    if (measurement.schedule == isRunTime)
      continue;
    double gain = measurement.seconds / measurement.defaultSeconds;
    if (measurement.schedule == isTime) {
      result.seconds[structure] = measurement.seconds;
      if (measurement.defaultSeconds >= mostlyWork * stageSeconds)
        shares.push_back(gain);
      continue;
    }
    std::optional<loops::Point> point = search::parsePoint(measurement.schedule);
    if (point && gain < clearGain)
      result.schedules[structure] = {std::move(*point), gain};
  }
  if (!shares.empty())
    result.bias = quantile(std::move(shares), 0.5);
  return result;
}

Digest Records::digest() const {
  Blake3 hash;
  for (const auto &[structure, measurement] : known)
    hash.update(structure.str() + " " + measurement.schedule + " " +
                std::to_string(std::bit_cast<uint64_t>(measurement.seconds)) + " " +
                std::to_string(std::bit_cast<uint64_t>(measurement.defaultSeconds)) + "\n");
  return hash.finish();
}

Hash128 modelKey(const te::Program &program) {
  return Hasher("model by measured seconds").add(te::hashOf(program)).finish();
}

store::Measurement verdict(Hash128 key, double seconds, double defaultSeconds, bool hasWon) {
  return {key, "", hasWon ? std::min(seconds, defaultSeconds) : 2 * defaultSeconds, defaultSeconds,
          0};
}

Verdict verdictOn(const Records &records, Hash128 model) {
  const store::Measurement *found = records.find(model);
  if (!found)
    return Verdict::NotRaced;
  return found->seconds <= found->defaultSeconds ? Verdict::Won : Verdict::Lost;
}

Hash128 planKey(const orchestrate::Plan &plan) {
  std::vector<Hash128> kernels; // One for each stage.
  orchestrate::Plan::forEachStage(plan.root, [&](unsigned number) {
    const orchestrate::Stage &stage = plan.stages[number];
    if (stage.kind != orchestrate::Stage::Kind::Kernel)
      return;
    const orchestrate::Kernel &kernel = plan.kernels[stage.kernel];
    kernels.push_back(
        Hasher("kernel").add(kernel.key).add(search::pointText(kernel.shape->point)).finish());
  });
  return Hasher("tuned plan").addUnordered(kernels).finish();
}

Hash128 timingKeyOf(const orchestrate::Kernel &kernel, const search::ScheduleOptions &options) {
  return space::timingKey(kernel.shape->key, options, kernel.shape->point);
}

RunKeys::RunKeys(Hash128 model, const orchestrate::Plan &plan,
                 const search::ScheduleOptions &options)
    : options(options) {
  std::vector<Hash128> kernels;
  orchestrate::Plan::forEachStage(plan.root, [&](unsigned number) {
    const orchestrate::Stage &stage = plan.stages[number];
    if (stage.kind == orchestrate::Stage::Kind::Kernel)
      kernels.push_back(timingKeyOf(plan.kernels[stage.kernel], options));
  });
  ofPlan = Hasher("runs of a plan").add(model).addUnordered(kernels).finish();
}

Hash128 RunKeys::ofKernel(const orchestrate::Kernel &kernel) const {
  return Hasher("kernel in a plan").add(ofPlan).add(timingKeyOf(kernel, options)).finish();
}

bool lostAsAWhole(const Records &records, const orchestrate::Plan &plan) {
  const store::Measurement *found = records.find(planKey(plan));
  return found && found->seconds >= found->defaultSeconds;
}

} // namespace kintsugi::tune
