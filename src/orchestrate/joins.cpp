#include "orchestrate/joins.h"

#include "orchestrate/launch_sharing.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

namespace {

class Joiner {
public:
  Joiner(Plan &plan, const search::ScheduleOptions &options, explain::Log *log)
      : plan(plan), sharing(options), log(log) {}

  bool joinedAny = false;

  /// `times`: how often a run comes here.
  void visit(PlanNode &node, double times) {
    if (node.kind == PlanNode::Kind::Joined)
      return;
    times *= node.predictedTimes();
    for (PlanNode &child : node.children)
      visit(child, times);
    if (node.kind != PlanNode::Kind::Sequence)
      return;
    std::vector<PlanNode> children;
    llvm::SmallVector<unsigned> run;
    auto endRun = [&] {
      for (const Launch &launch : launchesOf(run))
        children.push_back(nodeOf(launch, run, times));
      run.clear();
    };
    for (PlanNode &child : node.children) {
      if (canJoin(child)) {
        run.push_back(child.stage);
        continue;
      }
      endRun();
      children.push_back(std::move(child));
    }
    endRun();
    node.children = std::move(children);
  }

private:
  const loops::KernelShape &shapeOf(unsigned stage) const {
    return *plan.kernels[plan.stages[stage].kernel].shape;
  }

  bool canJoin(const PlanNode &node) const {
    return node.kind == PlanNode::Kind::Stage &&
           plan.stages[node.stage].kind == Stage::Kind::Kernel &&
           sharing.canShare(shapeOf(node.stage));
  }

  static PlanNode stageNode(unsigned stage) {
    PlanNode node;
    node.kind = PlanNode::Kind::Stage;
    node.stage = stage;
    return node;
  }

  /// For each stage of a run, how many have to be over one after the other before it starts.
  std::vector<unsigned> levelsOf(llvm::ArrayRef<unsigned> run) const {
    struct Touched {
      unsigned written = 0, read = 0; ///< The first level after it.
    };
    llvm::DenseMap<unsigned, Touched> buffers;
    std::vector<unsigned> levels;
    for (unsigned number : run) {
      const Stage &stage = plan.stages[number];
      llvm::ArrayRef<unsigned> operands = stage.operands;
      unsigned level = 0;
      for (unsigned read : operands.drop_back(stage.results))
        level = std::max(level, buffers[read].written);
      for (unsigned result : operands.take_back(stage.results))
        level = std::max({level, buffers[result].written, buffers[result].read});
      for (unsigned read : operands.drop_back(stage.results))
        buffers[read].read = std::max(buffers[read].read, level + 1);
      for (unsigned result : operands.take_back(stage.results))
        buffers[result].written = level + 1;
      levels.push_back(level);
    }
    return levels;
  }

  std::vector<Launch> launchesOf(llvm::ArrayRef<unsigned> run) const {
    std::vector<unsigned> levels = levelsOf(run);
    std::vector<KernelRun> kernels;
    for (auto [number, level] : llvm::zip_equal(run, levels)) {
      const Stage &stage = plan.stages[number];
      kernels.push_back({&shapeOf(number), stage.operands.size(), stage.predictedSeconds, level});
    }
    return sharing.launchesOf(kernels);
  }

  PlanNode nodeOf(const Launch &launch, llvm::ArrayRef<unsigned> run, double times) {
    if (launch.numRuns() == 1)
      return stageNode(run[launch.phases.front().runs.front()]);
    joinedAny = true;
    PlanNode joined;
    joined.kind = PlanNode::Kind::Joined;
    for (const LaunchPhase &phase : launch.phases) {
      PlanNode &node = joined.children.emplace_back();
      if (phase.runs.size() == 1) {
        node = stageNode(run[phase.runs.front()]);
        continue;
      }
      for (unsigned number : phase.runs)
        node.children.push_back(stageNode(run[number]));
      note(phase, run);
    }
    joined.predictedSeconds = launch.seconds;
    plan.objectiveSeconds -= times * (launch.apart - launch.seconds);
    if (launch.phases.size() > 1)
      note(launch, run);
    return joined;
  }

  static std::string namesOf(const LaunchPhase &phase, llvm::ArrayRef<unsigned> run) {
    std::string names;
    for (unsigned number : phase.runs)
      names += (names.empty() ? "" : ", ") + std::to_string(run[number]);
    return names;
  }

  void note(const LaunchPhase &phase, llvm::ArrayRef<unsigned> run) const {
    if (log)
      log->add({"joins",
                "stages " + namesOf(phase, run),
                "side by side in one launch",
                {"none of them reads what another one writes"},
                {{"apart", phase.apart, "s"}, {"together", phase.together, "s"}}});
  }

  void note(const Launch &launch, llvm::ArrayRef<unsigned> run) const {
    if (!log)
      return;
    std::string names;
    for (const LaunchPhase &phase : launch.phases)
      names += (names.empty() ? "" : ", then ") + namesOf(phase, run);
    log->add({"joins",
              "stages " + names,
              "one launch whose blocks wait for each other",
              {"blocks wait for each other in less time than launches start"},
              {{"launches", launch.inTurn, "s"}, {"together", launch.seconds, "s"}}});
  }

  Plan &plan;
  LaunchSharing sharing;
  explain::Log *log;
};

} // namespace

void joinStages(Plan &plan, const search::ScheduleOptions &options, explain::Log *log) {
  Joiner joiner(plan, options, log);
  joiner.visit(plan.root, 1);
  if (joiner.joinedAny)
    assignArena(plan);
}

} // namespace kintsugi::orchestrate
