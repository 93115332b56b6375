#include "orchestrate/scan_prices.h"

#include "base/hash.h"
#include "orchestrate/joins.h"
#include "te/constant_nodes.h"
#include "te/hash.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

using namespace te;

ScanPrices::ScanPrices(const OrchestrateOptions &its) : options(its) {
  options.log = nullptr;
  options.space.log = nullptr;
  options.priced = 0;
}

static const Scan &scanOf(const Form &form, uint32_t node) {
  return std::get<Scan>(form.program->nodes[node]);
}

Expected<double> ScanPrices::secondsOf(const Form &form, llvm::ArrayRef<uint32_t> scans) {
  if (scans.size() > 1)
    return plannedSeconds(form, scans);
  const Scan &scan = scanOf(form, scans[0]);
  if (scan.trip.constant() == 0)
    return 0.0;
  if (scan.goesOnWhile)
    return plannedSeconds(form, scans);
  double steps = double(scan.trip.constant());
  Hasher key("step of scan");
  key.add(hashOf(*scan.body));
  for (ValueId captured : scan.captured)
    key.add(te::isConstant(*form.program, form.constant, captured));
  Hash128 step = key.finish();
  if (!ofStep.count(step)) {
    KINTSUGI_ASSIGN(double seconds, plannedSeconds(form, scans));
    ofStep[step] = seconds / steps;
  }
  return steps * ofStep.at(step);
}

Expected<double> ScanPrices::plannedSeconds(const Form &form,
                                            llvm::ArrayRef<uint32_t> scans) const {
  Subprogram alone(*form.program,
                   [&](ValueId id) { return te::isConstant(*form.program, form.constant, id); });
  for (uint32_t scan : scans)
    alone.addOutputs(alone.copy(scan));
  KINTSUGI_ASSIGN(Plan plan, orchestrate(alone.program, options));
  if (options.mergesLaunches)
    joinStages(plan, options.space.schedule, nullptr);
  return plan.objectiveSeconds;
}

std::vector<llvm::SmallVector<uint32_t>> meetingScans(const Form &form) {
  const Program &program = *form.program;
  std::vector<unsigned> levels(program.numValues(), 0); ///< Scans one after the other before it.
  std::vector<llvm::SmallVector<uint32_t>> byLevel;
  for (uint32_t node : form.nodes()) {
    unsigned level = 0;
    for (ValueId operand : program.operandsOf(node))
      level = std::max(level, levels[operand.number]);
    bool isScan = std::holds_alternative<Scan>(program.nodes[node]);
    for (ValueId result : program.resultsOf(node))
      levels[result.number] = level + isScan;
    if (!isScan)
      continue;
    if (level >= byLevel.size())
      byLevel.resize(level + 1);
    byLevel[level].push_back(node);
  }
  llvm::erase_if(byLevel, [](const auto &scans) { return scans.size() < 2; });
  return byLevel;
}

} // namespace kintsugi::orchestrate
