#include "layout/definition_costs.h"

#include "cost/cost.h"
#include "te/constant_nodes.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace kintsugi::layout {

using namespace te;

static constexpr double impossible = std::numeric_limits<double>::infinity();

/// How a nest uses registers doesn't depend on how it is cut into tiles for several cores, and one
/// tile is scheduled much faster than many tilings. A block of threads waits more than it works, so
/// that what it takes is no share of what all take.
static search::ScheduleOptions ofOneTile(search::ScheduleOptions options) {
  if (options.machine.threads == 0)
    options.machine.cores = 1;
  return options;
}

DefinitionCosts::DefinitionCosts(const Program &program, const search::ScheduleOptions &schedule,
                                 unsigned fuel, search::PriceMemo *memo)
    : program(program), cores(schedule.machine.threads > 0 ? 1 : schedule.machine.cores),
      prices(ofOneTile(schedule), fuel, memo), constant(te::constantNodes(program)) {}

/// Whether the dimensions of a read move one to one with the result's, in the order in which the
/// result's lie in memory, down to the innermost one; dimensions of one element lie anywhere.
static bool inStoredOrder(llvm::ArrayRef<Index> stored, llvm::ArrayRef<Extent> shape,
                          const Order &order, unsigned parallel) {
  int last = -1;
  for (unsigned p = 0; p < stored.size(); ++p) {
    if (shape[order.empty() ? p : order[p]].constant() == 1)
      continue;
    Index moved = stored[p] - Index(stored[p].constantTerm());
    int iterator = moved.asIterator();
    if (iterator <= last || iterator >= static_cast<int>(parallel))
      return false;
    last = iterator;
  }
  return last == static_cast<int>(parallel) - 1;
}

bool DefinitionCosts::followsOperands(const Definition &definition, OrderOf orderOf) const {
  if (definition.reduction)
    return false;
  bool follows = true;
  for (const Expr &body : definition.bodies)
    body.walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read && !te::isConstant(program, constant, e.readValue()))
        follows &= inStoredOrder(e.readIndices(), program.shape(e.readValue()),
                                 orderOf(e.readValue()), definition.parallel.size());
    });
  return follows;
}

double DefinitionCosts::seconds(uint32_t node, OrderOf orderOf) {
  Definition changed = reorder(std::get<Definition>(program.nodes[node]), orderOf);
  if (followsOperands(changed, orderOf))
    return 0;
  Subprogram alone(program);
  loops::Group group;
  for (ValueId operand : program.operandsOf(node)) {
    ValueId input =
        alone.addInput(operand, permuted(program.value(operand).shape, orderOf(operand)));
    if (te::isConstant(program, constant, operand))
      group.constants.push_back(input);
  }
  group.nodes = {0};
  group.outputs = alone.define(node, std::move(changed));
  search::PriceList::Kernel kernel = prices.kernelOf(alone.program, group);
  return kernel ? cost::roughSharedSeconds(*kernel, cores, prices.machine()) : impossible;
}

} // namespace kintsugi::layout
