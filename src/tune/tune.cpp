#include "tune/tune.h"

#include "search/point_text.h"
#include "tune/kernel_search.h"
#include "tune/made_up.h"
#include "tune/pairs.h"
#include "tune/plan_timer.h"
#include "tune/preparation.h"
#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <set>

namespace kintsugi::tune {

using orchestrate::Kernel;
using orchestrate::Plan;

namespace {

/// Of the budget, one after the other: the rest is for the races of whole plans.
constexpr double shareForKernels = 0.5, shareForPlans = 0.8;

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

class Tuner {
public:
  Tuner(Records &records, const Workshop &workshop, cost::Measurer &measurer,
        const TuneOptions &options)
      : records(records), workshop(workshop), measurer(measurer), options(options),
        timer(records, options.model, options.schedule), deadline(options.seconds) {
    if (overlaps())
      fuel = {240, 8};
  }

  /// What is found changes the plan, whose new kernels are searched in the next round.
  Expected<TuneReport> run(const Plan &plan) {
    constexpr unsigned mostRounds = 4;
    collectKernels(plan);
    KINTSUGI_RETURN_IF_ERROR(tuneKernelsOf(plan));
    for (unsigned round = 1; !jobs.empty(); ++round) {
      KINTSUGI_ASSIGN(Plan next, measuredPlan());
      collectKernels(next);
      if (jobs.empty())
        break;
      if (round == mostRounds || !deadline.within(shareForKernels)) {
        report.complete = false;
        break;
      }
      KINTSUGI_RETURN_IF_ERROR(tuneKernelsOf(next));
    }
    return report;
  }

private:
  struct Job {
    const Kernel *kernel;
    Hash128 key;
    double weight; ///< Its share of a run.
    int64_t launches = 0;
    std::optional<store::Measurement> known = std::nullopt; ///< Of an earlier run.
    std::optional<KernelSearch> search = std::nullopt;
    unsigned steps = 0;
    bool isUnderWay = false; ///< Its search is with those who prepare.
    std::string problem;     ///< Why it can't be measured; empty where it can.

    bool isDone() const { return !problem.empty() || (search && search->hasEnded()); }
  };

  Status tuneKernelsOf(const Plan &plan) {
    report.complete = true;
    if (!jobs.empty()) {
      if (!overlaps())
        KINTSUGI_RETURN_IF_ERROR(weigh(plan));
      KINTSUGI_RETURN_IF_ERROR(searchKernels());
      if (llvm::all_of(jobs, [](const Job &job) { return !job.problem.empty(); }))
        return machineError(jobs.front().problem); // The device's, it seems.
    }
    KINTSUGI_RETURN_IF_ERROR(timePlans());
    KINTSUGI_RETURN_IF_ERROR(raceWithDefault());
    note();
    return Status::success();
  }

  /// Whether kernels are made ready while others are timed. Then the host is busy, the device's
  /// time is not, and what a kernel takes in the model is known about as well from timing it.
  bool overlaps() const { return measurer.preparers() > 0; }

  /// Those that take a share worth looking at, by the cost model's word: the same in every run.
  void collectKernels(const Plan &plan) {
    constexpr double least = 0.004;
    std::vector<double> seconds(plan.kernels.size(), 0);
    std::vector<int64_t> launches(plan.kernels.size(), 0);
    jobs.clear();
    report.kernels = 0;
    predicted = 0;
    for (const Parts &parts : partsOfStages(plan))
      for (const Part &part : parts) {
        double own = double(part.launches) * plan.kernels[part.kernel].predictedSeconds;
        seconds[part.kernel] += own;
        predicted += own;
        launches[part.kernel] += part.launches;
      }
    for (auto [kernel, own, times] : llvm::zip_equal(plan.kernels, seconds, launches)) {
      if (own < least * predicted || !kernel.program || !canBeMeasured(kernel.shape->schedule))
        continue;
      ++report.kernels;
      Job job{&kernel, space::tuningKey(kernel.shape->key, options.schedule), own / predicted,
              times};
      if (const store::Measurement *known = records.find(job.key))
        job.known = *known;
      if (failed.contains(job.key) || (job.known && job.known->tried >= fuel.points))
        continue;
      jobs.push_back(std::move(job));
    }
  }

