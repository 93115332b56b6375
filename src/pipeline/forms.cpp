#include "pipeline/forms.h"

#include "derive/near_misses.h"
#include "derive/rule.h"
#include "layout/constant_orders.h"
#include "layout/layout.h"
#include "orchestrate/alternatives.h"
#include "pipeline/bodies.h"
#include "pipeline/targets.h"
#include "pipeline/told_steps.h"
#include "te/hash.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>
#include <map>
#include <set>

namespace kintsugi::pipeline {

/// Steps in a row that cost more.
constexpr unsigned mostRepairs = 3;

/// Rules that changed a program, in the order in which they were applied; told with the log alone.
using Chain = llvm::SmallVector<std::string, 4>;

using Apply =
    llvm::function_ref<Expected<te::Program>(const te::Program &, const derive::RuleContext &)>;

/// What a rule makes of a program; the log is told by which rule it was decided.
static Expected<te::Program> applied(const derive::Rule &rule, Apply apply,
                                     const te::Program &program, const derive::RuleContext &context,
                                     Chain &chain) {
  explain::Log said;
  derive::RuleContext its = context;
  its.log = context.log ? &said : nullptr;
  KINTSUGI_ASSIGN(te::Program changed, apply(program, its));
  for (explain::Record &record : said.records()) {
    record.rule = rule.name;
    context.log->add(std::move(record));
  }
  for (explain::Step &step : said.steps())
    context.log->addStep(std::move(step));
  if (context.log && te::hashOf(changed) != te::hashOf(program)) {
    chain.push_back(rule.name);
    tellChanges(*context.log, program, changed, rule.name, rule.equation);
  }
  return checked(std::move(changed));
}

/// Rules that are not disabled, each on what those before it made; null for a rule that is not
/// asked.
static Expected<te::Program>
oneAfterTheOther(te::Program program, const derive::RuleContext &context, Phases &phases,
                 const CompileOptions &options, Chain &chain,
                 llvm::function_ref<decltype(derive::Rule::apply)(const derive::Rule &)> of) {
  return phases.run("derive", [&]() -> Expected<te::Program> {
    for (const derive::Rule *rule : derive::rules()) {
      auto apply = isAllowed(*rule, options.disabled) ? of(*rule) : nullptr;
      if (!apply)
        continue;
      KINTSUGI_ASSIGN(program, applied(*rule, apply, program, context, chain));
    }
    return program;
  });
}

/// A step towards what another rule looks for, whatever it costs.
static auto repairOf(llvm::ArrayRef<derive::NearMiss> misses) {
  return [misses](const te::Program &program, const derive::RuleContext &context) {
    std::optional<te::Program> changed = derive::repaired(program, misses, context);
    return Expected<te::Program>(changed ? std::move(*changed) : program);
  };
}

/// Near misses of a program; none where the rule that repairs them is disabled.
static std::vector<derive::NearMiss> missesOf(const te::Program &program,
                                              const CompileOptions &options) {
  return options.disabled.has(derive::commuteSumsRule.name) ? std::vector<derive::NearMiss>()
                                                            : derive::nearMisses(program);
}

Expected<te::Program> beforeStorage(te::Program program, const CompileOptions &options,
                                    Phases &phases, derive::Assumptions &assumed,
                                    derive::ConstantFacts &facts, bool onlyDominant) {
  cost::Margins margins;
  margins.commutedSums = 0; // Whoever asks compares plans.
  derive::RuleContext context{.space = spaceOptions(options),
                              .margins = margins,
                              .log = options.log,
                              .assumed = &assumed,
                              .facts = &facts,
                              .willBeNarrow = true};
  auto of = [&](const derive::Rule &rule) {
    bool isTaken = rule.isOfReals && rule.helps(options.machine);
    return !isTaken ? nullptr : onlyDominant ? rule.applyDominant : rule.apply;
  };
  Chain chain;
  KINTSUGI_ASSIGN(program,
                  oneAfterTheOther(std::move(program), context, phases, options, chain, of));
  if (onlyDominant)
    return program;
  // Steps that cost more are taken where what other rules make of them costs less.
  auto ofOthers = [&](const derive::Rule &rule) {
    return &rule == &derive::commuteSumsRule ? nullptr : of(rule);
  };
  te::Program raised = program;
  derive::Assumptions assumedFor = assumed;
  explain::Log said;
  context.log = options.log ? &said : nullptr;
  context.assumed = &assumedFor;
  double seconds = derive::estimatedSeconds(program, context);
  for (unsigned round = 0; round < mostRepairs; ++round) {
    std::vector<derive::NearMiss> misses = missesOf(raised, options);
    if (misses.empty())
      break;
    KINTSUGI_ASSIGN(raised,
                    applied(derive::commuteSumsRule, repairOf(misses), raised, context, chain));
    KINTSUGI_ASSIGN(te::Program lowered,
                    oneAfterTheOther(raised, context, phases, options, chain, ofOthers));
    double its = derive::estimatedSeconds(lowered, context);
    if (its >= seconds)
      continue;
    seconds = its;
    append(options.log, said);
    assumed = assumedFor;
    program = raised = std::move(lowered);
    break;
  }
  return program;
}

namespace {

/// An equal program, and what was decided on the way to it.
struct Form {
  std::unique_ptr<const te::Program> program;
  std::string name; ///< In the log.
  Chain chain;
  bool hasFormats = false; ///< Some value is not stored row-major.
  bool isMixed = false;    ///< Made of parts of the others.
  derive::Assumptions assumed;
  explain::Log log;
};

/// How rules make a form.
struct Making {
  std::string name;
  cost::Margins margins;
  bool inFormats = true;
  bool onAnyMachine = false; ///< By all rules, not only by those that help such a machine.
};

class Forms {
public:
  explicit Forms(const Planning &planning) : planning(planning), options(planning.options) {}

