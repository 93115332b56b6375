#include "pipeline/preparing.h"

#include "derive/rule.h"
#include "pipeline/forms.h"
#include "pipeline/kept_nodes.h"
#include "pipeline/targets.h"
#include "pipeline/trial_run.h"
#include "pipeline/tried_values.h"
#include "simplify/simplify.h"
#include "simplify/storage_types.h"
#include "simplify/store_narrow.h"
#include "te/hash.h"
#include "verify/policy.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace kintsugi::pipeline {

namespace {

unsigned countOperators(const te::Program &program) {
  std::set<std::string> names;
  for (const std::vector<std::string> &origins : program.origins)
    names.insert(origins.begin(), origins.end());
  return names.size();
}

Json describeExactness(const te::Program &program, Precision precision) {
  Json json = Json::object();
  std::vector<verify::Exactness> all = verify::exactnessOf(program, precision);
  for (auto [output, exactness] : llvm::zip(te::modelOutputs(program), all))
    json[output.name] = {{"depth", exactness.depth}, {"coarsest", nameOf(exactness.coarsest)}};
  return json;
}

/// Nothing is known of values that a trial had no number for, which the user is told.
std::vector<double> withoutUnseen(std::vector<double> greatest, CompileReport &report) {
  if (unsigned unseen = llvm::count_if(greatest, [](double each) { return each < 0; }))
    report.notes.push_back("--precision f16: " + std::to_string(unseen) +
                           " values had no finite number on the inputs that were tried, and are "
                           "taken to fit; give inputs of your own by --calibrate");
  for (double &each : greatest)
    each = std::max(each, 0.0);
  return greatest;
}

/// What values of 16 bits have to hold; nothing where that can't be seen.
Expected<std::vector<double>> rangesOf(const te::Program &imported, const te::Program &program,
                                       const CompileOptions &options, runtime::Device &host,
                                       CompileReport &report) {
  if (options.disabled.has("storage-scales") || storageOf(options.precision) != ElementType::F16)
    return std::vector<double>();
  Expected<std::vector<Tensor>> feeds = trialFeeds(imported, options, largeFeeds);
  if (!feeds.ok() && !options.calibration.empty())
    return feeds.takeError();
  Expected<std::vector<double>> greatest = feeds.ok()
                                               ? greatestMagnitudes(program, *feeds, options, host)
                                               : Expected<std::vector<double>>(feeds.takeError());
  if (greatest.ok())
    return withoutUnseen(std::move(*greatest), report);
  ErrorKind kind = greatest.error().kind;
  bool isOfUser = kind == ErrorKind::Input && !options.calibration.empty();
  if (isOfUser || kind == ErrorKind::Internal)
    return greatest;
  std::string decision =
      "is taken to be wide enough for what the expressions don't say to leave it";
  std::string advice = "use bf16 if a result is not finite";
  report.notes.push_back("--precision f16: the range of f16 " + decision + ": " +
                         greatest.error().message + "; " + advice);
  if (options.log)
    options.log->add(
        {"precision", "the range of f16", decision, {greatest.error().message, advice}, {}});
  return std::vector<double>();
}

/// What has to be known of a program before it is stored in fewer bits.
Expected<simplify::Tried> triedOf(const te::Program &imported, const te::Program &program,
                                  ElementType narrow, const CompileOptions &options,
                                  runtime::Device &host, CompileReport &report) {
  if (options.seen)
    if (std::optional<simplify::Tried> known = options.seen->of(program))
      return std::move(*known);
  simplify::Tried tried;
  KINTSUGI_ASSIGN(tried.greatest, rangesOf(imported, program, options, host, report));
  if (options.maxError != 0) {
    KINTSUGI_ASSIGN(std::vector<Tensor> feeds, trialFeeds(imported, options, usualFeeds));
    KINTSUGI_ASSIGN(tried.kept, keptNodes(program, narrow, tried.greatest, std::move(feeds),
                                          options, host, report));
  }
  if (options.tried)
    options.tried->add(program, tried);
  return tried;
}

Expected<Prepared> lowered(te::Program program, explain::Log *log) {
  Prepared result{std::move(program), {}};
  result.lowered = simplify::lowerChecks(result.simplified, log);
  KINTSUGI_ASSIGN(result.lowered.program, checked(std::move(result.lowered.program)));
  return result;
}

/// What comes of a program in 16 bits: of it as it is, or of what rules make of it before.
class Narrowing {
public:
  Narrowing(const te::Program &imported, const CompileOptions &options, ElementType narrow,
            runtime::Device &host, Phases &phases, CompileReport &report)
      : imported(imported), options(options), narrow(narrow), host(host), phases(phases),
        report(report) {}

