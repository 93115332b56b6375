#include "tune/plan_times.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace kintsugi::tune {

using orchestrate::Plan;
using orchestrate::PlanNode;
using orchestrate::Stage;

static void collectParts(const Plan &plan, const PlanNode &node, int64_t times,
                         std::vector<Parts> &all) {
  if (node.kind == PlanNode::Kind::Repeat)
    times *= node.isCounted() ? node.count : 1;
  if (node.kind != PlanNode::Kind::Stage && node.kind != PlanNode::Kind::Joined) {
    for (const PlanNode &child : node.children)
      collectParts(plan, child, times, all);
    return;
  }
  if (node.kind == PlanNode::Kind::Stage && plan.stages[node.stage].device) {
    all.resize(all.size() + plan.stages[node.stage].device->launches.size());
    return;
  }
  Parts parts;
  double total = 0;
  Plan::forEachStage(node, [&](unsigned number) {
    const Stage &stage = plan.stages[number];
    if (stage.kind != Stage::Kind::Kernel)
      return;
    parts.push_back({stage.kernel, stage.predictedSeconds, times});
    total += stage.predictedSeconds;
  });
  for (Part &part : parts)
    part.share = parts.size() == 1 ? 1 : part.share / std::max(total, 1e-12);
  all.push_back(std::move(parts));
}

std::vector<Parts> partsOfStages(const Plan &plan) {
  std::vector<Parts> all;
  collectParts(plan, plan.root, 1, all);
  return all;
}

std::vector<std::vector<double>> timesOfKernels(const Plan &plan, const Runner &runner) {
  std::vector<std::vector<double>> seconds(plan.kernels.size());
  for (const auto &[parts, times] : llvm::zip(partsOfStages(plan), runner.stages()))
    for (const Part &part : parts) {
      seconds[part.kernel].resize(times.size(), 0);
      for (auto [sum, each] : llvm::zip(seconds[part.kernel], times))
        sum += part.share * each;
    }
  return seconds;
}

namespace {

class AsMeasured {
public:
  AsMeasured(Plan &plan, const Records &records, const RunKeys &keys,
             const search::ScheduleOptions &options)
      : plan(plan), records(records), keys(keys), options(options) {}

  void visit(const PlanNode &node, double times) {
    times *= node.predictedTimes();
    if (node.kind == PlanNode::Kind::Stage)
      price(plan.stages[node.stage], times);
    if (node.kind == PlanNode::Kind::Joined || node.kind == PlanNode::Kind::Lanes)
      return;
    for (const PlanNode &child : node.children)
      visit(child, times);
  }

private:
  void price(Stage &stage, double times) {
    if (stage.kind != Stage::Kind::Kernel)
      return;
    orchestrate::Kernel &kernel = plan.kernels[stage.kernel];
    std::optional<double> found = records.secondsOf(keys.ofKernel(kernel));
    if (!found)
      found = records.secondsOf(timingKeyOf(kernel, options));
    if (!found)
      return;
    plan.objectiveSeconds += times * (*found - stage.predictedSeconds);
    stage.predictedSeconds = kernel.predictedSeconds = *found;
  }

  Plan &plan;
  const Records &records;
  const RunKeys &keys;
  const search::ScheduleOptions &options;
};

} // namespace

void priceAsMeasured(Plan &plan, const Records &records, Hash128 model,
                     const search::ScheduleOptions &options) {
  RunKeys keys(model, plan, options);
  AsMeasured(plan, records, keys, options).visit(plan.root, 1);
  plan.objectiveSeconds = records.secondsOf(keys.whole()).value_or(plan.objectiveSeconds);
}

std::vector<unsigned> launchesAlone(const Plan &plan) {
  std::vector<unsigned> counts(plan.kernels.size(), 0);
  std::vector<bool> sharesLaunch(plan.kernels.size(), false);
  for (const Parts &parts : partsOfStages(plan))
    for (const Part &part : parts) {
      ++counts[part.kernel];
      sharesLaunch[part.kernel] = sharesLaunch[part.kernel] || parts.size() > 1;
    }
  for (auto [count, shares] : llvm::zip_equal(counts, sharesLaunch))
    if (shares)
      count = 0;
  return counts;
}

} // namespace kintsugi::tune