  Expected<ChosenForm> run(te::Program program) {
    te::Program base = std::move(program);
    if (!isReference(planning.target)) {
      KINTSUGI_ASSIGN(base, withDominant(std::move(base)));
      KINTSUGI_ASSIGN(base, constantsAsRead(std::move(base), options.log));
    }
    for (uint32_t number = 0; number < base.numValues(); ++number)
      if (base.values[number].kind == te::ValueKind::Result)
        base.values[number].original = te::Original{number, {}};
    Making sequence{"as rules choose", {}, true}, plain{"as rules choose, row-major", {}, false};
    KINTSUGI_RETURN_IF_ERROR(make(base, sequence));
    Form *others = nullptr, *mixed = nullptr;
    bool comparesFormats = forms[0]->hasFormats && !runsOnHost(planning.target);
    if (comparesFormats || mixes()) {
      KINTSUGI_RETURN_IF_ERROR(tried(plain.name, make(base, plain)));
      if (comparesFormats && forms.size() == 2)
        others = forms[1].get();
    }
    if (mixes()) {
      size_t before = forms.size();
      if (!options.likely || options.likely->hasForms())
        KINTSUGI_RETURN_IF_ERROR(makeForMixing(base));
      KINTSUGI_RETURN_IF_ERROR(tried("of parts", mix(std::move(base))));
      if (forms.size() > before && forms.back()->isMixed)
        mixed = forms.back().get();
    }
    return quickest(others, mixed);
  }

private:
  bool mixes() const {
    bool isOptimal = options.plan == orchestrate::PlanMode::Search ||
                     options.plan == orchestrate::PlanMode::Exhaustive;
    bool mayMix = llvm::none_of(llvm::ArrayRef{"alternatives", "fission", "fusion"},
                                [&](const char *name) { return options.disabled.has(name); });
    return isOptimal && mayMix && !isReference(planning.target);
  }

  /// The program compiles without what went wrong with another form of it, which is told; what the
  /// user stopped stops.
  Status tried(const std::string &name, Status status) {
    if (status.ok() || status.error().kind == ErrorKind::Usage)
      return status;
    leaveOut(name + ": " + status.error().message);
    return Status::success();
  }

  void leaveOut(const std::string &problem) {
    problems.push_back(problem);
    if (options.log)
      options.log->add(
          {"forms", "program '" + forms[0]->program->name + "'", "form left out", {problem}, {}});
  }

  /// Rules of scans look at the kernels of bodies, whose plans want the same.
  space::SpaceOptions spaceFor(derive::RuleOrder order) const {
    space::SpaceOptions space = spaceOptions(options);
    if (order == derive::RuleOrder::OfScans)
      space.memo = &planning.memo.schedules;
    return space;
  }

