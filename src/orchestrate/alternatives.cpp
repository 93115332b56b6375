#include "orchestrate/alternatives.h"

#include "base/parallel.h"
#include "orchestrate/choice.h"
#include "orchestrate/conversions.h"
#include "orchestrate/exhaustive.h"
#include "orchestrate/form_columns.h"
#include "orchestrate/launch_columns.h"
#include "orchestrate/prices.h"
#include "orchestrate/program_of_parts.h"
#include "orchestrate/scan_prices.h"
#include "orchestrate/side_by_side.h"
#include "te/constant_nodes.h"
#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <limits>
#include <map>
#include <set>

namespace kintsugi::orchestrate {

using namespace te;

namespace {

constexpr int64_t mostNodes = 10; ///< Cuts close most gaps at the root, without branching.

/// Of mixtures that are taken for forms: so many, each by so much quicker than the one before.
constexpr unsigned mostRounds = 3;
constexpr double worthARound = 0.002;

class Chooser {
public:
  Chooser(const Alternatives &alternatives, const OrchestrateOptions &options)
      : programs(alternatives.programs), preferred(alternatives.preferred),
        margin(alternatives.margin), scanMargin(alternatives.scanMargin), names(alternatives.names),
        options(options), scanPrices(options), launches(options.space, options.mergesLaunches) {}

  Expected<ChosenProgram> run() {
    problem.name = programs[0]->name;
    for (const Program *program : programs)
      parts.add(*program); // What any of them knows of a value holds for all.
    forms.push_back(firstForm(*programs[0], parts));
    for (size_t number = 1; number < programs.size(); ++number)
      addForm(*programs[number], number, "form " + std::to_string(number));
    auto form = llvm::find_if(forms, [&](const Form &form) { return form.number == preferred; });
    if (form == forms.end()) // Nothing can be mixed with it.
      return whole(*programs[preferred]);
    columns.start(forms, *form);
    for (const Form &form : forms)
      KINTSUGI_RETURN_IF_ERROR(tried(form, addScansAndCalls(form)));
    KINTSUGI_RETURN_IF_ERROR(addKernelsOfForms());
    KINTSUGI_RETURN_IF_ERROR(choosePreferred());
    KINTSUGI_RETURN_IF_ERROR(addConversions());
    for (unsigned round = 1;; ++round) {
      KINTSUGI_ASSIGN(ChosenProgram chosen, choose());
      if (round == mostRounds || !isNew(chosen) || chosen.objective >= least * (1 - worthARound))
        return result(std::move(chosen));
      // Kernels of what was chosen in different forms are kernels of the mixture.
      least = chosen.objective;
      const Program &mixture = mixtures.emplace_back(chosen.program);
      parts.add(mixture);
      if (!addForm(mixture, parts.numPrograms() - 1, "mixture " + std::to_string(round)))
        return result(std::move(chosen));
      columns.addNothing(forms.back());
      KINTSUGI_RETURN_IF_ERROR(tried(forms.back(), addScansAndCalls(forms.back())));
      KINTSUGI_RETURN_IF_ERROR(
          addKernelsOf(forms.back(), spaceOf(forms.back(), true, options.space.threads)));
    }
  }

private:
  /// Whether it can be mixed with the first.
  bool addForm(const Program &program, size_t number, const std::string &name) {
    std::string reason;
    std::optional<Form> form = formBeside(forms[0], program, number, parts, reason);
    if (form)
      forms.push_back(std::move(*form));
    else if (options.log)
      options.log->add(
          {"alternatives", name + " of program '" + problem.name + "'", "left out", {reason}, {}});
    return form.has_value();
  }

  ChosenProgram whole(const Program &program) const {
    return {program, {program.nodes.size(), {preferred}}, 0, 0, problems};
  }

  ChosenProgram result(ChosenProgram chosen) const {
    if (options.log && options.priced > 0 && options.mode == PlanMode::Search)
      tellPricesOfForms();
    for (llvm::SmallVector<size_t, 4> &sources : chosen.sources)
      llvm::erase_if(sources, [&](size_t number) { return number >= programs.size(); });
    chosen.problems = problems;
    return chosen;
  }

