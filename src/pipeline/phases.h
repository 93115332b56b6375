//===- phases.h - The steps of a compilation, timed -------------------------===//
//
// Times phases, tells progress, and stops where the user asked to. Any thread may run one.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_PHASES_H
#define KINTSUGI_PIPELINE_PHASES_H

#include "pipeline/pipeline.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>

namespace kintsugi::pipeline {

class Phases {
public:
  Phases(const CompileOptions &options, CompileReport &report) : options(options), report(report) {}

  template <typename Work> auto run(const char *name, Work work) -> decltype(work()) {
    std::optional<size_t> number = begin(name);
    if (!number)
      return usageError("stopped before '" + std::string(name) + "'");
    auto start = std::chrono::steady_clock::now();
    auto result = work();
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    end(*number, taken.count());
    return result;
  }

  /// Tells progress within a phase; whether to go on.
  bool tell(std::string_view phase, uint64_t step, uint64_t steps);

  /// While so many threads run phases, a second of one counts for its share of a second.
  class SideBySide {
  public:
    SideBySide(Phases &phases, size_t threads) : phases(phases) { phases.atATime = threads; }
    ~SideBySide() { end(); }
    void end() { phases.atATime = 1; }

  private:
    Phases &phases;
  };

private:
  /// The number of a phase, of which progress is told; none where the user asks to stop.
  std::optional<size_t> begin(const char *name);
  void end(size_t number, double seconds);
  /// A phase that comes back, or is run for several levels, is one, and no step further.
  size_t numberOf(const char *name);
  /// As many as there are with nothing disabled, for progress to be told of.
  size_t total() const;

  const CompileOptions &options;
  CompileReport &report;
  std::mutex mutex; ///< Of the report, and of who tells progress.
  std::atomic<size_t> atATime = 1;
};

/// A program that a phase has made, verified.
Expected<te::Program> checked(te::Program program);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_PHASES_H
