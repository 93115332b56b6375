//===- reports.h - What the verbs that look at models answer ----------------===//
//
// One function for each, from a path and settings to a JSON object; docs/command-line.md lists the
// fields, which scripts rely on.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_REPORTS_H
#define KINTSUGI_API_COMPILER_REPORTS_H

#include "api/compiler/settings.h"

namespace kintsugi::api {

/// Runs once; `outputs` is a file to write, or empty.
Expected<Json> runFile(const std::string &model, const std::string &inputs,
                       const std::string &outputs, const Settings &settings);

Expected<Json> bench(const std::string &model, const std::string &inputs, double seconds,
                     const Settings &settings);

/// Times each stage of runs, and says what the model's nodes have of it; `trace` is a file for one
/// of the runs, stage by stage, or empty.
Expected<Json> profile(const std::string &model, const std::string &inputs, double seconds,
                       const std::string &trace, const Settings &settings);

/// Against the outputs in the file `expected`, or those of the reference where it is empty. The
/// report's "within" says whether all are what the policy allows.
Expected<Json> compare(const std::string &model, const std::string &inputs,
                       const std::string &expected, const Settings &settings);

Expected<Json> explain(const std::string &model, const Settings &settings);

/// Which operators can be imported, as kin_operators() has it.
Json describeOperators();

/// "show", "measure" or "forget"; a usage error for another word.
Expected<Json> describeMachine(const std::string &action);

/// "ls", "gc" or "clear"; a usage error for another word.
Expected<Json> manageCache(const std::string &action, uint64_t maxBytes);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_REPORTS_H