  /// Copies between the orders in which forms have values: optional columns.
  Status addConversions() {
    Orders orders;
    for (const Form &form : forms)
      addOrders(*form.program, orders);
    std::set<std::pair<uint32_t, Order>> done;
    for (const Form &form : forms) {
      Converted converted = withConversions(*form.program, orders, done);
      if (converted.conversions.empty())
        continue;
      mixtures.push_back(std::move(converted.program));
      Form &its = conversions.emplace_back();
      its.program = &mixtures.back();
      its.number = parts.numPrograms();
      its.definitions = converted.conversions;
      its.constant = te::constantNodes(*its.program);
      llvm::erase_if(its.definitions, [&](uint32_t node) { return its.constant[node]; });
      its.makes.resize(its.program->nodes.size());
      its.absorbs.resize(its.program->nodes.size());
      parts.add(*its.program);
      KINTSUGI_ASSIGN(its.space, spaceOf(its, false, options.space.threads));
      addKernels(its);
    }
    return Status::success();
  }

  /// What the preferred form's own plan would be, where it has one: the others start from it.
  Status choosePreferred() {
    solve::Problem own;
    own.name = problem.name;
    own.room = problem.room;
    own.items = problem.items;
    own.resources = problem.resources;
    std::vector<solve::ColumnId> ids;
    for (auto [id, column] : llvm::enumerate(problem.columns))
      if (columns.isPreferred(solve::ColumnId(id))) {
        own.addColumn(column);
        ids.push_back(solve::ColumnId(id));
      }
    auto solveFrom = [&](const solve::Problem &its, llvm::ArrayRef<solve::ColumnId> from) {
      solve::SolverOptions solver = options.solver;
      solver.start = from;
      return solve::solveCbc(its, solver);
    };
    LaunchColumns its = launches.within(ids);
    KINTSUGI_ASSIGN(solve::Solution solution, its.solve(own, {}, solveFrom));
    start = launches.take(problem, its, ids, solution.columns);
    columns.addLaunches(launches);
    tellChosen(start);
    return Status::success();
  }

  Expected<ChosenProgram> choose() {
    bool looksAtAll = options.mode == PlanMode::Exhaustive;
    auto solveFrom = [&](const solve::Problem &its, llvm::ArrayRef<solve::ColumnId> from) {
      solve::SolverOptions solver = options.solver;
      solver.nodes = std::min(solver.nodes, mostNodes);
      solver.start = from;
      return looksAtAll ? cheapestWayToOutputs(its) : solve::solveCbc(its, solver);
    };
    KINTSUGI_ASSIGN(solve::Solution solution, launches.solve(problem, start, solveFrom));
    columns.addLaunches(launches);
    note(solution);
    if (!solution.hasPlan())
      return internalError("no plan was found among equal programs: " + solution.reason);
    if (!looksAtAll)
      KINTSUGI_RETURN_IF_ERROR(problem.verify(solution));
    start = solution.columns;
    best = solution;
    return programOf(solution);
  }

  /// Whether no form has all its nodes.
  bool isNew(const ChosenProgram &chosen) const {
    return llvm::none_of(forms, [&](const Form &form) {
      return llvm::all_of(chosen.sources, [&](llvm::ArrayRef<size_t> sources) {
        return llvm::is_contained(sources, form.number);
      });
    });
  }

  /// Calls are in all forms, at whatever they cost. A scan costs what its plan takes; those of a
  /// form that don't wait for each other have a column together where that is less.
  Status addScansAndCalls(const Form &form) {
    llvm::SmallVector<uint32_t> scans;
    for (uint32_t node : form.scansAndCalls)
      if (std::holds_alternative<Scan>(form.program->nodes[node]))
        scans.push_back(node);
      else
        addWhole(form, {node}, 0);
    std::map<uint32_t, double> seconds; ///< By scan.
    for (uint32_t scan : scans) {
      KINTSUGI_ASSIGN(seconds[scan], scanPrices.secondsOf(form, {scan}));
      addWhole(form, {scan}, seconds[scan]);
    }
    if (!mayHaveLanes(options))
      return Status::success();
    for (llvm::ArrayRef<uint32_t> lanes : meetingScans(form)) {
      KINTSUGI_ASSIGN(double together, scanPrices.secondsOf(form, lanes));
      double inTurn = 0;
      for (uint32_t scan : lanes)
        inTurn += seconds[scan];
      if (together < inTurn)
        addWhole(form, lanes, together);
    }
    return Status::success();
  }