  /// What the rules of one place make of a program, each on what those before it made.
  Expected<te::Program> ruled(te::Program program, derive::RuleOrder order, const Making &making,
                              derive::Assumptions &assumed, explain::Log *log, Chain &chain) const {
    if (isReference(planning.target))
      return program;
    derive::RuleContext context{.space = spaceFor(order),
                                .margins = making.margins,
                                .log = log,
                                .assumed = &assumed,
                                .facts = facts.get()};
    return oneAfterTheOther(std::move(program), context, planning.phases, options, chain,
                            [&](const derive::Rule &rule) {
                              bool isTaken = rule.order == order &&
                                             (making.onAnyMachine || rule.helps(options.machine));
                              return isTaken ? rule.apply : nullptr;
                            });
  }

  /// With what rules know to be quicker whatever kernels there are.
  Expected<te::Program> withDominant(te::Program program) {
    derive::RuleContext context{.space = spaceOptions(options),
                                .margins = {},
                                .log = options.log,
                                .assumed = &ofAll,
                                .facts = facts.get()};
    return oneAfterTheOther(std::move(program), context, planning.phases, options, chainOfAll,
                            [](const derive::Rule &rule) { return rule.applyDominant; });
  }

  bool choosesFormats() const {
    return !options.disabled.has("formats") && !isReference(planning.target);
  }

  /// Values in the formats in which the machine's schedules are quickest; nullopt where that is as
  /// they are.
  Expected<std::optional<te::Program>> formatted(const te::Program &program,
                                                 explain::Log *log) const {
    if (!choosesFormats())
      return std::optional<te::Program>();
    layout::LayoutOptions layoutOptions;
    layoutOptions.schedule = scheduleOptions(options);
    layoutOptions.schedule.choiceMemo = &planning.memo.schedules.choices;
    layoutOptions.memo = &planning.memo.formats;
    layoutOptions.open = options.openInputs;
    layoutOptions.log = log;
    return planning.phases.run("formats", [&]() -> Expected<std::optional<te::Program>> {
      std::optional<te::Program> changed = layout::chooseFormats(program, layoutOptions);
      if (!changed)
        return changed;
      KINTSUGI_RETURN_IF_ERROR(changed->verify());
      if (log)
        tellChanges(
            *log, program, *changed, formatsName,
            "x[i, j] => x'[j, i]: values are stored with their dimensions in another order.");
      return changed;
    });
  }

  /// Which way they are stored costs nothing, so that it is no form of its own.
  Expected<te::Program> constantsAsRead(te::Program program, explain::Log *log) const {
    if (!choosesFormats())
      return program;
    return planning.phases.run("formats", [&]() -> Expected<te::Program> {
      std::optional<te::Program> changed = layout::constantsAsRead(program, log);
      if (!changed)
        return std::move(program);
      KINTSUGI_RETURN_IF_ERROR(changed->verify());
      return std::move(*changed);
    });
  }

  Status make(const te::Program &base, const Making &making) {
    auto form = std::make_unique<Form>();
    form->name = making.name;
    form->chain = chainOfAll;
    form->assumed = ofAll;
    explain::Log *log = options.log ? &form->log : nullptr;
    te::Program program = base;
    for (derive::RuleOrder order : {derive::RuleOrder::OfScans, derive::RuleOrder::BeforeFormats}) {
      KINTSUGI_ASSIGN(program,
                      ruled(std::move(program), order, making, form->assumed, log, form->chain));
    }
    if (making.inFormats) {
      KINTSUGI_ASSIGN(std::optional<te::Program> changed, formatted(program, log));
      form->hasFormats = changed.has_value();
      if (changed)
        program = std::move(*changed);
    }
    KINTSUGI_ASSIGN(program, constantsAsRead(std::move(program), log));
    KINTSUGI_ASSIGN(program, ruled(std::move(program), derive::RuleOrder::AfterFormats, making,
                                   form->assumed, log, form->chain));
    add(std::move(form), std::move(program));
    return Status::success();
  }

  /// A program from which rules make others, what was assumed for it, and what made it.
  struct Base {
    const te::Program *program;
    derive::Assumptions assumed;
    Chain chain;
    const explain::Log *log; ///< Of what made it; null: nothing did.
    /// What those that rules make of it have to take less than: where a step cost more, what it
    /// took before.
    double limit = std::numeric_limits<double>::infinity();
    unsigned repairs = 0; ///< Such steps in a row.
  };

  static Base baseOf(const Form &form) {
    return {form.program.get(), form.assumed, form.chain, &form.log};
  }

