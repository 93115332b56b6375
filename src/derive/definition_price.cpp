#include "derive/definition_price.h"

#include "cost/cost.h"
#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace kintsugi::derive {

using namespace te;

schedule::Group kernelGroup(const Program &program, const std::vector<bool> &constant,
                            llvm::ArrayRef<uint32_t> nodes, llvm::ArrayRef<ValueId> outputs) {
  schedule::Group group;
  group.nodes.assign(nodes.begin(), nodes.end());
  group.outputs.assign(outputs.begin(), outputs.end());
  for (uint32_t node : nodes)
    for (ValueId operand : program.operandsOf(node))
      if (te::isConstant(program, constant, operand) &&
          !llvm::is_contained(group.constants, operand))
        group.constants.push_back(operand);
  return group;
}

std::optional<space::KernelShape> kernelShape(const Program &program, const schedule::Group &group,
                                              const schedule::ScheduleOptions &options) {
  schedule::ScheduleResult result = schedule::scheduleGroup(program, group, options);
  if (!result.schedule)
    return std::nullopt;
  space::KernelShape kernel;
  kernel.schedule = std::move(*result.schedule);
  kernel.computeSeconds = result.computeSeconds;
  return kernel;
}

double kernelSeconds(const Program &program, const std::vector<bool> &constant, uint32_t node,
                     const schedule::ScheduleOptions &options, double *moving) {
  schedule::Group group = kernelGroup(program, constant, {node}, {program.resultsOf(node)[0]});
  std::optional<space::KernelShape> kernel = kernelShape(program, group, options);
  if (!kernel)
    return std::numeric_limits<double>::infinity();
  if (moving)
    *moving = (kernel->schedule.bytesRead + kernel->schedule.bytesWritten) /
              std::max(1e9, options.machine.memory().bytesPerSecondAll);
  return cost::predictSeconds(*kernel, options.machine);
}

} // namespace kintsugi::derive
