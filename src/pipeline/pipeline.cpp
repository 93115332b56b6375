#include "pipeline/pipeline.h"

#include "base/files.h"
#include "base/parallel.h"
#include "import/random_weights.h"
#include "link/joins.h"
#include "link/link.h"
#include "machine/describe.h"
#include "pipeline/forms.h"
#include "pipeline/open_model.h"
#include "pipeline/preparing.h"
#include "pipeline/targets.h"
#include "pipeline/tried_values.h"
#include "pipeline/tuning.h"
#include "pipeline/version.h"
#include "te/check.h"
#include "te/constant_nodes.h"
#include "te/parser.h"
#include "te/printer.h"
#include "verify/policy.h"
#include "llvm/ADT/STLExtras.h"

#include <atomic>
#include <map>
#include <set>

namespace kintsugi::pipeline {

namespace {

/// Of kernels and calls in one run; those that data decide of once.
unsigned countLaunches(const orchestrate::Plan &plan, const orchestrate::PlanNode &node) {
  using Kind = orchestrate::PlanNode::Kind;
  if (node.kind == Kind::Joined)
    return 1;
  if (node.kind == Kind::Stage) {
    const std::optional<calls::DeviceCall> &call = plan.stages[node.stage].device;
    return call ? call->launches.size() : 1;
  }
  unsigned count = 0;
  for (const orchestrate::PlanNode &child : node.children)
    count += countLaunches(plan, child);
  return node.kind == Kind::Repeat && node.isCounted() ? count * node.count : count;
}

/// `inputs`: what is looked at before a run.
void addChecks(orchestrate::Plan &plan, const std::vector<simplify::InputCheck> &inputs) {
  for (const simplify::InputCheck &input : inputs)
    plan.checks.push_back(
        {plan.inputs[input.port], input.check.node, input.check.message(), input.range});
}

/// Ports are of the types that the model has.
void declarePorts(orchestrate::Plan &plan, const te::Program &imported,
                  const std::optional<OpenModel> &open) {
  auto declared = [&](te::ValueId id) -> orchestrate::Plan::Declared {
    return {imported.value(id).type, imported.value(id).shape, {}};
  };
  for (te::ValueId input : imported.inputs)
    plan.declaredInputs.push_back(declared(input));
  for (const te::Program::Output &output : te::modelOutputs(imported))
    plan.declaredOutputs.push_back(declared(output.value));
  if (!open)
    return;
  for (auto [number, along] : llvm::enumerate(open->dimensions)) {
    plan.open.push_back(along.inputs.dimension);
    for (auto [port, validity] : llvm::zip_equal(plan.declaredInputs, along.inputs.inputs))
      port.validity[number] = validity;
    for (auto [port, validity] : llvm::zip_equal(plan.declaredOutputs, along.outputs))
      port.validity[number] = validity;
  }
}

/// Distinct kernels whose schedule measuring found.
unsigned countTuned(const orchestrate::Plan &plan) {
  return llvm::count_if(link::kernelsOf(plan, plan.root), [&](unsigned kernel) {
    return plan.kernels[kernel].shape->untuned != nullptr;
  });
}

void describePlan(const orchestrate::Plan &plan, CompileReport &report) {
  report.candidates = plan.candidates;
  orchestrate::Plan::forEachStage(plan.root, [&](unsigned) { ++report.kernels; });
  report.distinctKernels = link::kernelsOf(plan, plan.root).size();
  report.launches = countLaunches(plan, plan.root);
  report.objectiveSeconds = plan.objectiveSeconds;
  report.gap = plan.gap;
  report.arenaBytes = plan.arenaBytes;
}

targets::CompileOptions targetOptions(const CompileOptions &options) {
  targets::CompileOptions result;
  result.level = options.machine.level;
  result.threads = threadsOf(options);
  return result;
}

/// Those that the target compiles.
std::vector<tile::NamedSchedule> allKernels(const orchestrate::Plan &plan,
                                            const targets::Target &target) {
  std::vector<unsigned> own = link::kernelsOf(plan, plan.root);
  std::vector<tile::NamedSchedule> kernels;
  for (auto [number, kernel] : llvm::enumerate(plan.kernels))
    if (runsOnHost(target) || llvm::is_contained(own, number))
      kernels.push_back({kernel.symbol, &kernel.shape->schedule});
  return kernels;
}

link::Variant variantOf(const std::string &level) {
  link::Variant variant{level, featuresOf(level)};
  for (const std::string &lesser : lesserCodeOf(level))
    variant.lesser.push_back({lesser, featuresOf(lesser)});
  return variant;
}

/// The text form has no open dimensions, and of weights only the names.
Expected<te::Program> readText(const std::string &path, const import::ImportOptions &options) {
  if (!options.dims.empty() || !options.bound.empty())
    return usageError(path + ": --dim and --bind are for ONNX models; write the size or the value "
                             "into the text");
  KINTSUGI_ASSIGN(std::string text, readTextFile(path));
  if (!options.randomWeights)
    return te::parseProgram(text, path);
  return te::parseProgram(
      text, path, [](const std::string &name, ElementType type, llvm::ArrayRef<te::Extent> shape) {
        std::vector<int64_t> extents;
        for (te::Extent extent : shape)
          extents.push_back(extent.constant());
        return import::randomWeight(name, type, std::move(extents));
      });
}

} // namespace

Expected<te::Program> importModel(const std::string &path, const CompileOptions &options,
                                  Diagnostics &diagnostics) {
  return llvm::StringRef(path).ends_with(".te")
             ? readText(path, options.import)
             : import::importOnnx(path, options.import, diagnostics);
}

Expected<te::Program> kernelProgram(const std::string &path, const CompileOptions &options,
                                    runtime::Device &host, Diagnostics &diagnostics) {
  CompileReport report;
  Phases phases(options, report);
  KINTSUGI_ASSIGN(std::unique_ptr<targets::Target> target, makeTarget(options.target));
  KINTSUGI_ASSIGN(te::Program imported,
                  phases.run("import", [&] { return importModel(path, options, diagnostics); }));
  KINTSUGI_ASSIGN(Prepared model, prepared(imported, options, host, phases, report));
  CompileOptions its = ofProgram(model.program(), options);
  KINTSUGI_ASSIGN(ChosenForm form,
                  planWithRecords(model.program(), {its, *target, phases, *model.memo},
                                  options.recordsInUse()));
  return *form.program;
}

static link::LinkOptions linkOptions(const CompileOptions &options, const std::string &model) {
  link::LinkOptions result;
  result.compilerVersion = compilerVersion();
  result.precision = nameOf(options.precision);
  result.target = targetOptions(options);
  // Whatever machine compiles can run it, and all levels get the same bits.
  result.target.level = machine::nameOf(machine::Level::V3);
  if (options.progress)
    result.target.progress = [&](size_t done, size_t all) {
      return options.progress("compiling kernels", done, all);
    };
  result.constants = {options.constantBudget, options.threads, model};
  result.severalVariants = !options.lesser.empty() || !options.open.empty();
  return result;
}

/// The first of the levels that a device runs, or the first.
static std::string levelOn(const runtime::Device &device, const std::vector<std::string> &levels) {
  auto runs = [&](const std::string &each) {
    return llvm::all_of(featuresOf(each),
                        [&](const std::string &feature) { return device.supports(feature); });
  };
  auto best = llvm::find_if(levels, runs);
  return best == levels.end() ? levels.front() : *best;
}

/// Levels that one plan's kernels are compiled for, best first.
static std::vector<std::string> levelsOfCode(const std::string &level) {
  std::vector<std::string> levels = lesserCodeOf(level);
  levels.insert(levels.begin(), level);
  return levels;
}

/// Levels that are planned one by one, best first.
static std::vector<std::string> levelsOfPlans(const CompileOptions &options) {
  std::vector<std::string> levels = {options.machine.level};
  for (const machine::Machine &machine : options.lesser)
    levels.push_back(machine.level);
  return levels;
}

/// `host` computes constants.
static Expected<Json> measurePhase(const te::Program &program, const CompileOptions &options,
                                   const targets::Target &target, runtime::Device &host,
                                   link::LinkOptions linking, Phases &phases) {
  linking.target.progress = nullptr;
  linking.target.assembler.clear(); // The driver makes code of what is only timed.
  linking.severalVariants = false;
  Measuring measuring{
      target, targetOptions(options), options.tuneDevice ? *options.tuneDevice : host, {}};
  measuring.target.level = levelOn(measuring.device, levelsOfCode(options.machine.level));
  measuring.link = [&](const orchestrate::Plan &plan, runtime::ArtifactWriter &writer) -> Status {
    link::Linker linker(target, host, writer, linking);
    const std::string &level = measuring.target.level;
    KINTSUGI_RETURN_IF_ERROR(linker.add(plan, {level, featuresOf(level)}));
    return linker.finish(Json::object()).status();
  };
  return phases.run("tune", [&] { return measure(program, options, measuring); });
}

/// What kernels see of an import where it serves several sizes of the options' open dimensions.
static std::optional<te::Program> openedProgram(const te::Program &imported,
                                                std::optional<OpenModel> &open,
                                                CompileOptions &options) {
  if (!open)
    return std::nullopt;
  for (auto [along, sizes] : llvm::zip_equal(open->dimensions, options.open))
    along.inputs.dimension = sizes;
  options.openInputs = open->programInputs();
  return options.openInputs.empty() ? std::nullopt : std::optional(open->programOf(imported));
}

namespace {

/// What is made of a model once it is imported: a plan for each part of its sizes and each level.
/// Parts are planned side by side and linked in their order, so that an artifact does not depend on
/// how many threads there are.
class Compilation {
public:
  Compilation(const targets::Target &target, link::Linker &linker, const link::LinkOptions &linking,
              runtime::Device &host, Phases &phases, CompileReport &report)
      : target(target), linker(linker), linking(linking), host(host), phases(phases),
        report(report) {}