  /// What a rule makes of a program.
  Expected<std::unique_ptr<Form>> madeBy(const derive::Rule &rule, Apply apply, const Base &base) {
    auto form = std::make_unique<Form>();
    form->name = rule.name;
    form->chain = base.chain;
    form->assumed = base.assumed;
    if (options.log && base.log)
      append(&form->log, *base.log);
    derive::RuleContext context{.space = spaceFor(rule.order),
                                .margins = cost::Margins::none(),
                                .log = options.log ? &form->log : nullptr,
                                .assumed = &form->assumed,
                                .facts = facts.get()};
    KINTSUGI_ASSIGN(te::Program changed, planning.phases.run("derive", [&] {
      return applied(rule, apply, *base.program, context, form->chain);
    }));
    form->program = std::make_unique<const te::Program>(std::move(changed));
    return form;
  }

  /// Forms of which only parts are asked for.
  Status makeForMixing(const te::Program &base) {
    Making all{"whatever is equal", cost::Margins::none(), true, true};
    Making rows{"whatever is equal, row-major", cost::Margins::none(), false, true};
    KINTSUGI_RETURN_IF_ERROR(tried(all.name, make(base, all)));
    KINTSUGI_RETURN_IF_ERROR(tried(rows.name, make(base, rows)));
    return makeByRules(base);
  }

  /// What each rule makes of the program, of the rules' own form, and of what rules made of those,
  /// whatever it costs: of the program that is estimated to take least first, each program once,
  /// while fuel lasts. Where another step leads to what a rule looks for, that is taken first.
  Status makeByRules(const te::Program &base) {
    constexpr unsigned mostForms = 10;
    known = {te::hashOf(base)};
    for (const std::unique_ptr<Form> &form : forms)
      known.insert(te::hashOf(*form->program));
    wait({&base, ofAll, chainOfAll, nullptr}, estimated(base));
    wait(baseOf(*forms[0]), estimated(*forms[0]->program));
    for (unsigned made = 0; !open.empty();) {
      Base next = std::move(open.begin()->second);
      double seconds = open.begin()->first;
      open.erase(open.begin());
      KINTSUGI_RETURN_IF_ERROR(repair(next, seconds));
      for (const derive::Rule *rule : derive::rules()) {
        if (!isAllowed(*rule, options.disabled) || !rule->helps(options.machine))
          continue;
        if (made == mostForms)
          return noteFuel(mostForms);
        Expected<std::unique_ptr<Form>> form = madeBy(*rule, rule->apply, next);
        if (!form.ok()) {
          KINTSUGI_RETURN_IF_ERROR(tried(rule->name, Status(form.takeError())));
          continue;
        }
        bool isNew = known.insert(te::hashOf(*(*form)->program)).second;
        double its = estimated(*(*form)->program);
        if (!isNew || its >= next.limit) {
          append(&left, (*form)->log);
          continue;
        }
        wait(baseOf(**form), its);
        forms.push_back(std::move(*form));
        ++made;
      }
    }
    return Status::success();
  }

  /// Has a program wait for its turn.
  void wait(Base base, double seconds) { open.emplace(seconds, std::move(base)); }

  /// Has what a step makes that costs more wait in the program's place.
  Status repair(const Base &base, double seconds) {
    std::vector<derive::NearMiss> misses = missesOf(*base.program, options);
    if (misses.empty() || base.repairs == mostRepairs)
      return Status::success();
    Expected<std::unique_ptr<Form>> form = madeBy(derive::commuteSumsRule, repairOf(misses), base);
    if (!form.ok())
      return tried(derive::commuteSumsRule.name, Status(form.takeError()));
    if (!known.insert(te::hashOf(*(*form)->program)).second)
      return Status::success();
    Base raised = baseOf(**form);
    raised.limit = std::min(base.limit, seconds);
    raised.repairs = base.repairs + 1;
    passed.push_back(std::move(*form));
    wait(std::move(raised), seconds);
    return Status::success();
  }

  double estimated(const te::Program &program) const {
    derive::RuleContext context{.space = spaceOptions(options)};
    return derive::estimatedSeconds(program, context);
  }

  Status noteFuel(unsigned made) const {
    if (options.log)
      options.log->add({"forms",
                        "program '" + forms[0]->program->name + "'",
                        "rules ran out of fuel",
                        {"what they make of what rules made is not looked at to the end"},
                        {{"forms", double(made), ""}}});
    return Status::success();
  }

  void add(std::unique_ptr<Form> form, te::Program program) {
    form->program = std::make_unique<const te::Program>(std::move(program));
    forms.push_back(std::move(form));
  }

