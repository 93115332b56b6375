#include "tune/tune.h"

#include "tune/device_measurer.h"
#include "tune/kernel_search.h"
#include "tune/pairs.h"
#include "llvm/ADT/STLExtras.h"

#include <chrono>

namespace kintsugi::tune {

using orchestrate::Kernel;
using orchestrate::Plan;
using orchestrate::Stage;

namespace {

/// Of the budget: the rest is for the races of whole plans.
constexpr double shareForKernels = 0.75;

class Deadline {
public:
  explicit Deadline(double seconds) : seconds(seconds), start(std::chrono::steady_clock::now()) {}
  /// Whether less than a share of the seconds has passed.
  bool within(double share) const {
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return passed.count() < share * seconds;
  }

private:
  double seconds;
  std::chrono::steady_clock::time_point start;
};

/// The kernel of each stage of the main program; -1 for a call.
std::vector<int> kernelsOfStages(const Plan &plan) {
  std::vector<int> kernels;
  Plan::forEachStage(plan.root, [&](unsigned number) {
    const Stage &stage = plan.stages[number];
    kernels.push_back(stage.kind == Stage::Kind::Kernel ? int(stage.kernel) : -1);
  });
  return kernels;
}

/// By kernel of the plan, the seconds of each run.
std::vector<std::vector<double>> timesOfKernels(const Plan &plan, const Runner &runner) {
  std::vector<std::vector<double>> seconds(plan.kernels.size());
  for (auto [kernel, times] : llvm::zip(kernelsOfStages(plan), runner.stages())) {
    if (kernel < 0)
      continue;
    seconds[kernel].resize(times.size(), 0);
    for (auto [sum, each] : llvm::zip(seconds[kernel], times))
      sum += each;
  }
  return seconds;
}

class Tuner {
public:
  Tuner(Records &records, const Workshop &workshop, cost::Measurer &measurer,
        const TuneOptions &options)
      : records(records), workshop(workshop), measurer(measurer), options(options),
        deadline(options.seconds) {}

  Expected<TuneReport> run(const Plan &plan) {
    collectKernels(plan);
    if (!report.complete) {
      KINTSUGI_RETURN_IF_ERROR(weigh(plan));
      KINTSUGI_RETURN_IF_ERROR(searchKernels());
    }
    KINTSUGI_RETURN_IF_ERROR(raceWithDefault());
    note();
    return report;
  }

private:
  struct Job {
    const Kernel *kernel;
    Hash128 key;
    double weight; ///< Its share of a run.
    std::optional<KernelSearch> search;
    unsigned steps = 0;
    bool failed = false; ///< Can't be measured.

    bool isDone() const { return failed || (search && search->hasEnded()); }
  };

  /// Those that take a share worth looking at, by the cost model's word: the same in every run.
  void collectKernels(const Plan &plan) {
    constexpr double least = 0.004;
    std::vector<double> seconds(plan.kernels.size(), 0);
    double total = 0;
    for (int kernel : kernelsOfStages(plan))
      if (kernel >= 0) {
        seconds[kernel] += plan.kernels[kernel].predictedSeconds;
        total += plan.kernels[kernel].predictedSeconds;
      }
    for (auto [kernel, own] : llvm::zip(plan.kernels, seconds)) {
      if (own < least * total || !kernel.program || !canBeMeasured(kernel.shape->schedule))
        continue;
      ++report.kernels;
      Job job{&kernel, space::tuningKey(kernel.shape->key, options.schedule), own / total, {}};
      const store::Measurement *known = records.find(job.key);
      if (known && known->tried >= fuel.points)
        continue;
      report.complete = false;
      jobs.push_back(std::move(job));
    }
  }

  /// What each kernel takes in a run of the model.
  Status weigh(const Plan &plan) {
    KINTSUGI_ASSIGN(Model model, workshop.build(plan));
    KINTSUGI_ASSIGN(Runner runner, Runner::create(model, workshop.feeds, options.threads));
    KINTSUGI_RETURN_IF_ERROR(runner.run().status());
    runner.forgetTimes();
    constexpr int runs = 3;
    for (int run = 0; run < runs && deadline.within(0.2); ++run)
      KINTSUGI_RETURN_IF_ERROR(runner.run().status());
    if (!runner.stages().empty() && runner.stages()[0].empty())
      return Status::success();
    std::vector<double> seconds;
    double total = 0;
    for (const std::vector<double> &times : timesOfKernels(plan, runner)) {
      seconds.push_back(quantile(times, 0.25));
      total += seconds.back();
    }
    for (Job &job : jobs)
      job.weight = seconds[job.kernel - plan.kernels.data()] / std::max(total, 1e-9);
    return Status::success();
  }