  /// What each kernel takes in a run of the model.
  Status weigh(const Plan &plan) {
    KINTSUGI_ASSIGN(Model model, workshop.build(plan));
    KINTSUGI_ASSIGN(Runner runner, Runner::create(model, workshop.feeds, options.threads));
    KINTSUGI_RETURN_IF_ERROR(runner.warmUp());
    constexpr int runs = 3;
    for (int run = 0; run < runs && deadline.within(0.2); ++run)
      KINTSUGI_RETURN_IF_ERROR(runner.timeStages().status());
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
    Status status = searchWhilePreparing();
    report.complete = failed.empty() && llvm::all_of(jobs, [](const Job &job) {
                        return !job.isUnderWay && job.search && job.search->hasEnded();
                      });
    return status;
  }

  Status searchWhilePreparing() {
    Preparation preparation(measurer);
    while (true) {
      Job *next = nullptr;
      while (deadline.within(shareForKernels) && preparation.underWay() < preparation.enough() &&
             (next = mostUrgent()))
        start(*next, preparation);
      bool isLate = overlaps() && !deadline.within(shareForKernels);
      if (preparation.underWay() == 0 || isLate)
        return Status::success();
      if (options.progress && !options.progress("tuning kernels", report.schedules, 0))
        return usageError("the tuning was stopped");
      Preparation::Proposal proposal = preparation.take();
      Job &job = jobs[proposal.job];
      job.isUnderWay = false;
      KINTSUGI_RETURN_IF_ERROR(searchOn(job, proposal.batch));
    }
  }

  Job *mostUrgent() {
    Job *next = nullptr;
    auto urgency = [](const Job &job) { return job.weight / (1 + job.steps); };
    for (Job &job : jobs)
      if (!job.isUnderWay && !job.isDone() && (!next || urgency(job) > urgency(*next)))
        next = &job;
    return next;
  }

  void start(Job &job, Preparation &preparation) {
    report.searched += job.steps == 0;
    ++job.steps;
    job.isUnderWay = true;
    preparation.start(&job - jobs.data(), [this, &job] {
      if (!job.search)
        startSearch(job);
      return job.search->propose();
    });
  }

  Status searchOn(Job &job, const KernelSearch::Batch &batch) {
    KernelSearch &search = *job.search;
    int64_t before = search.spent();
    if (!batch.empty())
      if (Status status = search.judge(batch, measurer); !status.ok())
        return fail(job, status.error().message);
    report.schedules += search.spent() - before;
    if (overlaps() && search.defaultSeconds() > 0)
      job.weight = double(job.launches) * search.defaultSeconds() / predicted;
    store::Measurement found{job.key, "", 0, 0, 0};
    found.tried = search.hasEnded() ? fuel.points : search.spent();
    // Where there was nothing to measure there is no time either, and any will do.
    found.defaultSeconds =
        search.defaultSeconds() > 0 ? search.defaultSeconds() : job.kernel->predictedSeconds;
    found.seconds = found.defaultSeconds * search.share();
    if (search.best())
      found.schedule = search::pointText(*search.best());
    return records.add(found);
  }

  /// The model has its default then; the other kernels can still be tuned.
  Status fail(Job &job, const std::string &reason) {
    job.problem = reason;
    failed.insert(job.key);
    if (options.log)
      options.log->add({"tune", "kernel " + job.kernel->symbol, "can't be measured", {reason}, {}});
    return Status::success();
  }

  /// Any thread: it touches nothing but the job.
  void startSearch(Job &job) const {
    job.search.emplace(*job.kernel->program, job.kernel->group, options.schedule, fuel);
    if (!job.known)
      return;
    std::optional<loops::Point> point = search::parsePoint(job.known->schedule);
    job.search->resume(point.value_or(loops::Point()),
                       point ? job.known->seconds / job.known->defaultSeconds : 1,
                       job.known->tried);
  }

  /// What the kernels of the plans take in runs of these, until a plan has none that is not known.
  /// Kernels that were not timed are priced as quick, by their predictions, as those that were, and
  /// then as quicker: so those are timed too that cost hardly more than what is chosen.
  Status timePlans() {
    for (double ofPrice : {1.0, 0.85}) {
      KINTSUGI_ASSIGN(bool isKnown, timePlans(ofPrice));
      report.complete &= isKnown;
    }
    return Status::success();
  }

  /// Whether all kernels of the plan with such prices are known in the end.
  Expected<bool> timePlans(double ofPrice) {
    constexpr unsigned mostPlans = 12;
    bool mayEnd = ofPrice < 1; // Without a look at what is left.
    while (report.plans < mostPlans && !(mayEnd && !deadline.within(shareForPlans))) {
      KINTSUGI_ASSIGN(std::optional<UnknownTimes> unknown, planToTime(ofPrice));
      if (!unknown)
        return true;
      if (!deadline.within(shareForPlans))
        return false;
      if (options.progress && !options.progress("timing kernels in the model", report.plans, 0))
        return usageError("the tuning was stopped");
      KINTSUGI_RETURN_IF_ERROR(timeIn(unknown->plan, unknown->kernels));
      ++report.plans;
    }
    return false;
  }

