#include "orchestrate/ways.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

using namespace te;

void Ways::add(const Form &form, const space::EqualParts &parts) {
  const Program &program = *form.program;
  struct Needing {
    std::set<uint32_t> items;
    std::set<unsigned> ways;
  };
  std::vector<Needing> needing(program.nodes.size()); ///< By node.
  for (uint32_t node : form.fixed)
    needing[node].items = {unknown};
  for (uint32_t node : llvm::reverse(form.definitions)) {
    unsigned number = parts.nodeOf(form.number, node);
    Needing &its = needing[node];
    if (form.makes[node]) {
      its = {{*form.makes[node]}, {number}};
    } else {
      auto [entry, isNew] = neededBy.try_emplace(number, its.items);
      if (!isNew && entry->second != its.items)
        entry->second.insert(unknown);
      for (unsigned way : its.ways)
        needs[way].insert(number);
      if (!its.items.empty())
        partsOf[*its.items.begin()].insert(number);
    }
    for (ValueId operand : program.operandsOf(node)) {
      const Value &value = program.value(operand);
      if (value.kind != ValueKind::Result || form.makes[value.node])
        continue;
      needing[value.node].items.insert(its.items.begin(), its.items.end());
      needing[value.node].ways.insert(its.ways.begin(), its.ways.end());
    }
  }
}

bool Ways::isPart(unsigned node) const {
  auto found = neededBy.find(node);
  return found != neededBy.end() && !found->second.empty() && !found->second.count(unknown);
}

std::vector<unsigned> Ways::sparedBy(unsigned node, uint32_t item) const {
  std::vector<unsigned> spared;
  auto all = partsOf.find(item);
  if (all == partsOf.end())
    return spared;
  auto own = needs.find(node);
  for (unsigned part : all->second)
    if (isPart(part) && (own == needs.end() || !own->second.count(part)))
      spared.push_back(part);
  return spared;
}

std::vector<unsigned> Ways::allParts() const {
  std::vector<unsigned> all;
  for (const auto &[part, ways] : neededBy)
    if (isPart(part))
      all.push_back(part);
  return all;
}

} // namespace kintsugi::orchestrate