  /// One batch at a time for whoever has had the fewest, in proportion to its weight.
  Status searchKernels() {
    while (deadline.within(shareForKernels)) {
      Job *next = nullptr;
      auto urgency = [](const Job &job) { return job.weight / (1 + job.steps); };
      for (Job &job : jobs)
        if (!job.isDone() && (!next || urgency(job) > urgency(*next)))
          next = &job;
      if (!next)
        break;
      if (options.progress && !options.progress("tuning kernels", report.schedules, 0))
        return usageError("the tuning was stopped");
      KINTSUGI_RETURN_IF_ERROR(searchOn(*next));
    }
    report.complete =
        llvm::all_of(jobs, [](const Job &job) { return job.search && job.search->hasEnded(); });
    return Status::success();
  }

  Status searchOn(Job &job) {
    if (!job.search)
      startSearch(job);
    KernelSearch &search = *job.search;
    int64_t before = search.spent();
    ++job.steps;
    if (Status status = search.step(measurer); !status.ok())
      return fail(job, status.error().message);
    report.schedules += search.spent() - before;
    store::Measurement found{job.key, "", 0, 0, 0};
    found.tried = search.hasEnded() ? fuel.points : search.spent();
    // Where there was nothing to measure there is no time either, and any will do.
    found.defaultSeconds =
        search.defaultSeconds() > 0 ? search.defaultSeconds() : job.kernel->predictedSeconds;
    found.seconds = found.defaultSeconds * search.share();
    if (search.best())
      found.schedule = search.best()->print();
    return records.add(found);
  }

  /// The model has its default then; the other kernels can still be tuned.
  Status fail(Job &job, const std::string &reason) {
    job.failed = true;
    if (options.log)
      options.log->add({"tune", "kernel " + job.kernel->symbol, "can't be measured", {reason}, {}});
    return Status::success();
  }

  void startSearch(Job &job) {
    job.search.emplace(*job.kernel->program, job.kernel->group, options.schedule, fuel);
    ++report.searched;
    const store::Measurement *known = records.find(job.key);
    if (!known)
      return;
    std::optional<schedule::Point> point = schedule::Point::parse(known->schedule);
    job.search->resume(point.value_or(schedule::Point()),
                       point ? known->seconds / known->defaultSeconds : 1, known->tried);
  }

  /// The plan with tuned kernels against the one without, unless that is known.
  Status raceWithDefault() {
    constexpr int mostRaces = 3;
    std::optional<Plan> plain;
    std::optional<Runner> plainRunner;
    for (int round = 0; round < mostRaces; ++round) {
      space::TunedSchedules schedules = records.schedules();
      KINTSUGI_ASSIGN(Plan tuned, workshop.plan(&schedules));
      std::optional<Hash128> key = planKey(tuned);
      if (!key || records.find(*key))
        return Status::success();
      if (!plain) {
        KINTSUGI_ASSIGN(plain, workshop.plan(nullptr));
        KINTSUGI_ASSIGN(Model model, workshop.build(*plain));
        KINTSUGI_ASSIGN(plainRunner, Runner::create(model, workshop.feeds, options.threads));
      }
      KINTSUGI_ASSIGN(Model model, workshop.build(tuned));
      KINTSUGI_ASSIGN(Runner runner, Runner::create(model, workshop.feeds, options.threads));
      KINTSUGI_ASSIGN(Race times, raceOf(*plainRunner, runner));
      bool isLast = round + 1 == mostRaces;
      KINTSUGI_ASSIGN(bool any, isLast ? Expected<bool>(false)
                                       : dropLosers(*plain, *plainRunner, tuned, runner));
      if (!any)
        return judge(*key, times);
    }
    return Status::success();
  }

  Expected<Race> raceOf(Runner &plain, Runner &tuned) const {
    constexpr size_t leastPairs = 5, enoughPairs = 11, mostPairs = 200;
    constexpr double eachRace = 0.12; ///< Of the budget.
    if (options.progress && !options.progress("timing the tuned model", 0, 0))
      return usageError("the tuning was stopped");
    Deadline own(options.seconds);
    return race(plain, tuned, leastPairs, [&](size_t pairs) {
      return pairs < enoughPairs ? deadline.within(1) : pairs < mostPairs && own.within(eachRace);
    });
  }