  /// A plan, and those of its kernels that were not timed.
  struct UnknownTimes {
    Plan plan;
    llvm::SmallVector<unsigned> kernels;
  };

  /// That of predictions alone, or that by what was measured, if a kernel in it is not known.
  Expected<std::optional<UnknownTimes>> planToTime(double ofPrice) {
    KINTSUGI_ASSIGN(const Plan *predicted, plainPlan());
    if (auto kernels = unknownKernels(*predicted); !kernels.empty())
      return std::optional(UnknownTimes{*predicted, std::move(kernels)});
    KINTSUGI_ASSIGN(Plan plan, measuredPlan(ofPrice));
    auto kernels = unknownKernels(plan);
    if (kernels.empty())
      return std::optional<UnknownTimes>();
    return std::optional(UnknownTimes{std::move(plan), std::move(kernels)});
  }

  /// That by what was measured, where other kernels take such a share of what is predicted of them.
  Expected<Plan> measuredPlan(double ofPrice = 1) const {
    space::MeasuredKernels measured = records.kernels(options.schedule.machine.stageSeconds);
    measured.bias *= ofPrice;
    return workshop.plan(&measured);
  }

  /// That of predictions alone.
  Expected<const Plan *> plainPlan() {
    if (!unmeasured) {
      KINTSUGI_ASSIGN(unmeasured, workshop.plan(nullptr));
    }
    return &*unmeasured;
  }

  /// Distinct ones that have launches of their own and were not timed.
  llvm::SmallVector<unsigned> unknownKernels(const Plan &plan) const {
    llvm::SmallVector<unsigned> kernels;
    std::vector<unsigned> launches = launchesAlone(plan);
    for (auto [number, kernel] : llvm::enumerate(plan.kernels))
      if (kernel.program && canBeMeasured(kernel.shape->schedule) && launches[number] > 0 &&
          !records.find(timingKeyOf(kernel, options.schedule)))
        kernels.push_back(number);
    return kernels;
  }

  Status timeIn(const Plan &plan, llvm::ArrayRef<unsigned> kernels) {
    KINTSUGI_ASSIGN(Model model, workshop.build(plan));
    KINTSUGI_ASSIGN(Runner runner, Runner::create(model, workshop.feeds, options.threads));
    return timeIn(plan, runner, kernels);
  }

  Status timeIn(const Plan &plan, Runner &runner, llvm::ArrayRef<unsigned> kernels) {
    constexpr double aPlan = 0.05; ///< Of the budget.
    KINTSUGI_ASSIGN(unsigned timed, timer.time(plan, runner, kernels, aPlan * options.seconds));
    report.timed += timed;
    return Status::success();
  }

  /// The plan by what was measured against the one without, unless that is known.
  Status raceWithDefault() {
    constexpr int mostRaces = 3;
    std::optional<Runner> plainRunner;
    for (int round = 0; round < mostRaces; ++round) {
      KINTSUGI_ASSIGN(Plan tuned, measuredPlan());
      Hash128 key = planKey(tuned);
      if (records.find(key))
        return Status::success();
      KINTSUGI_ASSIGN(const Plan *predicted, plainPlan());
      if (planKey(*predicted) == key) {
        if (!records.find(RunKeys(options.model, tuned, options.schedule).whole()))
          KINTSUGI_RETURN_IF_ERROR(timeIn(tuned, {}));
        return records.add(
            verdict(options.model, predicted->objectiveSeconds, predicted->objectiveSeconds, true));
      }
      if (!plainRunner) {
        KINTSUGI_ASSIGN(Model model, workshop.build(*predicted));
        KINTSUGI_ASSIGN(plainRunner, Runner::create(model, workshop.feeds, options.threads));
      }
      KINTSUGI_ASSIGN(Model model, workshop.build(tuned));
      KINTSUGI_ASSIGN(Runner runner, Runner::create(model, workshop.feeds, options.threads));
      KINTSUGI_ASSIGN(Race times, raceOf(*plainRunner, runner));
      bool isLast = round + 1 == mostRaces || !deadline.within(1.5);
      KINTSUGI_ASSIGN(bool any, isLast ? Expected<bool>(false)
                                       : dropLosers(*predicted, *plainRunner, tuned, runner));
      if (any)
        continue;
      KINTSUGI_RETURN_IF_ERROR(judge(key, times));
      KINTSUGI_RETURN_IF_ERROR(timeIn(*predicted, *plainRunner, {}));
      return timeIn(tuned, runner, {});
    }
    return Status::success();
  }

