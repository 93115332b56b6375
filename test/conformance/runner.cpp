//===- runner.cpp - Executes official ONNX backend cases --------------------===//
//
// usage: kintsugi-conformance CASES [--engine NAME] [--only TEXT] [--jobs N] [--seconds S]
//        [--memory-mib M]
//
// Writes a line for each case as it ends: name, "pass" or "fail", by what means its outputs came to
// be, milliseconds, and why it failed, with tabs between. scripts/conformance.py reads them.
//
//===----------------------------------------------------------------------===//
#include "case.h"
#include "compare.h"
#include "engine.h"
#include "forked.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kintsugi::conformance {
namespace {

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr uint64_t memoryLimit = 0; // Sanitizers reserve terabytes of addresses.
#else
constexpr uint64_t memoryLimit = uint64_t(4) << 30;
#endif

struct Options {
  std::string cases;
  std::string engine = "cpu";
  std::string only;
  ChildLimits limits{.seconds = 20, .bytes = memoryLimit, .jobs = 2};
};

std::optional<Options> parseOptions(int count, char **arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    std::string_view argument = arguments[i];
    if (argument.substr(0, 2) != "--" && options.cases.empty()) {
      options.cases = argument;
      continue;
    }
    if (i + 1 == count)
      return std::nullopt;
    const char *value = arguments[++i];
    if (argument == "--engine")
      options.engine = value;
    else if (argument == "--only")
      options.only = value;
    else if (argument == "--jobs")
      options.limits.jobs = static_cast<unsigned>(std::max(1, std::atoi(value)));
    else if (argument == "--seconds")
      options.limits.seconds = std::max(0.1, std::atof(value));
    else if (argument == "--memory-mib")
      options.limits.bytes = static_cast<uint64_t>(std::max(0, std::atoi(value))) << 20;
    else
      return std::nullopt;
  }
  return options.cases.empty() ? std::nullopt : std::optional(options);
}

/// The means of the last data set, once all of them came out right.
Expected<Means> runCase(Engine &engine, const Case &which) {
  Means means = Means::Generated;
  for (int64_t set = 0; set < which.sets; ++set) {
    KINTSUGI_ASSIGN(auto inputs, loadTensors(which, set, "input"));
    KINTSUGI_ASSIGN(auto expected, loadTensors(which, set, "output"));
    KINTSUGI_ASSIGN(Outcome outcome, engine.run(which, std::move(inputs)));
    means = outcome.means;
    for (const std::string &name : which.outputs) {
      auto actual = outcome.outputs.find(name);
      if (actual == outcome.outputs.end())
        return internalError("output '" + name + "' is missing");
      if (auto wrong = difference(actual->second, expected.at(name), which.rtol, which.atol))
        return Error{ErrorKind::Comparison, "output '" + name + "' " + *wrong};
    }
  }
  return means;
}

/// By each of the engines; the means are those of the first.
Expected<Means> runCase(llvm::ArrayRef<std::unique_ptr<Engine>> engines, const Case &which) {
  if (!which.unsupported.empty())
    return inputError(which.unsupported);
  std::optional<Means> means;
  for (const std::unique_ptr<Engine> &engine : engines) {
    Expected<Means> own = runCase(*engine, which);
    if (!own.ok() && means) // What fails at every level has nothing to do with it.
      return Error{own.error().kind,
                   "at " + std::string(engine->level()) + " " + own.error().message};
    KINTSUGI_RETURN_IF_ERROR(own.status());
    means = means.value_or(*own);
  }
  return *means;
}

/// What the child sends: the means, or a reason behind a minus sign.
std::string encode(const Expected<Means> &result) {
  return result.ok() ? nameOf(*result) : "-" + result.error().message;
}

std::string oneLine(std::string text) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < ' ')
      c = ' ';
  return text;
}

void report(const Case &which, const ChildResult &result) {
  std::string text = result.outcome.ok() ? *result.outcome : "-" + result.outcome.error().message;
  bool passed = text[0] != '-';
  std::printf("%s\t%s\t%s\t%.1f\t%s\n", which.name.c_str(), passed ? "pass" : "fail",
              passed ? text.c_str() : "", result.seconds * 1e3,
              passed ? "" : oneLine(text.substr(1)).c_str());
  std::fflush(stdout);
}

int fail(const Error &error) {
  std::fprintf(stderr, "kintsugi-conformance: %s\n", error.message.c_str());
  return static_cast<int>(error.kind);
}

int runAll(const Options &options) {
  std::vector<std::unique_ptr<Engine>> engines = makeEngines(options.engine);
  if (engines.empty())
    return fail(usageError("there is no engine '" + options.engine + "'"));
  auto cases = loadCases(options.cases);
  if (!cases.ok())
    return fail(cases.error());
  std::erase_if(*cases, [&](const Case &which) {
    return which.name.find(options.only) == std::string::npos;
  });
  Status status = runForked(
      cases->size(), options.limits,
      [&](size_t number) { return encode(runCase(engines, (*cases)[number])); },
      [&](size_t number, const ChildResult &result) { report((*cases)[number], result); });
  return status.ok() ? 0 : fail(status.error());
}

} // namespace
} // namespace kintsugi::conformance

int main(int count, char **arguments) {
  auto options = kintsugi::conformance::parseOptions(count, arguments);
  if (!options) {
    std::fprintf(stderr, "usage: kintsugi-conformance CASES [--engine NAME] [--only TEXT] "
                         "[--jobs N] [--seconds S] [--memory-mib M]\n");
    return 2;
  }
  return kintsugi::conformance::runAll(*options);
}