  /// Tuned kernels that take longer in the model than the default does, by all that the times say.
  /// Whether there are any.
  Expected<bool> dropLosers(const Plan &plain, const Runner &plainRunner, const Plan &tuned,
                            const Runner &tunedRunner) {
    auto before = timesOfKernels(plain, plainRunner), after = timesOfKernels(tuned, tunedRunner);
    std::vector<int> plainStages = kernelsOfStages(plain), tunedStages = kernelsOfStages(tuned);
    bool any = false;
    for (auto [number, kernel] : llvm::enumerate(tuned.kernels)) {
      auto same =
          llvm::find_if(plain.kernels, [&](const Kernel &k) { return k.key == kernel.key; });
      if (!kernel.shape->untuned || same == plain.kernels.end())
        continue;
      size_t other = same - plain.kernels.begin();
      bool isComparable =
          llvm::count(plainStages, int(other)) == llvm::count(tunedStages, int(number));
      if (!isComparable || after[number].empty()) // Empty: of the constant program.
        continue;
      double share = std::min(shareOf(after[number], before[other]),
                              quietShareOf(after[number], before[other]));
      if (share < 1)
        continue;
      any = true;
      KINTSUGI_RETURN_IF_ERROR(drop(kernel, share));
    }
    return any;
  }

  Status drop(const Kernel &kernel, double share) {
    if (options.log)
      options.log->add({"tune",
                        "kernel " + kernel.symbol,
                        "keeps the default: the tuned schedule is no quicker in the model",
                        {kernel.shape->point.print()},
                        {{"share of the default's time", share, ""}}});
    Hash128 key = space::tuningKey(kernel.shape->key, options.schedule);
    const store::Measurement *known = records.find(key);
    store::Measurement none{key, "", 0, 0, 0};
    none.tried = known ? known->tried : 0;
    none.seconds = none.defaultSeconds = known ? known->defaultSeconds : kernel.predictedSeconds;
    return records.add(none);
  }

  Status judge(Hash128 key, const Race &times) {
    constexpr double worthIt = 0.995;
    report.defaultSeconds = quantile(times.first, 0.5);
    report.tunedSeconds = quantile(times.second, 0.5);
    double share = shareOf(times.second, times.first);
    bool isKept = share < worthIt;
    if (options.log)
      options.log->add(
          {"tune",
           "the tuned plan",
           isKept ? "is quicker as a whole" : "is not quicker as a whole: the default ships",
           {},
           {{"default", report.defaultSeconds, "s"},
            {"tuned", report.tunedSeconds, "s"},
            {"share of the default's time", share, ""},
            {"pairs of runs", double(times.first.size()), ""}}});
    store::Measurement verdict{key, "", report.defaultSeconds * (isKept ? share : 1),
                               report.defaultSeconds, 0};
    return records.add(verdict);
  }

  void note() const {
    if (!options.log)
      return;
    for (const Job &job : jobs) {
      if (!job.search)
        continue;
      const KernelSearch &search = *job.search;
      explain::Record record{"tune",
                             "kernel " + job.kernel->symbol,
                             search.best() ? "found a better schedule" : "found none better",
                             {},
                             {}};
      if (search.best())
        record.reasons.push_back(search.best()->print());
      if (!search.hasEnded())
        record.reasons.push_back("the budget ended before the search");
      record.numbers = {{"share of a run", job.weight, ""},
                        {"share of the default's time", search.share(), ""},
                        {"default", search.defaultSeconds(), "s"},
                        {"schedules measured", double(search.spent()), ""}};
      options.log->add(std::move(record));
    }
  }

  Records &records;
  const Workshop &workshop;
  cost::Measurer &measurer;
  const TuneOptions &options;
  Deadline deadline;
  KernelSearch::Fuel fuel;
  std::vector<Job> jobs;
  TuneReport report;
};

} // namespace

Expected<TuneReport> tune(const Plan &plan, Records &records, const Workshop &workshop,
                          cost::Measurer &measurer, const TuneOptions &options) {
  return Tuner(records, workshop, measurer, options).run(plan);
}

} // namespace kintsugi::tune
