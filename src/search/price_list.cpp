#include "search/price_list.h"

#include "cost/cost.h"
#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::search {

using namespace cost;
using namespace loops;
using namespace te;

loops::Group kernelGroup(const Program &program, const std::vector<bool> &constant,
                         llvm::ArrayRef<uint32_t> nodes, llvm::ArrayRef<ValueId> outputs) {
  loops::Group group;
  group.nodes.assign(nodes.begin(), nodes.end());
  group.outputs.assign(outputs.begin(), outputs.end());
  for (uint32_t node : nodes)
    for (ValueId operand : program.operandsOf(node))
      if (isConstant(program, constant, operand) && !llvm::is_contained(group.constants, operand))
        group.constants.push_back(operand);
  return group;
}

PriceList::PriceList(const ScheduleOptions &given, unsigned fuel, PriceMemo *memo)
    : options(given), fuel(fuel), memo(memo) {
  if (!options.choiceMemo)
    options.choiceMemo = &choices;
}

PriceList::Kernel PriceList::kernelOf(const Program &program, const loops::Group &group) {
  loops::GroupKey key = loops::keyOf(program, group);
  if (auto found = kernels.find(key.text); found != kernels.end())
    return found->second;
  if (!fuel.take())
    return nullptr;
  auto make = [&] { return scheduled(program, group, key); };
  Kernel kernel = memo ? memo->at(key.text, make) : make();
  return kernels.emplace(std::move(key.text), std::move(kernel)).first->second;
}

PriceList::Kernel PriceList::scheduled(const Program &program, const loops::Group &group,
                                       const loops::GroupKey &key) const {
  ScheduleResult result = scheduleGroup(program, group, options);
  if (!result.schedule)
    return nullptr;
  return std::make_shared<loops::KernelShape>(loops::KernelShape{
      key, std::move(*result.schedule), result.computeSeconds, result.point, {}});
}

double PriceList::secondsOf(const Program &program, const loops::Group &group) {
  Kernel kernel = kernelOf(program, group);
  return kernel ? predictSeconds(*kernel, options.machine)
                : std::numeric_limits<double>::infinity();
}

double PriceList::secondsOf(const Program &program, const std::vector<bool> &constant,
                            uint32_t node) {
  return secondsOf(program, kernelGroup(program, constant, {node}, {program.resultsOf(node)[0]}));
}

} // namespace kintsugi::search
