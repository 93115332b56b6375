#include "orchestrate/choice.h"

#include "cost/cost.h"
#include "cost/margins.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::orchestrate {

using namespace te;

namespace {

/// Costs are in microseconds in the problem, so that its text is readable.
constexpr double microseconds = 1e6;

/// Launches are merged after candidates are chosen: what doesn't wait for each other then runs side
/// by side. Candidates that put such parts one behind the other are compared with that here.
class SideBySide {
public:
  SideBySide(const Program &program, const space::Space &space, const machine::Machine &machine)
      : program(program), machine(machine) {
    for (const space::Candidate &candidate : space.candidates)
      known.try_emplace(candidate.group.nodes, &candidate);
  }

  /// Whether its parts, which read nothing of each other, are as quick in a launch that they share.
  bool isAsQuick(const space::Candidate &candidate) const {
    llvm::SmallVector<const space::KernelShape *> kernels;
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
  using Nodes = decltype(schedule::Group::nodes);

  std::vector<Nodes> partsOf(const schedule::Group &group) const {
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

solve::Problem problemOf(const Program &program, const space::Space &space,
                         llvm::ArrayRef<uint32_t> definitions, const machine::Machine &machine) {
  solve::Problem problem;
  problem.name = program.name;
  std::map<uint32_t, solve::ItemId> items;
  std::map<uint32_t, solve::ResourceId> resources;
  // Values that other nodes (calls, scans) bring are there when they are needed: the planner orders
  // them. What the definitions bring among themselves is a row of the problem.
  for (uint32_t node : definitions) {
    items[node] = problem.addItem("n" + std::to_string(node));
    for (ValueId result : program.resultsOf(node))
      resources[result.number] = problem.addResource("v" + std::to_string(result.number));
  }
  for (auto [number, candidate] : llvm::enumerate(space.candidates)) {
    solve::Column column;
    column.name = "c" + std::to_string(number);
    column.cost = cost::predictSeconds(*candidate.kernel, machine) * microseconds;
    for (uint32_t node : candidate.group.nodes)
      column.covers.push_back(items.at(node));
    for (ValueId operand : candidate.operands) {
      auto resource = resources.find(operand.number);
      if (resource == resources.end())
        continue;
      bool written = llvm::is_contained(candidate.group.outputs, operand);
      (written ? column.produces : column.consumes).push_back(resource->second);
    }
    problem.addColumn(std::move(column));
  }
  return problem;
}

Expected<solve::Solution> solveWith(PlanMode mode, const solve::Problem &problem,
                                    const solve::SolverOptions &options) {
  switch (mode) {
  case PlanMode::Search:
    return solve::solveCbc(problem, options);
  case PlanMode::Greedy:
    return solve::solveGreedy(problem, options);
  case PlanMode::Separate:
    return solve::solveSeparate(problem, options);
  }
  return internalError("an unknown plan mode");
}

void note(explain::Log *log, const solve::Problem &problem, const solve::Solution &solution) {
  if (!log)
    return;
  explain::Record record{
      "orchestrate", "program '" + problem.name + "'", solve::statusName(solution.status), {}, {}};
  if (solution.outOfFuel)
    record.reasons.push_back("the solver ran out of fuel");
  if (!solution.reason.empty())
    record.reasons.push_back(solution.reason);
  record.numbers = {{"objective", solution.objective / microseconds, "s"},
                    {"bound", solution.bound / microseconds, "s"},
                    {"gap", solution.gap, ""},
                    {"cuts", static_cast<double>(solution.cuts), ""},
                    {"nodes", static_cast<double>(solution.nodes), ""},
                    {"iterations", static_cast<double>(solution.iterations), ""}};
  log->add(std::move(record));
}

} // namespace

Expected<Choice> choose(const Program &program, llvm::ArrayRef<uint32_t> definitions,
                        const OrchestrateOptions &options, OrchestrateTexts *texts) {
  Choice choice;
  if (definitions.empty())
    return choice;
  space::SpaceOptions spaceOptions = options.space;
  spaceOptions.fuse &= options.mode != PlanMode::Separate;
  spaceOptions.log = options.log;
  KINTSUGI_ASSIGN(choice.space, space::buildSpace(program, definitions, spaceOptions));
  if (options.mergesLaunches) {
    SideBySide sideBySide(program, choice.space, options.space.schedule.machine);
    std::vector<bool> isAsQuick;
    for (const space::Candidate &candidate : choice.space.candidates)
      isAsQuick.push_back(sideBySide.isAsQuick(candidate));
    size_t number = 0;
    llvm::erase_if(choice.space.candidates, [&](const auto &) { return isAsQuick[number++]; });
  }
  solve::Problem problem =
      problemOf(program, choice.space, definitions, options.space.schedule.machine);
  if (texts) {
    texts->space = choice.space.print();
    texts->problem = problem.print();
  }
  KINTSUGI_ASSIGN(solve::Solution solution, solveWith(options.mode, problem, options.solver));
  note(options.log, problem, solution);
  if (!solution.hasPlan())
    return internalError("no plan was found: " + solution.reason);
  KINTSUGI_RETURN_IF_ERROR(problem.verify(solution));
  for (solve::ColumnId column : solution.columns)
    choice.candidates.push_back(column);
  choice.objective = solution.objective / microseconds;
  choice.gap = solution.gap;
  return choice;
}

} // namespace kintsugi::orchestrate