  /// The column of scans, or of a call.
  void addWhole(const Form &form, llvm::ArrayRef<uint32_t> nodes, double seconds) {
    llvm::SmallVector<ValueId> operands, results;
    double constants = 0;
    for (uint32_t node : nodes) {
      llvm::append_range(results, form.program->resultsOf(node));
      for (ValueId operand : form.program->operandsOf(node)) {
        operands.push_back(operand);
        if (te::isConstant(*form.program, form.constant, operand))
          constants += form.program->value(operand).bytes();
      }
    }
    columns.add(form, {nodes, operands, results, seconds * microseconds, constants, scanMargin});
  }

  /// Spaces are built side by side, and columns added in the order of the forms.
  Status addKernelsOfForms() {
    unsigned threads = options.space.threads, own = threadsOfEach(threads, forms.size());
    auto spaces = makeInParallel(forms.size(), threads,
                                 [&](size_t number) { return spaceOf(forms[number], true, own); });
    for (auto [form, space] : llvm::zip_equal(forms, spaces))
      KINTSUGI_RETURN_IF_ERROR(addKernelsOf(form, std::move(space)));
    return Status::success();
  }

  Status addKernelsOf(Form &form, Expected<space::Space> space) {
    if (!space.ok())
      return tried(form, space.takeError());
    form.space = std::move(*space);
    addKernels(form);
    return Status::success();
  }

  /// What can't be made of a form that can be done without is left out.
  Status tried(const Form &form, Status status) {
    if (status.ok() || form.number == 0 || form.number == preferred)
      return status;
    problems.push_back("form " + std::to_string(form.number) + ": " + status.error().message);
    return Status::success();
  }

  Expected<space::Space> spaceOf(const Form &form, bool fuses, unsigned threads) const {
    space::SpaceOptions spaceOptions = options.space;
    spaceOptions.fuse &= fuses;
    spaceOptions.threads = threads;
    spaceOptions.log = nullptr; // It is told of the program that is chosen.
    if (form.number != 0 && form.number != preferred) {
      spaceOptions.caps.detour = 1; // Most of their groups are those of the others.
      spaceOptions.caps.byOperators = false;
    }
    for (const Value &value : form.program->values)
      spaceOptions.constants.push_back(
          value.kind == ValueKind::Constant ||
          (value.kind == ValueKind::Result && form.constant[value.node]));
    std::vector<std::vector<te::Validity>> validity;
    for (const te::OpenInputs &open : options.open)
      validity.push_back(te::validityOf(*form.program, open));
    for (auto [open, values] : llvm::zip_equal(options.open, validity))
      spaceOptions.open.push_back({&values, open.served()});
    return space::buildSpace(*form.program, form.definitions, spaceOptions);
  }

  void addKernels(const Form &form) {
    std::vector<solve::ColumnId> ids;
    for (const space::Candidate &candidate : form.space.candidates) {
      ids.push_back(addKernel(form, candidate));
      launches.setKernel(ids.back(), candidate);
    }
    if (options.mergesLaunches)
      for (auto [number, parts] : llvm::enumerate(partsSideBySide(form.space))) {
        std::vector<solve::ColumnId> its;
        for (size_t part : parts)
          its.push_back(ids[part]);
        if (!its.empty())
          launches.addParts(problem, ids[number], its);
      }
    columns.addLaunches(launches);
  }

  solve::ColumnId addKernel(const Form &form, const space::Candidate &candidate) {
    double constants = 0;
    for (ValueId constant : candidate.group.constants)
      constants += form.program->value(constant).bytes();
    const loops::Group &group = candidate.group;
    return columns.add(form, {group.nodes, candidate.operands, group.outputs,
                              costOf(*candidate.kernel, options.space.schedule.machine), constants,
                              margin});
  }

  void tellChosen(llvm::ArrayRef<solve::ColumnId> solution) const {
    for (solve::ColumnId id : launches.kernelsOf(solution))
      if (options.chosen && !columns[id].nodes.empty()) // Some say only that a value is not needed.
        options.chosen->add(*columns[id].form->program, columns[id].nodes);
  }