  Status run(const te::Program &imported, const std::string &path, const CompileOptions &options) {
    if (!options.open.empty()) {
      KINTSUGI_ASSIGN(open,
                      phases.run("import", [&] { return openModel(imported, path, options); }));
      atATime = partsAtATime(imported, options);
      KINTSUGI_RETURN_IF_ERROR(addParts(path, options));
    }
    return addAll(imported, options);
  }

private:
  /// A model in 16 bits runs while it is planned, with constants of its own.
  static unsigned partsAtATime(const te::Program &imported, const CompileOptions &options) {
    constexpr uint64_t most = 16, mostBytes = uint64_t(4) << 30;
    uint64_t bytes = std::max<uint64_t>(1, te::bytesOfConstants(imported).once);
    return std::min<uint64_t>(threadsOf(options), std::clamp<uint64_t>(mostBytes / bytes, 1, most));
  }

  struct LevelPlan {
    std::string level;
    ChosenForm form;
  };

  struct SizedPlans {
    std::string sizes; ///< In the names of variants.
    std::vector<LevelPlan> levels;
    derive::Assumptions assumed;
    std::shared_ptr<const space::GroupNames> chosen; ///< By these plans; null: nobody asks.
    std::shared_ptr<const TriedValues> tried;        ///< Likewise.
  };

