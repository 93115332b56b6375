//===- phases.h - The steps of a compilation, timed -------------------------===//
//
// Times phases, tells progress, and stops where the user asked to.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_PHASES_H
#define KINTSUGI_PIPELINE_PHASES_H

#include "pipeline/pipeline.h"

#include <chrono>

namespace kintsugi::pipeline {

class Phases {
public:
  Phases(const CompileOptions &options, CompileReport &report) : options(options), report(report) {}

  template <typename Work> auto run(const char *name, Work work) -> decltype(work()) {
    size_t number = numberOf(name);
    if (options.progress && !options.progress(name, report.phases.size(), total()))
      return usageError("stopped before '" + std::string(name) + "'");
    auto start = std::chrono::steady_clock::now();
    auto result = work();
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    report.phases[number].seconds += taken.count();
    return result;
  }

private:
  /// A phase that comes back, or is run for several levels, is one, and no step further.
  size_t numberOf(const char *name);
  /// As many as there are with nothing disabled, for progress to be told of.
  size_t total() const;

  const CompileOptions &options;
  CompileReport &report;
};

/// A program that a phase has made, verified.
Expected<te::Program> checked(te::Program program);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_PHASES_H