  ChosenProgram programOf(const solve::Solution &solution) {
    tellChosen(solution.columns);
    ProgramOfParts builder(forms[0], parts);
    for (solve::ColumnId id : launches.kernelsOf(solution.columns))
      for (uint32_t node : columns[id].nodes)
        builder.add(*columns[id].form, node);
    ChosenProgram chosen;
    chosen.program = builder.finish();
    for (unsigned number : builder.numbers())
      chosen.sources.push_back(programsWith(number));
    chosen.objective = solution.objective / microseconds;
    chosen.gap = solution.gap;
    return chosen;
  }

  llvm::SmallVector<size_t, 4> programsWith(unsigned node) const {
    llvm::SmallVector<size_t, 4> numbers;
    for (size_t number = 0; number < parts.numPrograms(); ++number)
      if (parts.hasNode(number, node))
        numbers.push_back(number);
    return numbers;
  }

  void note(const solve::Solution &solution) const {
    if (!options.log)
      return;
    options.log->add({"alternatives",
                      "program '" + problem.name + "'",
                      solve::statusName(solution.status),
                      {},
                      {{"forms", static_cast<double>(forms.size()), ""},
                       {"kernels", static_cast<double>(problem.columns.size()), ""},
                       {"objective", solution.objective / microseconds, "s"},
                       {"bound", solution.bound / microseconds, "s"},
                       {"gap", solution.gap, ""}}});
  }

  explain::ChoosableKernel describe(solve::ColumnId column) const {
    explain::ChoosableKernel launch;
    for (solve::ColumnId id : launches.kernelsOf(column)) {
      const FormColumns::Source &its = columns[id];
      describeKernel(*its.form->program, its.nodes, its.stored, launch);
    }
    return launch;
  }

  /// Programs that have all nodes of a launch, of those that were given.
  std::vector<size_t> formsOf(solve::ColumnId column) const {
    std::vector<size_t> numbers;
    for (size_t number = 0; number < programs.size(); ++number)
      if (llvm::all_of(launches.kernelsOf(column), [&](solve::ColumnId id) {
            const FormColumns::Source &kernel = columns[id];
            return llvm::all_of(kernel.nodes, [&](uint32_t node) {
              return parts.hasNode(number, parts.nodeOf(kernel.form->number, node));
            });
          }))
        numbers.push_back(number);
    return numbers;
  }

  static bool hasScan(const FormColumns::Source &its) {
    return llvm::any_of(its.nodes, [&](uint32_t node) {
      return std::holds_alternative<Scan>(its.form->program->nodes[node]);
    });
  }

  void tellPricesOfForms() const {
    auto runs = [&](solve::ColumnId column) {
      return launches.runs(column) || hasScan(columns[column]);
    };
    auto describes = [&](solve::ColumnId column) { return describe(column); };
    auto forms = [&](solve::ColumnId column) { return formsOf(column); };
    explain::Choice told;
    told.among = "forms";
    told.forms.assign(names.begin(), names.end());
    told.margin = margin;
    tellPrices({problem, best, options.priced, runs, describes, forms}, std::move(told),
               *options.log);
  }

  llvm::ArrayRef<const Program *> programs;
  size_t preferred;
  double margin, scanMargin;
  llvm::ArrayRef<std::string> names;
  const OrchestrateOptions &options;
  ScanPrices scanPrices;
  LaunchColumns launches;
  space::EqualParts parts;
  std::deque<Form> forms; ///< Of the programs that can be mixed, and of mixtures.
  std::deque<Form> conversions;
  std::deque<Program> mixtures;                           ///< And forms with conversions.
  double least = std::numeric_limits<double>::infinity(); ///< Objective of the mixtures.
  FormColumns columns{parts};
  solve::Problem &problem = columns.problem;
  std::vector<std::string> problems;
  std::vector<solve::ColumnId> start;
  solve::Solution best; ///< The last one.
};

} // namespace

Expected<ChosenProgram> chooseAmong(const Alternatives &alternatives,
                                    const OrchestrateOptions &options) {
  return Chooser(alternatives, options).run();
}

} // namespace kintsugi::orchestrate