  /// Adds the form that the solver makes of the others, of which the program as it is comes first.
  Status mix(te::Program base) {
    auto unchanged = std::make_unique<Form>();
    unchanged->name = "as it is";
    unchanged->chain = chainOfAll;
    unchanged->assumed = ofAll;
    unchanged->program = std::make_unique<const te::Program>(std::move(base));
    llvm::SmallVector<const Form *> all{unchanged.get(), forms[0].get()};
    std::set<Hash128> distinct{te::hashOf(*unchanged->program), te::hashOf(*forms[0]->program)};
    for (const std::unique_ptr<Form> &form : forms)
      if (distinct.insert(te::hashOf(*form->program)).second)
        all.push_back(form.get());
    if (distinct.size() == 1)
      return Status::success();
    if (options.likely)
      llvm::erase_if(all, [&](const Form *each) {
        return each != unchanged.get() && each != forms[0].get() &&
               !options.likely->hasForm(nameOf(*each));
      });
    auto form = std::make_unique<Form>();
    form->name = "of parts";
    form->assumed = ofAll;
    llvm::SmallVector<const te::Program *> programs;
    std::vector<std::string> names;
    for (const Form *each : all) {
      programs.push_back(each->program.get());
      names.push_back(nameOf(*each));
    }
    KINTSUGI_ASSIGN(orchestrate::ChosenProgram mixed, planning.phases.run("choose forms", [&] {
      orchestrate::OrchestrateOptions its = orchestrateOptions(options, planning.target);
      its.space.memo = &planning.memo.schedules;
      its.space.measured = planning.measured;
      cost::Margins margins;
      return orchestrate::chooseAmong(
          {programs, 1, margins.alternatives, names, margins.sideBySideScans}, its);
    }));
    mixedGap = mixed.gap;
    for (llvm::ArrayRef<size_t> its : mixed.sources)
      if (options.chosen && !its.empty() && its.front() > 1)
        options.chosen->addForm(nameOf(*all[its.front()]));
    for (const std::string &problem : mixed.problems)
      leaveOut(problem);
    KINTSUGI_RETURN_IF_ERROR(mixed.program.verify());
    if (te::hashOf(mixed.program) == te::hashOf(*forms[0]->program))
      return Status::success();
    tellOfParts(all, mixed, *form);
    form->isMixed = true;
    add(std::move(form), std::move(mixed.program));
    return Status::success();
  }

  /// With the rules that made it: "as rules choose: winograd, then split-reduction".
  static std::string nameOf(const Form &form) {
    std::string rules = llvm::join(form.chain, ", then ");
    bool isOfRules = !form.chain.empty() && form.chain.back() == form.name;
    return isOfRules ? rules : form.name + (rules.empty() ? "" : ": " + rules);
  }

  /// What was decided of those values that it has as a form has them.
  void tellOfParts(llvm::ArrayRef<const Form *> all, const orchestrate::ChosenProgram &mixed,
                   Form &form) const {
    std::map<std::string, llvm::ArrayRef<size_t>> sources; ///< By value's name.
    std::set<size_t> used;
    for (auto [node, its] : llvm::enumerate(mixed.sources)) {
      if (!llvm::is_contained(its, 0u))
        used.insert(its.begin(), its.end());
      for (te::ValueId result : mixed.program.resultsOf(node))
        sources[mixed.program.value(result).name] = its;
    }
    for (size_t number : used)
      form.assumed.join(all[number]->assumed);
    std::set<std::string> told;
    for (auto [number, each] : llvm::enumerate(all))
      for (explain::Record &record : each->log.records()) {
        auto found = sources.find(quoted(record.subject));
        bool isOfPart = found != sources.end() ? llvm::is_contained(found->second, number)
                                               : used.count(number) > 0;
        if (isOfPart && told.insert(record.subject + record.decision).second)
          form.log.add(std::move(record));
      }
    std::vector<const explain::Log *> logs;
    for (const Form *each : all)
      logs.push_back(&each->log);
    tellSteps(logs, sources, form.log);
  }

  /// What a subject names: mask of 'scores'.
  static std::string quoted(llvm::StringRef subject) {
    return subject.split('\'').second.rsplit('\'').first.str();
  }

