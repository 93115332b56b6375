#include "orchestrate/ways.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

using namespace te;

void Ways::add(const Form &form, const space::EqualParts &parts) {
  struct Needing {
    std::set<uint32_t> items;
    std::set<unsigned> ways;
  };
  std::map<unsigned, Needing> needing; ///< By node of the programs together.
  std::set<unsigned> making;           ///< Nodes of the programs together that make an item.
  llvm::SmallVector<uint32_t> nodes = form.nodes();
  for (uint32_t node : nodes)
    if (!form.makes[node].empty())
      making.insert(parts.nodeOf(form.number, node));
  for (uint32_t node : llvm::reverse(nodes)) {
    unsigned number = parts.nodeOf(form.number, node);
    Needing its = needing[number];
    if (making.count(number))
      its = {{form.makes[node].begin(), form.makes[node].end()}, {number}};
    else
      addPart(number, its.items, its.ways);
    for (ValueId operand : form.program->operandsOf(node)) {
      const Value &value = form.program->value(operand);
      if (value.kind != ValueKind::Result)
        continue;
      unsigned made = parts.nodeOf(form.number, value.node);
      needing[made].items.insert(its.items.begin(), its.items.end());
      needing[made].ways.insert(its.ways.begin(), its.ways.end());
    }
  }
}

void Ways::addPart(unsigned part, const std::set<uint32_t> &items, const std::set<unsigned> &ways) {
  auto [entry, isNew] = neededBy.try_emplace(part, items);
  if (!isNew && entry->second != items)
    entry->second.insert(unknown);
  for (unsigned way : ways)
    needs[way].insert(part);
  if (!items.empty())
    byItem[*items.begin()].insert(part);
}

bool Ways::isPart(unsigned node) const {
  auto found = neededBy.find(node);
  return found != neededBy.end() && !found->second.empty() && !found->second.count(unknown);
}

std::vector<unsigned> Ways::partsOf(uint32_t item) const {
  auto found = byItem.find(item);
  std::vector<unsigned> parts;
  if (found != byItem.end())
    llvm::copy_if(found->second, std::back_inserter(parts),
                  [&](unsigned part) { return isPart(part); });
  return parts;
}

std::vector<unsigned> Ways::sparedBy(unsigned node, uint32_t item) const {
  std::vector<unsigned> spared = partsOf(item);
  if (auto own = needs.find(node); own != needs.end())
    llvm::erase_if(spared, [&](unsigned part) { return own->second.count(part) > 0; });
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