  Status addParts(const std::string &path, const CompileOptions &options) {
    bool inBlocks = options.machine.threads > 0;
    std::vector<SizesToPlan> parts = inOrderOfPlanning(smallerSizes(options.open, inBlocks));
    size_t first = llvm::count_if(parts, [](const SizesToPlan &part) { return part.isLandmark; });
    llvm::ArrayRef<SizesToPlan> all = parts;
    KINTSUGI_RETURN_IF_ERROR(addSideBySide(all.take_front(first), path, options));
    KINTSUGI_RETURN_IF_ERROR(addSideBySide(all.drop_front(first), path, options));
    for (auto [number, all] : llvm::enumerate(options.open)) {
      int64_t next = all.low;
      for (const SizesToPlan &part : parts)
        if (int64_t high = part.sizes[number].high; high < all.high)
          next = std::max(next, high + 1);
      open->dimensions[number].inputs.servedFrom = next;
    }
    return Status::success();
  }

  /// Parts that learn from those before them, and not from each other.
  Status addSideBySide(llvm::ArrayRef<SizesToPlan> parts, const std::string &path,
                       const CompileOptions &options) {
    if (parts.empty())
      return Status::success();
    CompileOptions its = options;
    its.likely = known->empty() ? nullptr : known;
    its.seen = seen;
    const size_t several = std::min<size_t>(atATime, parts.size());
    its.threads = threadsOfEach(threadsOf(options), several);
    if (options.progress)
      its.progress = [this](std::string_view phase, uint64_t step, uint64_t steps) {
        return phases.tell(phase, step, steps);
      };
    Phases::SideBySide shares(phases, several);
    std::atomic<bool> hasFailed = false; // What begins after is not heard of.
    auto plans = makeInParallel(parts.size(), atATime, [&](size_t number) {
      Expected<SizedPlans> part = hasFailed
                                      ? Expected<SizedPlans>(usageError("another part failed"))
                                      : planPart(parts[number].sizes, path, its);
      hasFailed = hasFailed || !part.ok();
      return part;
    });
    shares.end();
    for (Expected<SizedPlans> &each : plans) {
      KINTSUGI_ASSIGN(SizedPlans part, std::move(each));
      KINTSUGI_RETURN_IF_ERROR(add(part, options));
    }
    return Status::success();
  }