  Expected<Race> raceOf(Runner &plain, Runner &tuned) const {
    constexpr size_t enoughPairs = 11, mostPairs = 200;
    constexpr double eachRace = 0.12; ///< Of the budget.
    if (options.progress && !options.progress("timing the tuned model", 0, 0))
      return usageError("the tuning was stopped");
    for (Runner *runner : {&plain, &tuned})
      KINTSUGI_RETURN_IF_ERROR(runner->warmUp());
    size_t leastPairs = plain.timesStagesApart() ? 31 : 5; // Of a device, they take no time.
    Deadline own(options.seconds);
    return race(plain, tuned, leastPairs, [&](size_t pairs) {
      return pairs < enoughPairs ? deadline.within(1) : pairs < mostPairs && own.within(eachRace);
    });
  }

  /// Tuned kernels that take longer in the model than the default does, by all that the times say.
  /// Whether there are any.
  Expected<bool> dropLosers(const Plan &plain, Runner &plainRunner, const Plan &tuned,
                            Runner &tunedRunner) {
    constexpr int pairs = 15;
    for (int pair = 0; pair < pairs && tunedRunner.timesStagesApart(); ++pair)
      for (Runner *runner : {&plainRunner, &tunedRunner})
        KINTSUGI_RETURN_IF_ERROR(runner->timeStages().status());
    auto before = timesOfKernels(plain, plainRunner), after = timesOfKernels(tuned, tunedRunner);
    std::vector<unsigned> launches = launchesAlone(tuned), launchesBefore = launchesAlone(plain);
    bool any = false;
    for (auto [number, kernel] : llvm::enumerate(tuned.kernels)) {
      auto same =
          llvm::find_if(plain.kernels, [&](const Kernel &k) { return k.key == kernel.key; });
      if (!kernel.shape->untuned || same == plain.kernels.end())
        continue;
      size_t other = same - plain.kernels.begin();
      if (launches[number] == 0 || launches[number] != launchesBefore[other])
        continue; // Or of the constant program.
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
                        {search::pointText(kernel.shape->point)},
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
    for (Hash128 each : {key, options.model})
      KINTSUGI_RETURN_IF_ERROR(
          records.add(verdict(each, report.defaultSeconds * share, report.defaultSeconds, isKept)));
    return Status::success();
  }

  void note() const {
    if (!options.log)
      return;
    for (const Job &job : jobs) {
      if (!job.search || !job.problem.empty())
        continue;
      const KernelSearch &search = *job.search;
      explain::Record record{"tune",
                             "kernel " + job.kernel->symbol,
                             search.best() ? "found a better schedule" : "found none better",
                             {},
                             {}};
      if (search.best())
        record.reasons.push_back(search::pointText(*search.best()));
      if (!search.hasEnded())
        record.reasons.push_back("the budget ended before the search");
      record.numbers = {{"share of a run", job.weight, ""},
                        {"share of the default's time", search.share(), ""},
                        {"default", search.defaultSeconds(), "s"},
                        {"schedules measured", double(search.spent()), ""}};
      options.log->add(std::move(record));
      for (const loops::Point &point : search.wrongPoints())
        options.log->add({"tune",
                          "kernel " + job.kernel->symbol,
                          "left out a schedule that computes something else",
                          {search::pointText(point)},
                          {}});
    }
  }

  Records &records;
  const Workshop &workshop;
  cost::Measurer &measurer;
  const TuneOptions &options;
  PlanTimer timer;
  Deadline deadline;
  KernelSearch::Fuel fuel;
  std::vector<Job> jobs;          ///< Of the plan that is looked at.
  std::set<Hash128> failed;       ///< Kernels that can't be measured.
  double predicted = 0;           ///< Seconds of all kernels in a run, by the cost model.
  std::optional<Plan> unmeasured; ///< Of predictions alone, once it was asked for.
  TuneReport report;
};

} // namespace

Expected<TuneReport> tune(const Plan &plan, Records &records, const Workshop &workshop,
                          cost::Measurer &measurer, const TuneOptions &options) {
  return Tuner(records, workshop, measurer, options).run(plan);
}

} // namespace kintsugi::tune
