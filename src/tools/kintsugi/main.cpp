//===- main.cpp - The command line -----------------------------------------===//
//
// A thin shell over the C interface: reads the arguments, calls one function, shows its report.
// docs/command-line.md describes what scripts may rely on.
//
//===----------------------------------------------------------------------===//

#include "api/compiler/worker.h"
#include "api/compiler/worker_program.h"
#include "base/diagnostics.h"
#include "base/files.h"
#include "explain/render.h"
#include "kintsugi/compiler.h"
#include "tools/kintsugi/arguments.h"
#include "tools/kintsugi/interrupt.h"
#include "tools/kintsugi/progress.h"
#include "tools/kintsugi/show.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>

using namespace kintsugi;
using namespace kintsugi::tool;

namespace {

struct FreeText {
  void operator()(KinText *text) const { kin_text_free(text); }
};
using Text = std::unique_ptr<KinText, FreeText>;

constexpr uint64_t defaultCacheBytes = uint64_t(10) << 30; ///< What gc leaves.

int reportProgress(void *user, const char *phase, uint64_t step, uint64_t steps) {
  static_cast<ProgressLine *>(user)->show(phase, step, steps);
  return 1;
}

const char *orNull(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

/// Calls the function behind a verb.
KinStatus call(const Arguments &arguments, const KinCompilerOptions &options, KinText **report,
               KinError **error) {
  const char *model = arguments.model.c_str();
  const std::string &verb = arguments.verb;
  if (verb == "compile" && !arguments.emit.empty())
    return kin_emit(model, arguments.emit.c_str(), &options, report, error);
  if (verb == "compile")
    return kin_compile(model, arguments.output.c_str(), &options, report, error);
  if (verb == "run")
    return kin_run_file(model, orNull(arguments.inputs), orNull(arguments.output), &options, report,
                        error);
  if (verb == "bench")
    return kin_bench(model, orNull(arguments.inputs), arguments.seconds, &options, report, error);
  if (verb == "profile")
    return kin_profile(model, orNull(arguments.inputs), arguments.seconds, orNull(arguments.trace),
                       &options, report, error);
  if (verb == "compare" && arguments.perKernel)
    return kin_compare_kernels(model, orNull(arguments.inputs), &options, report, error);
  if (verb == "compare")
    return kin_compare(model, orNull(arguments.inputs), orNull(arguments.expected), &options,
                       report, error);
  if (verb == "inspect")
    return kin_inspect(model, &options, report, error);
  if (verb == "explain")
    return kin_explain(model, &options, report, error);
  if (verb == "rules")
    return kin_rules(report, error);
  if (verb == "operators")
    return kin_operators(report, error);
  if (verb == "cache")
    return kin_cache(model, arguments.maxBytes.value_or(defaultCacheBytes), report, error);
  return kin_machine(arguments.machineAction.c_str(), report, error);
}

int fail(const std::string &message, int code) {
  std::fprintf(stderr, "kintsugi: %s\n", oneLine(message).c_str());
  return code;
}

/// Everything to the output stream; a failure to write is the machine's.
int print(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return fail(std::string("can't write the output: ") + std::strerror(errno), KIN_MACHINE);
  return KIN_OK;
}

int writeText(const std::string &path, const std::string &text) {
  if (path.empty() || path == "-")
    return print(text);
  Status status = writeFileAtomic(path, text);
  return status.ok() ? KIN_OK : fail(status.error().message, int(status.error().kind));
}

/// Puts a verb's result where it belongs.
int deliver(const Arguments &arguments, const std::string &result) {
  if (!arguments.emit.empty())
    return writeText(arguments.output, result);
  if (arguments.json && arguments.html.empty())
    return print(result + "\n");
  Expected<Json> report = parseJson(result);
  if (!report.ok())
    return fail("a report is no JSON: " + report.error().message, KIN_INTERNAL);
  if (!arguments.html.empty()) {
    int code = writeText(arguments.html, explain::renderHtml(*report));
    if (code != KIN_OK || arguments.html == "-")
      return code;
  }
  if (arguments.json)
    return print(result + "\n");
  if (auto notes = report->find("notes"); notes != report->end() && !arguments.quiet)
    for (const Json &note : *notes)
      std::fprintf(stderr, "kintsugi: %s\n", oneLine(note.get<std::string>()).c_str());
  bool toFile = arguments.verb == "bench" || arguments.verb == "profile";
  if (toFile && !arguments.output.empty()) {
    int code = writeText(arguments.output, result + "\n");
    if (code != KIN_OK || arguments.output == "-")
      return code;
  }
  if (arguments.decisions && (*report)["decisions"].is_null())
    return fail(arguments.model + ": is an artifact, which does not say what was decided; "
                                  "explain the model that it came from",
                KIN_USAGE);
  return arguments.quiet ? KIN_OK : print(show(arguments.verb, *report, arguments.decisions));
}

/// The files that a verb reads besides the model.
std::vector<std::string> readFiles(const Arguments &arguments) {
  std::vector<std::string> files = {arguments.inputs, arguments.expected};
  const Json &options = arguments.options;
  if (auto found = options.find("calibrate"); found != options.end())
    files.push_back(found->get<std::string>());
  if (auto found = options.find("bind"); found != options.end())
    for (const Json &file : *found)
      files.push_back(file.get<std::string>());
  return files;
}

/// What is wrong with the files that a verb writes; empty where nothing is.
std::string conflictOfFiles(const Arguments &arguments) {
  std::error_code isMissing;
  for (const std::string &written : {arguments.output, arguments.trace, arguments.html}) {
    if (written.empty())
      continue;
    if (std::filesystem::equivalent(arguments.model, written, isMissing))
      return written + ": is the model itself; name another file for what is written";
    for (const std::string &read : readFiles(arguments))
      if (!read.empty() && std::filesystem::equivalent(read, written, isMissing))
        return written + ": is one of the files to read; name another file for what is written";
  }
  if (!arguments.trace.empty() && arguments.trace == arguments.output)
    return arguments.trace + ": is for the report; name another file for the trace";
  return "";
}

/// What is wrong with flags that are each right; empty where nothing is.
std::string conflictIn(const Arguments &arguments) {
  if (arguments.verb == "compile" && arguments.emit.empty() && arguments.output.empty())
    return "compile: say where the artifact goes with -o FILE";
  if (!arguments.emit.empty() && arguments.json)
    return "compile: --json has no effect with --emit, whose text is no report";
  if (arguments.decisions && (arguments.json || arguments.quiet))
    return "explain: --decisions has no effect with --json, which has them all, or --quiet";
  if (arguments.html == "-" && arguments.json)
    return "explain: --html - and --json both print; name a file for one";
  if (arguments.verb == "cache" && arguments.model != "gc" && arguments.maxBytes)
    return "cache: --max-bytes is for gc";
  return conflictOfFiles(arguments);
}

int runVerb(const Arguments &arguments) {
  if (std::string conflict = conflictIn(arguments); !conflict.empty())
    return fail(conflict, KIN_USAGE);
  ProgressLine progress(arguments.quiet);
  std::string json = printJson(arguments.options);
  KinCompilerOptions options = {sizeof(options), json.c_str(), reportProgress, &progress};
  KinText *result = nullptr;
  KinError *error = nullptr;
  KinStatus status = call(arguments, options, &result, &error);
  Text owned(result);
  progress.finish();
  int code = result ? deliver(arguments, kin_text_data(result)) : int(KIN_OK);
  if (status != KIN_OK)
    code = fail(kin_error_message(error), status);
  kin_error_free(error);
  return code;
}

int serveRequest() { return api::serveRequest(); }

int runProgram(int argc, char **argv) {
  stopCleanlyOnSignals();
  Parsed parsed = parseArguments(argc, argv);
  if (!parsed.exitCode)
    return runVerb(parsed.arguments);
  if (*parsed.exitCode == 0)
    return print(parsed.message);
  return fail(parsed.message, *parsed.exitCode);
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::string_view(argv[1]) == api::workerArgument)
    return serveRequest();
  api::useThisProgramAsWorker(serveRequest);
  try {
    return runProgram(argc, argv);
  } catch (const std::bad_alloc &) {
    return fail("not enough memory", KIN_MACHINE);
  }
}
