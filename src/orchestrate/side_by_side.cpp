#include "orchestrate/side_by_side.h"

#include "cost/cost.h"
#include "cost/margins.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::orchestrate {

using namespace te;

namespace {

class SideBySide {
public:
  SideBySide(const space::Space &space, const machine::Machine &machine)
      : program(*space.program), machine(machine) {
    for (const space::Candidate &candidate : space.candidates)
      known.try_emplace(candidate.group.nodes, &candidate);
  }

  /// Whether its parts, which read nothing of each other, are as quick in a launch that they share.
  bool isAsQuick(const space::Candidate &candidate) const {
    llvm::SmallVector<const loops::KernelShape *> kernels;
    double inTurn = 0;
    for (const Nodes &part : partsOf(candidate.group)) {
      auto found = known.find(part);
      if (found == known.end())
        return false;
      kernels.push_back(found->second->kernel.get());
      inTurn += cost::predictSeconds(*kernels.back(), machine);
    }
    if (kernels.size() < 2 || !cost::mayShareLaunch(kernels))
      return false;
    double together = cost::predictTogetherSeconds(kernels, machine);
    return together <= cost::predictSeconds(*candidate.kernel, machine) &&
           together < inTurn - cost::Margins().mergedLaunches * machine.stageSeconds;
  }

private:
  using Nodes = decltype(loops::Group::nodes);

  std::vector<Nodes> partsOf(const loops::Group &group) const {
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

  const Program &program;
  const machine::Machine &machine;
  std::map<Nodes, const space::Candidate *> known;
};

} // namespace

void leaveOutSideBySide(space::Space &space, const machine::Machine &machine) {
  SideBySide sideBySide(space, machine);
  std::vector<bool> isAsQuick;
  for (const space::Candidate &candidate : space.candidates)
    isAsQuick.push_back(sideBySide.isAsQuick(candidate));
  size_t number = 0;
  llvm::erase_if(space.candidates, [&](const auto &) { return isAsQuick[number++]; });
}

} // namespace kintsugi::orchestrate
