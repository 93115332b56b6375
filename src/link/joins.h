//===- joins.h - Launches that several stages share ----------------------------===//
//
// What a plan's joined nodes become: each is one stage of the manifest with the operands of all its
// parts, and runs an entry that equal ones share.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LINK_JOINS_H
#define KINTSUGI_LINK_JOINS_H

#include "orchestrate/plan.h"
#include "tile/launch.h"

#include <map>

namespace kintsugi::link {

struct JoinedStage {
  orchestrate::Stage stage; ///< Its operands are the launch's; its kernel is none.
  std::string symbol;
  uint64_t tiles = 0, scratchBytes = 0;
  uint32_t threads = 0;
  std::vector<unsigned> parts; ///< The plan's stages, as the entry numbers them.
  bool meets = false;          ///< Has phases between which its blocks wait for each other.
};

class Joins {
public:
  /// Of the main program.
  explicit Joins(const orchestrate::Plan &plan);

  /// Of a node of that plan's tree.
  const JoinedStage &of(const orchestrate::PlanNode &joined) const { return stages.at(&joined); }

  /// The distinct entries.
  std::vector<tile::Launch> entries;

private:
  void visit(const orchestrate::PlanNode &node);
  void add(const orchestrate::PlanNode &joined);

  const orchestrate::Plan &plan;
  std::map<const orchestrate::PlanNode *, JoinedStage> stages;
};

/// Of the kernels that stages below a node run in launches of their own.
std::vector<tile::Launch> launchesOfKernels(const orchestrate::Plan &plan,
                                            const orchestrate::PlanNode &node);

/// All of the main program: kernels' own, then those that several share; each knows what comes
/// behind it.
std::vector<tile::Launch> launchesOf(const orchestrate::Plan &plan);

} // namespace kintsugi::link

#endif // KINTSUGI_LINK_JOINS_H
