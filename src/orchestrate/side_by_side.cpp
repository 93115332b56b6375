#include "orchestrate/side_by_side.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::orchestrate {

using namespace te;
using Nodes = decltype(loops::Group::nodes);

/// By node: those whose results it reads.
static std::vector<Nodes> producersIn(const Program &program) {
  std::vector<Nodes> producers(program.nodes.size());
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    for (ValueId operand : program.operandsOf(node))
      if (program.value(operand).kind == ValueKind::Result)
        producers[node].push_back(program.value(operand).node);
  return producers;
}

/// Of the nodes of a group, those that read each other, in program order.
static std::vector<Nodes> partsOf(llvm::ArrayRef<uint32_t> group, llvm::ArrayRef<Nodes> producers) {
  llvm::IntEqClasses parts(unsigned(group.size()));
  for (auto [place, node] : llvm::enumerate(group))
    for (uint32_t producer : producers[node])
      if (auto found = llvm::lower_bound(group, producer);
          found != group.end() && *found == producer)
        parts.join(unsigned(place), unsigned(found - group.begin()));
  parts.compress();
  std::vector<Nodes> nodes(parts.getNumClasses());
  for (auto [place, node] : llvm::enumerate(group))
    nodes[parts[unsigned(place)]].push_back(node);
  return nodes;
}

std::vector<llvm::SmallVector<size_t, 2>> partsSideBySide(const space::Space &space) {
  std::vector<Nodes> producers = producersIn(*space.program);
  std::map<Nodes, size_t> known;
  for (auto [number, candidate] : llvm::enumerate(space.candidates))
    known.try_emplace(candidate.group.nodes, number);
  std::vector<llvm::SmallVector<size_t, 2>> all;
  for (const space::Candidate &candidate : space.candidates) {
    llvm::SmallVector<size_t, 2> &numbers = all.emplace_back();
    std::vector<Nodes> parts = partsOf(candidate.group.nodes, producers);
    if (parts.size() < 2)
      continue;
    for (const Nodes &part : parts)
      if (auto found = known.find(part); found != known.end())
        numbers.push_back(found->second);
    if (numbers.size() < parts.size())
      numbers.clear();
  }
  return all;
}

} // namespace kintsugi::orchestrate