  Expected<Prepared> run(te::Program program) {
    Way plain, derived;
    derive::Assumptions ofAll;
    if (!isReference()) {
      KINTSUGI_ASSIGN(program,
                      beforeStorage(std::move(program), options, phases, ofAll, facts, true));
    }
    KINTSUGI_RETURN_IF_ERROR(store(program, plain, ofAll));
    if (isReference())
      return take(plain);
    derive::Assumptions assumed = ofAll;
    KINTSUGI_ASSIGN(te::Program changed,
                    beforeStorage(program, logging(derived), phases, assumed, facts, false));
    if (te::hashOf(changed) == te::hashOf(program))
      return take(plain);
    KINTSUGI_RETURN_IF_ERROR(store(changed, derived, assumed));
    if (areConstantsCold(derived) == areConstantsCold(plain))
      derived.prepared.memo = plain.prepared.memo; // Else they are scheduled otherwise.
    KINTSUGI_ASSIGN(double before, secondsOf(plain));
    KINTSUGI_ASSIGN(double after, secondsOf(derived));
    bool isQuicker = after < before * (1 - cost::Margins().alternatives);
    if (options.log)
      options.log->add({"precision",
                        "program '" + program.name + "'",
                        isQuicker ? "rules come before values are stored in 16 bits"
                                  : "no rules come before values are stored in 16 bits",
                        {"by the plans of the rules' own forms"},
                        {{"with them", after, "s"}, {"without", before, "s"}}});
    return take(isQuicker ? derived : plain);
  }

private:
  struct Way {
    Prepared prepared;
    CompileReport report; ///< Its notes alone.
    explain::Log log;
  };

  bool isReference() const { return options.target == "reference"; }

  CompileOptions logging(Way &way) const {
    CompileOptions result = options;
    result.log = options.log ? &way.log : nullptr;
    return result;
  }

  Status store(const te::Program &program, Way &way, const derive::Assumptions &assumed) {
    CompileOptions its = logging(way);
    KINTSUGI_ASSIGN(way.prepared, phases.run("simplify", [&]() -> Expected<Prepared> {
      KINTSUGI_ASSIGN(simplify::Tried tried,
                      triedOf(imported, program, narrow, its, host, way.report));
      te::Program stored = simplify::storeNarrow(program, narrow, tried, its.log);
      KINTSUGI_ASSIGN(stored, checked(isReference() ? simplify::promoteToDouble(stored)
                                                    : simplify::simplify(stored)));
      return lowered(std::move(stored), its.log);
    }));
    way.prepared.assumed = assumed;
    return Status::success();
  }

  Prepared take(Way &way) {
    append(options.log, way.log);
    llvm::append_range(report.notes, way.report.notes);
    return std::move(way.prepared);
  }

  bool areConstantsCold(const Way &way) const {
    return ofProgram(way.prepared.program(), options).coldConstants;
  }

  /// Of the plan of the form that rules choose alone.
  Expected<double> secondsOf(const Way &way) const {
    const te::Program &program = way.prepared.program();
    CompileOptions quick = ofProgram(program, options);
    quick.disabled.add("alternatives");
    explain::Log ofTrial; // Plans that are needed again have to say what they say then.
    quick.log = options.log ? &ofTrial : nullptr;
    KINTSUGI_ASSIGN(std::unique_ptr<targets::Target> target, makeTarget(quick.target));
    KINTSUGI_ASSIGN(ChosenForm form,
                    planForm(program, {quick, *target, phases, *way.prepared.memo}));
    return form.plan->plan.objectiveSeconds;
  }

  const te::Program &imported;
  const CompileOptions &options;
  ElementType narrow;
  runtime::Device &host;
  Phases &phases;
  CompileReport &report;
  derive::ConstantFacts facts; ///< Constants are looked at once for all that comes before.
};

} // namespace

Expected<Prepared> prepared(const te::Program &imported, const CompileOptions &options,
                            runtime::Device &host, Phases &phases, CompileReport &report) {
  report.target = options.target;
  report.precision = options.precision;
  report.operators = countOperators(imported);
  report.exactness = describeExactness(imported, options.precision);
  report.model = imported.name;
  std::optional<ElementType> narrow = storageOf(options.precision);
  bool isDouble = options.rounding || (options.target == "reference" && !narrow);
  KINTSUGI_ASSIGN(te::Program program, phases.run("simplify", [&]() -> Expected<te::Program> {
    std::optional<te::Program> ofBytes;
    if (simplify::hasStorageTypes(imported)) {
      KINTSUGI_ASSIGN(ofBytes, checked(simplify::withoutStorageTypes(imported)));
    }
    const te::Program &computed = ofBytes ? *ofBytes : imported;
    if (options.rounding)
      return checked(simplify::promoteToDouble(computed, options.rounding));
    te::Program result = simplify::simplify(computed, options.log);
    return checked(isDouble ? simplify::promoteToDouble(result) : std::move(result));
  }));
  return narrow && !options.rounding
             ? Narrowing(imported, options, *narrow, host, phases, report).run(std::move(program))
             : lowered(std::move(program), options.log);
}

} // namespace kintsugi::pipeline