  /// Of all sizes; what the report tells of is this.
  Status addAll(const te::Program &imported, const CompileOptions &options) {
    CompileOptions its = options;
    if (!known->empty() && options.tuneSeconds == 0)
      its.likely = known;
    KINTSUGI_ASSIGN(SizedPlans all, plan(imported, its, "", report));
    KINTSUGI_RETURN_IF_ERROR(add(all, options));
    if (std::string told = describe(assumed, options.machine); !told.empty())
      report.notes.push_back(told);
    return Status::success();
  }

  /// Of some of them, ahead of that. Any thread.
  Expected<SizedPlans> planPart(const SizeRanges &sizes, const std::string &path,
                                CompileOptions options) const {
    options.open = sizes;
    for (const OpenDimension &open : sizes)
      options.import.dims[open.name] = open.high;
    options.log = nullptr;
    options.tuneSeconds = 0;
    // On GPUs sizes differ more in what is quickest.
    bool inBlocks = options.machine.threads > 0;
    std::shared_ptr<space::GroupNames> chosen =
        inBlocks ? nullptr : std::make_shared<space::GroupNames>();
    options.chosen = chosen;
    auto tried = std::make_shared<TriedValues>();
    options.tried = tried;
    Diagnostics said; // The same as of all sizes.
    KINTSUGI_ASSIGN(te::Program imported,
                    phases.run("import", [&] { return importModel(path, options, said); }));
    CompileReport untold;
    KINTSUGI_ASSIGN(SizedPlans plans, plan(imported, options, "/" + nameOf(sizes), untold));
    plans.chosen = chosen;
    plans.tried = tried;
    return plans;
  }

  /// What is the same at all sizes is so at some of them. Any thread.
  Expected<SizedPlans> plan(const te::Program &imported, const CompileOptions &options,
                            const std::string &sizes, CompileReport &told) const {
    CompileOptions its = options;
    std::optional<OpenModel> ofSizes = open;
    std::optional<te::Program> asking = openedProgram(imported, ofSizes, its);
    KINTSUGI_ASSIGN(Prepared model, prepared(asking ? *asking : imported, its, host, phases, told));
    SizedPlans result{sizes, {}, model.assumed, nullptr, nullptr};
    const std::string reported = levelOn(host, levelsOfPlans(options));
    auto addLevel = [&]() -> Status {
      bool isReported = its.machine.level == reported;
      its.log = isReported ? options.log : nullptr; // The same for other machines would confuse.
      KINTSUGI_ASSIGN(ChosenForm form, planLevel(model, its, isReported, told));
      declarePorts(form.plan->plan, imported, ofSizes);
      result.assumed.join(form.assumed);
      result.levels.push_back({its.machine.level, std::move(form)});
      return Status::success();
    };
    KINTSUGI_RETURN_IF_ERROR(addLevel());
    for (const machine::Machine &machine : options.lesser) {
      its.machine = machine;
      KINTSUGI_RETURN_IF_ERROR(addLevel());
    }
    return result;
  }

