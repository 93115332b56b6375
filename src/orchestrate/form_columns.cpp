#include "orchestrate/form_columns.h"

#include "base/hash.h"
#include "cost/cost.h"
#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

using namespace te;

/// Of constants that nodes read, each by itself, as columns take them: what several read,
/// which te::bytesOfConstants has once, counts for each.
static double bytesOfConstants(const Form &form) {
  double bytes = 0;
  for (uint32_t node : form.nodes())
    for (ValueId operand : form.program->operandsOf(node))
      if (te::isConstant(*form.program, form.constant, operand))
        bytes += double(form.program->value(operand).bytes());
  return bytes;
}

void FormColumns::start(const std::deque<Form> &forms, const Form &preferred) {
  const Form &first = forms[0];
  for (uint32_t node : preferred.nodes())
    preferredNodes.insert(parts.nodeOf(preferred.number, node));
  addItems(forms);
  findKinds(forms);
  for (const Program::Output &output : first.program->outputs)
    if (!first.isGiven(output.value))
      problem.setOutput(resourceOf(parts.valueOf(first.number, output.value)));
  for (const Form &form : forms)
    addNothing(form);
  problem.room =
      std::max(cost::roomForConstants(bytesOfConstants(first)), bytesOfConstants(preferred));
}

void FormColumns::addItems(const std::deque<Form> &forms) {
  for (const auto &makes : forms[0].makes)
    for (uint32_t item : makes)
      items[item] = problem.addItem("i" + std::to_string(item));
  for (const Form &form : forms)
    ways.add(form, parts);
  for (unsigned part : ways.allParts())
    partItems[part] = problem.addItem("p" + std::to_string(part));
}

/// Values of the first program and of parts come with their items, others have rows of their own.
solve::ResourceId FormColumns::resourceOf(unsigned value) {
  auto [entry, isNew] = resources.try_emplace(value, 0);
  if (isNew)
    entry->second =
        problem.addResource("v" + std::to_string(value), value < hasItem.size() && hasItem[value]
                                                             ? solve::ResourceKind::Value
                                                             : solve::ResourceKind::Derived);
  return entry->second;
}

void FormColumns::findKinds(const std::deque<Form> &forms) {
  hasItem.resize(parts.numValues(), false);
  std::set<uint32_t> gone;
  for (const Form &form : forms)
    gone.insert(form.without.begin(), form.without.end());
  for (const auto &[item, id] : items)
    if (!gone.count(item))
      hasItem[parts.valueOf(0, {item})] = true;
  for (const Form &form : forms)
    for (uint32_t node : form.nodes())
      if (ways.isPart(parts.nodeOf(form.number, node)))
        for (ValueId result : form.program->resultsOf(node))
          hasItem[parts.valueOf(form.number, result)] = true;
}

void FormColumns::consume(const Form &form, ValueId id, solve::Column &column) {
  if (form.isGiven(id))
    return;
  solve::ResourceId resource = resourceOf(parts.valueOf(form.number, id));
  if (!llvm::is_contained(column.consumes, resource) &&
      !llvm::is_contained(column.produces, resource))
    column.consumes.push_back(resource);
}

void FormColumns::addNothing(const Form &form) {
  for (uint32_t item : form.without) {
    if (!dispensable.insert(item).second)
      continue;
    solve::Column column;
    column.name = "without i" + std::to_string(item);
    column.covers.push_back(items.at(item));
    for (unsigned part : ways.partsOf(item))
      column.covers.push_back(partItems.at(part));
    problem.addColumn(std::move(column));
    sources.push_back({nullptr});
    ofPreferred.push_back(true);
  }
}

solve::ColumnId FormColumns::add(const Form &form, const Work &work) {
  solve::Column column;
  llvm::SmallVector<unsigned> nodes;
  bool isOfPreferred = true;
  for (uint32_t node : work.nodes) {
    nodes.push_back(parts.nodeOf(form.number, node));
    isOfPreferred &= preferredNodes.count(nodes.back()) > 0;
    cover(form, node, column);
  }
  for (ValueId result : work.results)
    column.produces.push_back(resourceOf(parts.valueOf(form.number, result)));
  auto sortedOnce = [](auto &numbers) {
    llvm::sort(numbers);
    numbers.erase(llvm::unique(numbers), numbers.end());
  };
  sortedOnce(nodes);
  sortedOnce(column.covers);
  sortedOnce(column.produces);
  for (ValueId operand : work.operands)
    consume(form, operand, column);
  Hasher key("work of forms");
  key.addRange(nodes).addRange(column.covers).addRange(column.produces);
  auto [entry, isNew] = known.try_emplace(key.finish(), solve::ColumnId(problem.columns.size()));
  if (!isNew)
    return entry->second;
  column.name = "c" + std::to_string(problem.columns.size());
  column.cost = isOfPreferred ? work.cost : work.cost * (1 + work.margin);
  column.takes = work.constants;
  problem.addColumn(std::move(column));
  sources.push_back({&form, llvm::SmallVector<uint32_t, 4>(work.nodes),
                     llvm::SmallVector<ValueId, 4>(work.results)});
  ofPreferred.push_back(isOfPreferred);
  return entry->second;
}

/// Adds the items of a node, and the parts that are none where it makes them.
void FormColumns::cover(const Form &form, uint32_t node, solve::Column &column) const {
  unsigned number = parts.nodeOf(form.number, node);
  for (uint32_t item : llvm::concat<const uint32_t>(form.makes[node], form.absorbs[node])) {
    column.covers.push_back(items.at(item));
    for (unsigned part : ways.sparedBy(number, item))
      column.covers.push_back(partItems.at(part));
  }
  if (auto part = partItems.find(number); part != partItems.end())
    column.covers.push_back(part->second);
}

void FormColumns::addLaunches(const LaunchColumns &launches) {
  while (sources.size() < problem.columns.size()) {
    solve::ColumnId id = solve::ColumnId(sources.size());
    sources.push_back({nullptr});
    ofPreferred.push_back(llvm::all_of(
        launches.kernelsOf(id), [&](solve::ColumnId kernel) { return isPreferred(kernel); }));
  }
}

} // namespace kintsugi::orchestrate