  /// Of the rules' own form, that without formats, and what was made of parts. The solver knows
  /// each kernel alone; plans say what is left when launches are merged.
  Expected<ChosenForm> quickest(Form *rowMajor, Form *mixed) {
    llvm::SmallVector<Form *> contenders{forms[0].get()};
    for (Form *other : {rowMajor, mixed})
      if (other)
        contenders.push_back(other);
    if (contenders.size() == 1)
      return chosen(*contenders[0], nullptr);
    Form *best = nullptr;
    std::unique_ptr<Planned> plan;
    explain::Record record{"forms", "program '" + forms[0]->program->name + "'", {}, {}, {}};
    llvm::SmallVector<const te::Program *> programs;
    for (Form *form : contenders)
      programs.push_back(form->program.get());
    KINTSUGI_ASSIGN(auto plans, planned(programs, planning));
    for (auto [form, tryIts] : llvm::zip_equal(contenders, plans)) {
      if (!tryIts.ok() && form != contenders[0]) {
        KINTSUGI_RETURN_IF_ERROR(tried(form->name, Status(tryIts.error())));
        continue;
      }
      KINTSUGI_ASSIGN(std::unique_ptr<Planned> its, std::move(tryIts));
      record.numbers.push_back({form->name, its->plan.objectiveSeconds, "s"});
      if (best && plan->plan.objectiveSeconds <= its->plan.objectiveSeconds)
        continue;
      best = form;
      plan = std::move(its);
    }
    record.decision = best->name;
    record.reasons = {"its plan is the quickest"};
    if (options.log)
      options.log->add(std::move(record));
    return chosen(*best, std::move(plan));
  }

  ChosenForm chosen(Form &form, std::unique_ptr<Planned> plan) const {
    append(options.log, form.log);
    std::vector<const explain::Log *> others{&left};
    for (const auto *all : {&forms, &passed})
      for (const std::unique_ptr<Form> &other : *all)
        others.push_back(&other->log);
    if (options.log)
      tellRefused(form.log, others, *options.log);
    if (std::string told = describe(form.assumed, options.machine); options.log && !told.empty())
      options.log->add({"derive",
                        "program '" + form.program->name + "'",
                        told,
                        {"facts don't prove it of what depends on inputs"},
                        {}});
    double gap = problems.empty() ? mixedGap : 1; // Of what was left out nothing is proven.
    return {std::move(form.program), form.assumed, std::move(plan), gap, problems};
  }

  const Planning &planning;
  const CompileOptions &options;
  /// Constants are looked at once for all forms.
  const std::unique_ptr<derive::ConstantFacts> facts = std::make_unique<derive::ConstantFacts>();
  derive::Assumptions ofAll;                 ///< Of what all forms share.
  Chain chainOfAll;                          ///< Likewise.
  std::vector<std::unique_ptr<Form>> forms;  ///< The rules' own form first.
  std::vector<std::unique_ptr<Form>> passed; ///< On the way to others alone.
  std::multimap<double, Base> open;          ///< By what they are estimated to take.
  std::set<Hash128> known;                   ///< Programs that are, or were, forms or open.
  explain::Log left;                         ///< Of what led nowhere.
  double mixedGap = 0;
  std::vector<std::string> problems;
};

} // namespace

Expected<ChosenForm> chooseForm(te::Program program, const Planning &planning) {
  derive::Assumptions ofBodies;
  KINTSUGI_ASSIGN(program, withFormsOfBodies(std::move(program), planning, ofBodies));
  KINTSUGI_ASSIGN(ChosenForm form, Forms(planning).run(std::move(program)));
  form.assumed.join(ofBodies);
  return form;
}

Expected<ChosenForm> planForm(te::Program program, const Planning &planning) {
  KINTSUGI_ASSIGN(ChosenForm form, chooseForm(std::move(program), planning));
  if (!form.plan) {
    KINTSUGI_ASSIGN(form.plan, planned(*form.program, planning));
  }
  form.plan->plan.gap = 1 - (1 - form.plan->plan.gap) * (1 - form.gap);
  return form;
}

std::string describe(const derive::Assumptions &assumed, const machine::Machine &machine) {
  std::map<std::string, unsigned> counts; ///< By what is assumed.
  for (const derive::Rule *rule : derive::rules())
    if (unsigned count = assumed.of(rule->name))
      counts[rule->assumes] += count;
  if (counts.empty())
    return "";
  std::string where, names;
  for (const auto &[what, count] : counts)
    where += (where.empty() ? "" : ", ") + what + " (" + std::to_string(count) + ")";
  for (const derive::Rule *rule : derive::rules())
    if (counts.count(rule->assumes) && (rule->helps(machine) || assumed.of(rule->name) > 0))
      names += (names.empty() ? "" : ",") + std::string(rule->name);
  return "values are assumed to be finite: " + where + "; --disable " + names +
         " computes them as written";
}

} // namespace kintsugi::pipeline
