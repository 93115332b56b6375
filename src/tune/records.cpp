#include "tune/records.h"

namespace kintsugi::tune {

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

space::TunedSchedules Records::schedules() const {
  space::TunedSchedules result;
  for (const auto &[structure, measurement] : known) {
    double gain = measurement.seconds / measurement.defaultSeconds;
    std::optional<schedule::Point> point = schedule::Point::parse(measurement.schedule);
    if (point && gain < clearGain)
      result[structure] = {std::move(*point), gain};
  }
  return result;
}

Digest Records::digest() const {
  Sha256 hash;
  for (const auto &[structure, measurement] : known)
    hash.update(structure.str() + " " + measurement.schedule + " " +
                std::to_string(std::bit_cast<uint64_t>(measurement.seconds)) + " " +
                std::to_string(std::bit_cast<uint64_t>(measurement.defaultSeconds)) + "\n");
  return hash.finish();
}

std::optional<Hash128> planKey(const orchestrate::Plan &plan) {
  std::vector<Hash128> kernels; // One for each stage.
  bool any = false;
  orchestrate::Plan::forEachStage(plan.root, [&](unsigned number) {
    const orchestrate::Stage &stage = plan.stages[number];
    if (stage.kind != orchestrate::Stage::Kind::Kernel)
      return;
    const orchestrate::Kernel &kernel = plan.kernels[stage.kernel];
    kernels.push_back(Hasher("kernel").add(kernel.key).add(kernel.shape->point.print()).finish());
    any |= kernel.shape->untuned != nullptr;
  });
  if (!any)
    return std::nullopt;
  return Hasher("tuned plan").addUnordered(kernels).finish();
}

bool lostAsAWhole(const Records &records, const orchestrate::Plan &plan) {
  std::optional<Hash128> key = planKey(plan);
  const store::Measurement *found = key ? records.find(*key) : nullptr;
  return found && found->seconds >= found->defaultSeconds;
}

} // namespace kintsugi::tune
