#include "orchestrate/joins.h"

#include "cost/cost.h"
#include "cost/margins.h"
#include "loops/block_memory.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

namespace {

/// Parameters of a launch are few, and each is an operand: half of their 4096 bytes, of which the
/// last few are not operands'.
constexpr size_t mostOperands = 248;

/// Stages that may share a launch.
struct Group {
  llvm::SmallVector<unsigned> stages;
  double apart = 0, together = 0; ///< Predicted seconds.
};

class Joiner {
public:
  Joiner(Plan &plan, const search::ScheduleOptions &options, explain::Log *log)
      : plan(plan), machine(options.machine), log(log) {
    limits.scratchBytes = options.scratchLimit;
    limits.ringBytes = options.ringLimit;
  }

  bool joinedAny = false;

  /// `times`: how often a run comes here.
  void visit(PlanNode &node, double times) {
    if (node.kind == PlanNode::Kind::Repeat)
      times *= static_cast<double>(node.count);
    for (PlanNode &child : node.children)
      visit(child, times);
    if (node.kind != PlanNode::Kind::Sequence)
      return;
    std::vector<PlanNode> children;
    llvm::SmallVector<unsigned> run;
    auto endRun = [&] {
      llvm::move(joinRun(run, times), std::back_inserter(children));
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
    if (node.kind != PlanNode::Kind::Stage || plan.stages[node.stage].kind != Stage::Kind::Kernel)
      return false;
    // Whole subgroups work, or none of one does.
    const loops::Schedule &schedule = shapeOf(node.stage).schedule;
    return schedule.threads > 0 && schedule.threads % machine.core.subgroup == 0 &&
           schedule.tiles() > 0 && schedule.blocks() == schedule.tiles();
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

  Group extended(const Group &group, unsigned stage) const {
    Group result = group;
    result.stages.push_back(stage);
    llvm::SmallVector<const loops::KernelShape *> shapes;
    for (unsigned each : result.stages)
      shapes.push_back(&shapeOf(each));
    result.apart += plan.stages[stage].predictedSeconds;
    result.together =
        result.stages.size() == 1 ? result.apart : cost::predictTogetherSeconds(shapes, machine);
    return result;
  }

  bool pays(const Group &group, unsigned stage, const Group &with) const {
    double alone = plan.stages[stage].predictedSeconds;
    return operandsOf(with) <= mostOperands && haveRoom(with) &&
           with.together <
               group.together + alone - cost::Margins().mergedLaunches * machine.stageSeconds;
  }

  /// A run as groups that follow each other: in the order of their levels where some are shared,
  /// otherwise as it was.
  std::vector<Group> grouped(llvm::ArrayRef<unsigned> run) {
    std::vector<unsigned> levels = levelsOf(run);
    std::vector<std::vector<Group>> byLevel;
    for (auto [stage, level] : llvm::zip_equal(run, levels)) {
      byLevel.resize(std::max<size_t>(byLevel.size(), level + 1));
      addTo(byLevel[level], stage);
    }
    bool any = llvm::any_of(byLevel, [](const std::vector<Group> &groups) {
      return llvm::any_of(groups, [](const Group &group) { return group.stages.size() > 1; });
    });
    std::vector<Group> phases;
    if (!any) {
      for (unsigned stage : run)
        phases.push_back(extended({}, stage));
      return phases;
    }
    for (const std::vector<Group> &groups : byLevel)
      for (const Group &group : groups) {
        phases.push_back(group);
        note(group);
      }
    return phases;
  }

  void addTo(std::vector<Group> &groups, unsigned stage) {
    for (Group &group : groups) {
      Group with = extended(group, stage);
      if (!pays(group, stage, with))
        continue;
      group = std::move(with);
      return;
    }
    groups.push_back(extended({}, stage));
  }

  cost::Phase phaseOf(const Group &group) const {
    cost::Phase phase;
    for (unsigned stage : group.stages)
      phase.push_back(&shapeOf(stage));
    return phase;
  }

  /// Whether a block has the registers and the shared memory that any of the kernels take.
  bool haveRoom(llvm::ArrayRef<Group> groups) const {
    llvm::SmallVector<const loops::KernelShape *> kernels;
    for (const Group &group : groups)
      kernels.append(phaseOf(group));
    loops::BlockMemory memory;
    for (const loops::KernelShape *kernel : kernels)
      memory.add(loops::memoryOf(kernel->schedule, machine.core.subgroup));
    return cost::mayShareLaunch(kernels) && memory.isWithin(limits);
  }

  /// Where each launch of a run of groups begins, so that all take the least time together; blocks
  /// wait between the groups of one.
  std::vector<size_t> launchesOf(llvm::ArrayRef<Group> groups) const {
    constexpr size_t mostPhases = 16;
    std::vector<cost::Phase> phases;
    llvm::transform(groups, std::back_inserter(phases),
                    [&](const Group &group) { return phaseOf(group); });
    std::vector<double> best(groups.size() + 1, 0);
    std::vector<size_t> begins(groups.size() + 1, 0);
    for (size_t end = 1; end <= groups.size(); ++end) {
      begins[end] = end - 1;
      best[end] = best[end - 1] + groups[end - 1].together;
      if (machine.barrierSeconds == 0)
        continue;
      size_t operands = operandsOf(groups[end - 1]);
      for (size_t begin = end - 1; begin-- > 0 && end - begin <= mostPhases;) {
        operands += operandsOf(groups[begin]);
        if (operands > mostOperands || !haveRoom(groups.slice(begin, end - begin)))
          break;
        double seconds = best[begin] + cost::Margins().mergedLaunches * machine.stageSeconds +
                         secondsOf(llvm::ArrayRef(phases).slice(begin, end - begin));
        if (seconds >= best[end])
          continue;
        best[end] = seconds;
        begins[end] = begin;
      }
    }
    std::vector<size_t> launches;
    for (size_t end = groups.size(); end > 0; end = begins[end])
      launches.insert(launches.begin(), begins[end]);
    return launches;
  }

  double secondsOf(llvm::ArrayRef<cost::Phase> phases) const {
    return cost::predictPhasesSeconds(phases, machine);
  }

  size_t operandsOf(const Group &group) const {
    size_t operands = 0;
    for (unsigned stage : group.stages)
      operands += plan.stages[stage].operands.size();
    return operands;
  }

  std::vector<PlanNode> joinRun(llvm::ArrayRef<unsigned> run, double times) {
    std::vector<Group> groups = grouped(run);
    std::vector<size_t> begins = launchesOf(groups);
    std::vector<PlanNode> nodes;
    for (size_t launch = 0; launch < begins.size(); ++launch) {
      size_t end = launch + 1 < begins.size() ? begins[launch + 1] : groups.size();
      auto its = llvm::ArrayRef(groups).slice(begins[launch], end - begins[launch]);
      nodes.push_back(nodeOf(its, times));
    }
    return nodes;
  }

  PlanNode nodeOf(llvm::ArrayRef<Group> groups, double times) {
    if (groups.size() == 1 && groups.front().stages.size() == 1)
      return stageNode(groups.front().stages.front());
    joinedAny = true;
    PlanNode joined;
    joined.kind = PlanNode::Kind::Joined;
    std::vector<cost::Phase> phases;
    double apart = 0, inTurn = 0;
    for (const Group &group : groups) {
      PlanNode &phase = joined.children.emplace_back();
      if (group.stages.size() == 1)
        phase = stageNode(group.stages.front());
      else
        llvm::transform(group.stages, std::back_inserter(phase.children), stageNode);
      phases.push_back(phaseOf(group));
      apart += group.apart;
      inTurn += group.together;
    }
    joined.predictedSeconds = groups.size() == 1 ? inTurn : secondsOf(phases);
    plan.objectiveSeconds -= times * (apart - joined.predictedSeconds);
    if (groups.size() > 1)
      note(groups, inTurn, joined.predictedSeconds);
    return joined;
  }

  static std::string namesOf(const Group &group) {
    std::string names;
    for (unsigned stage : group.stages)
      names += (names.empty() ? "" : ", ") + std::to_string(stage);
    return names;
  }

  void note(const Group &group) const {
    if (log && group.stages.size() > 1)
      log->add({"joins",
                "stages " + namesOf(group),
                "side by side in one launch",
                {"none of them reads what another one writes"},
                {{"apart", group.apart, "s"}, {"together", group.together, "s"}}});
  }

  void note(llvm::ArrayRef<Group> groups, double launches, double together) const {
    if (!log)
      return;
    std::string names;
    for (const Group &group : groups)
      names += (names.empty() ? "" : ", then ") + namesOf(group);
    log->add({"joins",
              "stages " + names,
              "one launch whose blocks wait for each other",
              {"blocks wait for each other in less time than launches start"},
              {{"launches", launches, "s"}, {"together", together, "s"}}});
  }

  Plan &plan;
  const machine::Machine &machine;
  loops::BlockLimits limits;
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