  Expected<ChosenForm> planLevel(Prepared &model, const CompileOptions &options, bool isReported,
                                 CompileReport &told) const {
    CompileOptions its = ofProgram(model.program(), options);
    std::shared_ptr<PlanMemo> memo = std::move(model.memo); // That of the first level.
    if (!memo)
      memo = std::make_shared<PlanMemo>();
    tune::Records *records = its.recordsInUse();
    if (records && its.tuneSeconds > 0) {
      KINTSUGI_ASSIGN(told.tuning,
                      measurePhase(model.program(), its, target, host, linking, phases));
    }
    KINTSUGI_ASSIGN(ChosenForm form,
                    planWithRecords(model.program(), {its, target, phases, *memo}, records));
    orchestrate::Plan &plan = form.plan->plan;
    addChecks(plan, model.lowered.inputs);
    append(its.log, form.plan->log);
    for (const std::string &problem : form.problems)
      told.notes.push_back("a form of the model was left out, which may make it slower; please "
                           "report: " +
                           problem);
    if (isReported) {
      told.definitions = form.program->nodes.size();
      describePlan(plan, told);
    }
    if (records)
      told.tunedKernels = countTuned(plan);
    told.levels.push_back(options.machine.level);
    return form;
  }

  Status add(const SizedPlans &plans, const CompileOptions &options) {
    for (const LevelPlan &each : plans.levels) {
      link::Variant variant = variantOf(each.level);
      variant.sizes = plans.sizes;
      KINTSUGI_RETURN_IF_ERROR(
          phases.run("link", [&] { return linker.add(each.form.plan->plan, variant); }));
    }
    assumed.join(plans.assumed);
    if (plans.chosen)
      known->join(*plans.chosen);
    if (plans.tried)
      seen->join(*plans.tried);
    return Status::success();
  }

