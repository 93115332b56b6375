//===- compiler_api.cpp - The C interface of the compiler -----------------===//

#include "kintsugi/compiler.h"

#include "api/compiler/artifacts.h"
#include "api/compiler/feed_sizes.h"
#include "api/compiler/reports.h"
#include "api/compiler/worker_process.h"
#include "api/runtime/runtime_api.h"
#include "pipeline/switches.h"
#include "pipeline/version.h"

#include <cmath>
#include <cstdio>
#include <new>

using namespace kintsugi;

struct KinText {
  std::string text;
};

static void setText(KinText **result, std::string text) {
  if (result)
    *result = new KinText{std::move(text)};
}

static Status setReport(KinText **result, Expected<Json> report) {
  if (!report.ok())
    return report.takeError();
  setText(result, printJson(*report, 1));
  return Status::success();
}

/// Runs `body`, which returns a Status. No exception leaves the C interface.
template <typename Body> static KinStatus guarded(KinText **text, KinError **error, Body body) {
  if (text)
    *text = nullptr;
  return api::guarded(error, body);
}

/// The same for what takes a model and options and reports about it.
template <typename Body>
static KinStatus withModel(const char *model, const KinCompilerOptions *options, KinText **report,
                           KinError **error, Body body) {
  return guarded(report, error, [&]() -> Status {
    if (!model)
      return usageError("there is no model");
    KINTSUGI_ASSIGN(api::Settings settings, api::readSettings(options));
    return setReport(report, body(std::string(model), settings));
  });
}

static std::string orEmpty(const char *text) { return text ? text : ""; }

/// The same for what runs it: `body` takes also an .npz file with inputs, whose shapes give open
/// dimensions their sizes.
template <typename Body>
static KinStatus withInputs(const char *model, const char *inputs,
                            const KinCompilerOptions *options, KinText **report, KinError **error,
                            Body body) {
  return withModel(model, options, report, error,
                   [&](const std::string &path, const api::Settings &settings) -> Expected<Json> {
                     std::string feeds = orEmpty(inputs);
                     KINTSUGI_ASSIGN(api::Settings sized, api::sizedByFeeds(settings, path, feeds));
                     return body(path, feeds, sized);
                   });
}

const char *kin_compiler_version(void) {
  static const std::string version = pipeline::compilerVersion();
  return version.c_str();
}

const char *kin_text_data(const KinText *text) { return text ? text->text.c_str() : ""; }

void kin_text_free(KinText *text) { delete text; }

KinStatus kin_compile(const char *model, const char *artifact, const KinCompilerOptions *options,
                      KinText **report, KinError **error) {
  return withModel(model, options, report, error,
                   [&](const std::string &path, const api::Settings &settings) -> Expected<Json> {
                     if (!artifact)
                       return usageError("there is no file to write the artifact to");
                     return api::compileTo(artifact, path, settings.forAllMachines());
                   });
}

static Expected<std::string> emitBox(const char *model, const char *name,
                                     const KinCompilerOptions *options) {
  if (!model || !name)
    return usageError("there is no model or no step to show");
  if (!pipeline::boxOf(name))
    return usageError("--emit " + std::string(name) +
                      ": use expressions, derived, space, problem, plan, tile, llvm or asm");
  KINTSUGI_RETURN_IF_ERROR(api::checkIsModel(model));
  KINTSUGI_ASSIGN(api::Settings settings, api::readSettings(options));
  if (settings.compile.tuneSeconds > 0)
    return usageError("--tune: has no effect on a step that is shown; compile with it first");
  if (settings.compile.cubins)
    return usageError("--cubins: has no effect on a step that is shown");
  KINTSUGI_ASSIGN(api::Answer answer, api::ask({api::Task::Emit, model, "", name}, settings));
  return std::move(answer.text);
}

KinStatus kin_emit(const char *model, const char *box, const KinCompilerOptions *options,
                   KinText **text, KinError **error) {
  return guarded(text, error, [&]() -> Status {
    KINTSUGI_ASSIGN(std::string emitted, emitBox(model, box, options));
    setText(text, std::move(emitted));
    return Status::success();
  });
}

static Expected<Json> prepareReport(const std::string &path, const api::Settings &settings) {
  if (!settings.cache)
    return usageError("an artifact is prepared in the cache: \"cache\" must not be false");
  KINTSUGI_ASSIGN(api::Prepared prepared, api::prepare(path, settings));
  Json report = prepared.report.is_null() ? Json::object() : std::move(prepared.report);
  report["artifact"] = prepared.path;
  report["cached"] = prepared.fromCache;
  return report;
}

KinStatus kin_prepare(const char *model, const KinCompilerOptions *options, KinText **report,
                      KinError **error) {
  return withModel(model, options, report, error, prepareReport);
}

KinStatus kin_run_file(const char *model, const char *inputs, const char *outputs,
                       const KinCompilerOptions *options, KinText **report, KinError **error) {
  return withInputs(model, inputs, options, report, error,
                    [&](const auto &path, const auto &feeds, const auto &settings) {
                      return api::runFile(path, feeds, orEmpty(outputs), settings);
                    });
}

