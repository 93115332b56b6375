#include "orchestrate/side_by_side.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::orchestrate {

using namespace te;
using Nodes = decltype(loops::Group::nodes);

static std::vector<Nodes> partsOf(const Program &program, const loops::Group &group) {
  std::vector<Nodes> parts;
  for (uint32_t node : group.nodes) {
    Nodes own{node};
    auto isRead = [&](const Nodes &part) {
      return llvm::any_of(program.operandsOf(node), [&](ValueId operand) {
        const Value &value = program.value(operand);
        return value.kind == ValueKind::Result && llvm::is_contained(part, value.node);
      });
    };
    for (const Nodes &part : parts)
      if (isRead(part))
        own.append(part.begin(), part.end());
    llvm::erase_if(parts, isRead);
    llvm::sort(own);
    parts.push_back(std::move(own));
  }
  return parts;
}

std::vector<llvm::SmallVector<size_t, 2>> partsSideBySide(const space::Space &space) {
  std::map<Nodes, size_t> known;
  for (auto [number, candidate] : llvm::enumerate(space.candidates))
    known.try_emplace(candidate.group.nodes, number);
  std::vector<llvm::SmallVector<size_t, 2>> all;
  for (const space::Candidate &candidate : space.candidates) {
    llvm::SmallVector<size_t, 2> &numbers = all.emplace_back();
    std::vector<Nodes> parts = partsOf(*space.program, candidate.group);
    for (const Nodes &part : parts)
      if (auto found = known.find(part); found != known.end())
        numbers.push_back(found->second);
    if (parts.size() < 2 || numbers.size() < parts.size())
      numbers.clear();
  }
  return all;
}

} // namespace kintsugi::orchestrate
