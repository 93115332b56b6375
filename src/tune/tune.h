//===- tune.h - Measuring what the cost model only predicts ----------------------===//
//
// Improves a plan within a budget of seconds: the kernels that a run spends most time in are
// searched for better schedules, each measured on the device (kernel_search.h), and what is found
// goes into the records at once. Then the kernels of the plan are timed in its runs, in the state
// in which they meet their data, and the model is planned again by these seconds until the plan has
// no kernel that was not timed. That plan runs against the one of predictions alone: a kernel that
// does not keep there what it promised alone loses its schedule, and a plan that is not quicker as
// a whole does not ship. All of it is done again where the plan that this leads to has kernels that
// were not searched, so a later compile finds nothing left to measure.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TUNE_TUNE_H
#define KINTSUGI_TUNE_TUNE_H

#include "base/diagnostics.h"
#include "cost/measurer.h"
#include "explain/log.h"
#include "tune/race.h"
#include "tune/records.h"

namespace kintsugi::tune {

/// What tuning asks of whoever knows the whole way from a program to a model.
struct Workshop {
  /// The plan of the program by what was measured, or (null) by predictions alone.
  std::function<Expected<orchestrate::Plan>(const space::MeasuredKernels *)> plan;
  std::function<Expected<Model>(const orchestrate::Plan &)> build;
  std::vector<Tensor> feeds; ///< One for each input.
};

struct TuneOptions {
  double seconds = 0; ///< Nothing is started after; what is under way ends.
  unsigned threads = 0;
  search::ScheduleOptions schedule;
  Hash128 model; ///< Its modelKey.
  Progress progress;
  explain::Log *log = nullptr;
};

struct TuneReport {
  unsigned kernels = 0;  ///< Distinct ones of the last plan that matter and can be measured.
  unsigned searched = 0; ///< Of them now, not in an earlier run.
  int64_t schedules = 0; ///< That were measured now.
  unsigned timed = 0;    ///< Distinct kernels that were timed in runs of the model now.
  unsigned plans = 0;    ///< In which they were.
  bool complete = true;  ///< Whether the budget sufficed to search all of them to the end.
  double defaultSeconds = 0, tunedSeconds = 0; ///< Medians of a run; 0 where none was timed now.
};

/// Measures, and leaves in `records` what it found. `plan` is what the records gave so far.
Expected<TuneReport> tune(const orchestrate::Plan &plan, Records &records, const Workshop &workshop,
                          cost::Measurer &measurer, const TuneOptions &options);

} // namespace kintsugi::tune

#endif // KINTSUGI_TUNE_TUNE_H