KinStatus kin_bench(const char *model, const char *inputs, double seconds,
                    const KinCompilerOptions *options, KinText **report, KinError **error) {
  return withInputs(model, inputs, options, report, error,
                    [&](const auto &path, const auto &feeds, const auto &settings) {
                      return api::bench(path, feeds, seconds, settings);
                    });
}

KinStatus kin_profile(const char *model, const char *inputs, double seconds, const char *trace,
                      const KinCompilerOptions *options, KinText **report, KinError **error) {
  return withInputs(model, inputs, options, report, error,
                    [&](const auto &path, const auto &feeds, const auto &settings) {
                      return api::profile(path, feeds, seconds, orEmpty(trace), settings);
                    });
}

KinStatus kin_explain(const char *model, const KinCompilerOptions *options, KinText **report,
                      KinError **error) {
  return withModel(model, options, report, error, api::explain);
}

static Expected<Json> reportOf(Expected<api::Answer> answer) {
  if (!answer.ok())
    return answer.takeError();
  KINTSUGI_ASSIGN(const Json *report, jsonObject(answer->json, "report"));
  return *report;
}

static Expected<Json> inspectReport(const std::string &path, const api::Settings &settings) {
  if (api::isArtifact(path))
    return usageError(path + ": is an artifact; kintsugi explain shows what is in it");
  return reportOf(api::ask({api::Task::Inspect, path}, settings));
}

KinStatus kin_inspect(const char *model, const KinCompilerOptions *options, KinText **report,
                      KinError **error) {
  return withModel(model, options, report, error, inspectReport);
}

KinStatus kin_survey(const char *model, const KinCompilerOptions *options, KinText **report,
                     KinError **error) {
  return withModel(model, options, report, error,
                   [](const std::string &path, const api::Settings &settings) {
                     return reportOf(api::ask({api::Task::Survey, path}, settings));
                   });
}

/// `what`: the array of the report, "outputs" or "kernels".
static Error describeFailure(const Json &report, const std::string &what) {
  std::string names;
  for (const Json &entry : report[what])
    if (!entry["within"].get<bool>())
      names += (names.empty() ? "'" : ", '") + entry["name"].get<std::string>() + "'";
  return {ErrorKind::Comparison, what + " differ by more than the error policy allows: " + names};
}

/// What would bring outputs of floats inside; nothing where that can't be what is wrong.
static std::string adviceOn(const Json &report, const pipeline::CompileOptions &options) {
  if (!storageOf(options.precision) || options.maxError > 0)
    return "";
  double allowed = INFINITY;
  for (const Json &output : report["outputs"])
    for (const char *limit : {"allowed", "slice_allowed"})
      if (!output["within"].get<bool>() && output.contains(limit) && output[limit] > 0)
        allowed = std::min(allowed, output[limit].get<double>());
  if (!std::isfinite(allowed))
    return "";
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", allowed);
  return "; --max-error " + std::string(text) + " keeps in f32 what moves outputs so far";
}

KinStatus kin_compare(const char *model, const char *inputs, const char *expected,
                      const KinCompilerOptions *options, KinText **report, KinError **error) {
  return guarded(report, error, [&]() -> Status {
    if (!model)
      return usageError("there is no model");
    KINTSUGI_ASSIGN(api::Settings given, api::readSettings(options));
    KINTSUGI_ASSIGN(api::Settings settings, api::sizedByFeeds(given, model, orEmpty(inputs)));
    KINTSUGI_ASSIGN(Json found, api::compare(model, orEmpty(inputs), orEmpty(expected), settings));
    setText(report, printJson(found, 1));
    if (found["within"].get<bool>())
      return Status::success();
    Error failure = describeFailure(found, "outputs");
    failure.message += adviceOn(found, settings.compile);
    return failure;
  });
}

KinStatus kin_compare_kernels(const char *model, const char *inputs,
                              const KinCompilerOptions *options, KinText **report,
                              KinError **error) {
  return guarded(report, error, [&]() -> Status {
    if (!model)
      return usageError("there is no model");
    KINTSUGI_ASSIGN(api::Settings given, api::readSettings(options));
    KINTSUGI_ASSIGN(api::Settings settings, api::sizedByFeeds(given, model, orEmpty(inputs)));
    KINTSUGI_ASSIGN(
        Json found,
        reportOf(api::ask({api::Task::CompareKernels, model, orEmpty(inputs)}, settings)));
    setText(report, printJson(found, 1));
    return found["within"].get<bool>() ? Status::success()
                                       : Status(describeFailure(found, "kernels"));
  });
}

KinStatus kin_rules(KinText **rules, KinError **error) {
  return guarded(rules, error, [&]() -> Status {
    setText(rules, printJson(pipeline::describeSwitches(), 1));
    return Status::success();
  });
}

KinStatus kin_operators(KinText **operators, KinError **error) {
  return guarded(operators, error, [&]() -> Status {
    setText(operators, printJson(api::describeOperators(), 1));
    return Status::success();
  });
}

KinStatus kin_machine(const char *action, KinText **description, KinError **error) {
  return guarded(description, error,
                 [&] { return setReport(description, api::describeMachine(orEmpty(action))); });
}

KinStatus kin_cache(const char *action, uint64_t max_bytes, KinText **report, KinError **error) {
  return guarded(report, error,
                 [&] { return setReport(report, api::manageCache(orEmpty(action), max_bytes)); });
}