  const targets::Target &target;
  link::Linker &linker;
  const link::LinkOptions &linking;
  runtime::Device &host;
  Phases &phases;
  CompileReport &report;
  std::optional<OpenModel> open;
  unsigned atATime = 1; ///< Parts that are planned side by side.
  /// Of the plans of parts.
  std::shared_ptr<space::GroupNames> known = std::make_shared<space::GroupNames>();
  std::shared_ptr<TriedValues> seen = std::make_shared<TriedValues>();
  derive::Assumptions assumed;
};

} // namespace

/// Everything after import; `path` is the file, or "".
static Expected<CompileReport> compileImported(const te::Program &imported, const std::string &path,
                                               const CompileOptions &options, runtime::Device &host,
                                               runtime::ArtifactWriter &writer, Phases &phases,
                                               CompileReport &report) {
  KINTSUGI_ASSIGN(std::unique_ptr<targets::Target> target, makeTarget(options.target));
  link::LinkOptions linking = linkOptions(options, path);
  if (options.cubins) {
    KINTSUGI_ASSIGN(linking.target.assembler, findAssembler());
  }
  std::unique_ptr<targets::Target> constantsTarget;
  if (!runsOnHost(*target)) {
    KINTSUGI_ASSIGN(constantsTarget, makeTarget("cpu"));
    linking.constantsTarget = constantsTarget.get();
  }
  link::Linker linker(*target, host, writer, linking);
  Compilation compilation(*target, linker, linking, host, phases, report);
  KINTSUGI_RETURN_IF_ERROR(compilation.run(imported, path, options));
  Json provenance = report.toJson();
  provenance.erase("constant_bytes"); // Not known before the link that writes the provenance.
  KINTSUGI_ASSIGN(link::LinkReport linked,
                  phases.run("link", [&] { return linker.finish(provenance); }));
  report.constantBytes = linked.constantBytes;
  return report;
}

/// The model, and options that import it at other sizes in the same way. Steps of an open dimension
/// are not followed through all that data decide: where they keep it from being open, whatever they
/// decide is computed.
static Expected<te::Program> importOpenly(const std::string &path, CompileOptions &options,
                                          Diagnostics &diagnostics) {
  KINTSUGI_ASSIGN(te::Program imported, importModel(path, options, diagnostics));
  auto isEndedByData = [](const te::Node &node) {
    const auto *scan = std::get_if<te::Scan>(&node);
    return scan && scan->goesOnWhile.has_value();
  };
  if (options.open.empty() || llvm::none_of(imported.nodes, isEndedByData) ||
      openModel(imported, path, options).ok())
    return imported;
  CompileOptions computing = options;
  computing.import.computesAll = true;
  Diagnostics said; // The same.
  Expected<te::Program> all = importModel(path, computing, said);
  if (!all.ok())
    return imported;
  options = std::move(computing);
  return all;
}

Expected<CompileReport> compile(const std::string &path, const CompileOptions &options,
                                runtime::Device &host, runtime::ArtifactWriter &writer,
                                Diagnostics &diagnostics) {
  CompileReport report;
  CompileOptions its = options;
  Phases phases(its, report);
  KINTSUGI_ASSIGN(te::Program imported,
                  phases.run("import", [&] { return importOpenly(path, its, diagnostics); }));
  return compileImported(imported, path, its, host, writer, phases, report);
}

Expected<CompileReport> compile(const te::Program &program, const CompileOptions &options,
                                runtime::Device &host, runtime::ArtifactWriter &writer) {
  CompileReport report;
  Phases phases(options, report);
  return compileImported(program, "", options, host, writer, phases, report);
}

Expected<std::string> emit(const std::string &path, const CompileOptions &options, Box box,
                           runtime::Device &host, Diagnostics &diagnostics) {
  CompileReport report;
  CompileOptions sized = options;
  Phases phases(options, report);
  KINTSUGI_ASSIGN(te::Program imported,
                  phases.run("import", [&] { return importOpenly(path, sized, diagnostics); }));
  KINTSUGI_ASSIGN(std::unique_ptr<targets::Target> target, makeTarget(options.target));
  std::optional<OpenModel> open;
  if (!options.open.empty()) {
    KINTSUGI_ASSIGN(open, openModel(imported, path, sized));
  }
  if (std::optional<te::Program> asking = openedProgram(imported, open, sized))
    imported = std::move(*asking);
  KINTSUGI_ASSIGN(Prepared model, prepared(imported, sized, host, phases, report));
  if (box == Box::Expressions)
    return te::printProgram(model.simplified);
  bool wantsTexts = box == Box::Space || box == Box::Problem;
  CompileOptions its = ofProgram(model.program(), sized);
  Planning planning{its, *target, phases, *model.memo, wantsTexts};
  KINTSUGI_ASSIGN(ChosenForm form,
                  planWithRecords(model.program(), planning, options.recordsInUse()));
  append(options.log, form.plan->log);
  if (box == Box::Derived)
    return te::printProgram(*form.program);
  if (box == Box::Space)
    return form.plan->texts.space;
  if (box == Box::Problem)
    return form.plan->texts.problem;
  orchestrate::Plan &plan = form.plan->plan;
  addChecks(plan, model.lowered.inputs);
  if (box == Box::Plan)
    return plan.print();
  KINTSUGI_ASSIGN(tile::TileProgram tiles, tile::buildTileProgram(allKernels(plan, *target)));
  KINTSUGI_RETURN_IF_ERROR(tiles.verify());
  if (box == Box::Tile)
    return tiles.print();
  if (!runsOnHost(*target))
    tiles.launches = link::launchesOf(plan);
  tiles.calls = plan.sites;
  auto code = box == Box::Llvm ? targets::CodeForm::LLVM : targets::CodeForm::Assembly;
  return target->emit(tiles, code, targetOptions(options));
}

Json CompileReport::toJson() const {
  Json json = Json::object();
  json["model"] = model;
  json["target"] = target;
  json["precision"] = nameOf(precision);
  json["levels"] = levels;
  json["operators"] = operators;
  json["definitions"] = definitions;
  json["candidates"] = candidates;
  json["kernels"] = kernels;
  json["distinct_kernels"] = distinctKernels;
  json["tuned_kernels"] = tunedKernels;
  json["launches"] = launches;
  json["objective_seconds"] = objectiveSeconds;
  json["gap"] = gap;
  json["constant_bytes"] = constantBytes;
  json["arena_bytes"] = arenaBytes;
  json["exactness"] = exactness;
  return json;
}

} // namespace kintsugi::pipeline
