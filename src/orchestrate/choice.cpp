#include "orchestrate/choice.h"

#include "cost/cost.h"
#include "orchestrate/exhaustive.h"
#include "orchestrate/launch_columns.h"
#include "orchestrate/prices.h"
#include "orchestrate/side_by_side.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::orchestrate {

using namespace te;

namespace {

/// By definition; those that no candidate takes apart are one.
std::map<uint32_t, solve::ItemId>
addItems(const space::Space &space, llvm::ArrayRef<uint32_t> definitions, solve::Problem &problem) {
  std::map<uint32_t, std::vector<size_t>> candidatesWith;
  for (auto [number, candidate] : llvm::enumerate(space.candidates))
    for (uint32_t node : candidate.group.nodes)
      candidatesWith[node].push_back(number);
  std::map<uint32_t, solve::ItemId> items;
  std::map<std::vector<size_t>, solve::ItemId> known;
  for (uint32_t node : definitions) {
    auto [entry, isNew] = known.try_emplace(candidatesWith[node], 0);
    if (isNew)
      entry->second = problem.addItem("n" + std::to_string(node));
    items[node] = entry->second;
  }
  return items;
}

/// A call or a scan, at whatever it costs: what kernels wait for, and it for them.
solve::Column columnOfFixed(const Program &program, uint32_t node,
                            const std::map<uint32_t, solve::ResourceId> &resources,
                            solve::Problem &problem) {
  solve::Column column;
  column.name = "f" + std::to_string(node);
  column.covers.push_back(problem.addItem(column.name));
  for (ValueId operand : program.operandsOf(node))
    if (auto found = resources.find(operand.number);
        found != resources.end() && !llvm::is_contained(column.consumes, found->second))
      column.consumes.push_back(found->second);
  for (ValueId result : program.resultsOf(node))
    column.produces.push_back(resources.at(result.number));
  return column;
}

solve::Problem problemOf(const Program &program, const space::Space &space,
                         llvm::ArrayRef<uint32_t> definitions, const OrchestrateOptions &options) {
  const machine::Machine &machine = options.space.schedule.machine;
  solve::Problem problem;
  problem.name = program.name;
  std::map<uint32_t, solve::ItemId> items = addItems(space, definitions, problem);
  std::map<uint32_t, solve::ResourceId> resources;
  // Kernels of several outputs, and those that share a launch, may wait for each other through
  // calls and scans.
  llvm::SmallVector<uint32_t> nodes(definitions), fixed;
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    if (!std::holds_alternative<Definition>(program.nodes[node]))
      fixed.push_back(node);
  llvm::append_range(nodes, fixed);
  for (uint32_t node : nodes)
    for (ValueId result : program.resultsOf(node))
      resources[result.number] = problem.addResource("v" + std::to_string(result.number));
  for (auto [number, candidate] : llvm::enumerate(space.candidates)) {
    solve::Column column;
    column.name = "c" + std::to_string(number);
    column.cost = costOf(*candidate.kernel, machine);
    for (uint32_t node : candidate.group.nodes)
      if (solve::ItemId item = items.at(node); !llvm::is_contained(column.covers, item))
        column.covers.push_back(item);
    for (ValueId operand : candidate.operands) {
      auto resource = resources.find(operand.number);
      if (resource == resources.end())
        continue;
      bool written = llvm::is_contained(candidate.group.outputs, operand);
      (written ? column.produces : column.consumes).push_back(resource->second);
    }
    problem.addColumn(std::move(column));
  }
  for (uint32_t node : fixed)
    problem.addColumn(columnOfFixed(program, node, resources, problem));
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
  case PlanMode::Exhaustive:
    return solveExhaustively(problem);
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

/// The launches that candidates may share with others.
LaunchColumns launchesOf(const space::Space &space, solve::Problem &problem,
                         const OrchestrateOptions &options) {
  LaunchColumns launches(options.space, options.mergesLaunches);
  for (auto [number, candidate] : llvm::enumerate(space.candidates))
    launches.setKernel(solve::ColumnId(number), candidate);
  if (options.mergesLaunches)
    for (auto [number, parts] : llvm::enumerate(partsSideBySide(space)))
      if (!parts.empty())
        launches.addParts(problem, solve::ColumnId(number),
                          std::vector<solve::ColumnId>(parts.begin(), parts.end()));
  return launches;
}

void tellPricesOf(const Program &program, const space::Space &space, const LaunchColumns &launches,
                  const solve::Problem &problem, const solve::Solution &solution,
                  const OrchestrateOptions &options) {
  auto runs = [&](solve::ColumnId column) { return launches.runs(column); };
  auto describe = [&](solve::ColumnId column) {
    explain::ChoosableKernel launch;
    for (solve::ColumnId id : launches.kernelsOf(column)) {
      const space::Candidate &candidate = space.candidates[static_cast<size_t>(id)];
      describeKernel(program, candidate.group.nodes, candidate.group.outputs, launch);
    }
    return launch;
  };
  auto formsOf = [](solve::ColumnId) { return std::vector<size_t>(); };
  explain::Choice told;
  told.among = "kernels";
  tellPrices({problem, solution, options.priced, runs, describe, formsOf}, std::move(told),
             *options.log);
}

} // namespace

double costOf(const loops::KernelShape &kernel, const machine::Machine &machine) {
  constexpr double ofAByte = 1e-10; // More than the solver's tolerance for a few kilobytes.
  double bytes = kernel.schedule.bytesRead + kernel.schedule.bytesWritten;
  return cost::predictSeconds(kernel, machine) * microseconds + ofAByte * bytes;
}

Expected<Choice> choose(const Program &program, llvm::ArrayRef<uint32_t> definitions,
                        const OrchestrateOptions &options, OrchestrateTexts *texts) {
  Choice choice;
  if (definitions.empty())
    return choice;
  space::SpaceOptions spaceOptions = options.space;
  spaceOptions.fuse &= options.mode != PlanMode::Separate;
  spaceOptions.log = options.log;
  KINTSUGI_ASSIGN(choice.space, space::buildSpace(program, definitions, spaceOptions));
  solve::Problem problem = problemOf(program, choice.space, definitions, options);
  LaunchColumns launches = launchesOf(choice.space, problem, options);
  auto solveFrom = [&](const solve::Problem &its, llvm::ArrayRef<solve::ColumnId> start) {
    solve::SolverOptions solver = options.solver;
    solver.start = start;
    return solveWith(options.mode, its, solver);
  };
  bool looksForLaunches = options.mode == PlanMode::Search || options.mode == PlanMode::Exhaustive;
  KINTSUGI_ASSIGN(solve::Solution solution, looksForLaunches
                                                ? launches.solve(problem, {}, solveFrom)
                                                : solveFrom(problem, {}));
  if (texts) {
    texts->space = choice.space.print();
    texts->problem = problem.print();
  }
  if (solution.hasPlan())
    KINTSUGI_RETURN_IF_ERROR(problem.verify(solution));
  if (options.log && options.priced > 0 && options.mode == PlanMode::Search && solution.hasPlan())
    tellPricesOf(program, choice.space, launches, problem, solution, options);
  for (solve::ColumnId column : solution.columns) {
    if (!launches.runs(column))
      continue; // A call or a scan.
    ChosenLaunch &launch = choice.launches.emplace_back();
    for (const std::vector<solve::ColumnId> &phase : launches.phasesOf(column))
      launch.phases.emplace_back(phase.begin(), phase.end());
    launch.seconds = launches.secondsOf(column);
    choice.objective += launch.seconds;
  }
  // Costs have besides what breaks ties.
  double besides = solution.objective - choice.objective * microseconds;
  solution.objective -= besides;
  solution.bound = std::min(solution.objective, std::max(0.0, solution.bound - besides));
  note(options.log, problem, solution);
  if (!solution.hasPlan())
    return internalError("no plan was found: " + solution.reason);
  choice.gap = solution.gap;
  return choice;
}

} // namespace kintsugi::orchestrate
