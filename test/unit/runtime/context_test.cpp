//===- context_test.cpp - Running models ----------------------------------===//

#include "runtime/context.h"

#include "devices/cpu/cpu_device.h"
#include "fixture.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace kintsugi;
using namespace kintsugi::runtime;

namespace {

std::shared_ptr<const Model> loadModel(const Parts &parts,
                                       std::shared_ptr<Device> device = nullptr) {
  auto artifact = Artifact::fromMemory(parts.bytes(), "test.kin");
  EXPECT_TRUE(artifact.ok()) << artifact.error().message;
  if (!device)
    device = std::make_shared<devices::CpuDevice>();
  auto model = Model::create(std::move(*artifact), std::move(device));
  EXPECT_TRUE(model.ok()) << model.error().message;
  return *model;
}

std::unique_ptr<Context> makeContext(std::shared_ptr<const Model> model, uint32_t threads = 1) {
  auto context = Context::create(std::move(model), {threads});
  EXPECT_TRUE(context.ok());
  return std::move(*context);
}

/// The tensors of affineParts().
struct AffineTensors {
  std::vector<float> x = affineInput(), y = std::vector<float>(1000), best = std::vector<float>(5);
  std::vector<int64_t> where = std::vector<int64_t>(5), shape{1000};

  Status run(Context &context, RunOptions options = {}) {
    InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), 4000}};
    OutputTensor outputs[] = {
        {"where", where.data(), 40, {}}, {"y", y.data(), 4000, {}}, {"best", best.data(), 20, {}}};
    return context.run(inputs, outputs, options);
  }
};

void expectAffine(const AffineTensors &tensors) {
  std::vector<float> t = affineExpected();
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(tensors.y[i], static_cast<float>(std::tanh(static_cast<double>(t[i])))) << i;
  std::vector<float> sorted = t;
  std::sort(sorted.begin(), sorted.end(), std::greater());
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(tensors.best[k], sorted[k]);
    EXPECT_EQ(t[tensors.where[k]], sorted[k]);
  }
}

struct LoopResult {
  int64_t total = 0;
  std::vector<int64_t> trace = std::vector<int64_t>(8, -1);
};

LoopResult runLoop(Context &context, int64_t limit) {
  LoopResult result;
  InputTensor inputs[] = {{"limit", ElementType::I64, {}, &limit, 8}};
  OutputTensor outputs[] = {{"total", &result.total, 8, {}},
                            {"trace", result.trace.data(), 64, {}}};
  Status status = context.run(inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return result;
}

} // namespace

TEST(Context, RunsKernelsAndCallsOnAnyNumberOfThreads) {
  auto model = loadModel(affineParts());
  for (uint32_t threads : {1, 2, 3, 8}) {
    auto context = makeContext(model, threads);
    for (int i = 0; i < 3; ++i) {
      AffineTensors tensors;
      Status status = tensors.run(*context);
      ASSERT_TRUE(status.ok()) << status.error().message;
      expectAffine(tensors);
    }
  }
}

TEST(Context, TensorsWithoutNamesGoByPosition) {
  auto context = makeContext(loadModel(affineParts()));
  AffineTensors t;
  InputTensor inputs[] = {{"", ElementType::F32, t.shape, t.x.data(), 4000}};
  OutputTensor outputs[] = {
      {"", t.y.data(), 4000, {}}, {"", t.best.data(), 20, {}}, {"", t.where.data(), 40, {}}};
  ASSERT_TRUE(context->run(inputs, outputs).ok());
  expectAffine(t);
}

TEST(Context, RepeatsBranchesAndStacks) {
  auto context = makeContext(loadModel(loopParts()));
  LoopResult all = runLoop(*context, 1000); // Sums of 0..7, never negated.
  EXPECT_EQ(all.total, 28);
  EXPECT_EQ(all.trace, (std::vector<int64_t>{0, 1, 3, 6, 10, 15, 21, 28}));
  LoopResult some = runLoop(*context, 8); // Ends with the sum that reaches 8; negated.
  EXPECT_EQ(some.total, -10);
  EXPECT_EQ(some.trace, (std::vector<int64_t>{0, 1, 3, 6, 10, -1, -1, -1}));
}

namespace {

/// Runs lanesParts(count).
struct LanesRun {
  explicit LanesRun(uint32_t count)
      : traces(count, std::vector<int64_t>(8, -1)), places(count, std::vector<int64_t>(3, 0)) {}

  Status run(Context &context, RunOptions options = {}) {
    int64_t limit = 0;
    InputTensor inputs[] = {{"limit", ElementType::I64, {}, &limit, 8}};
    std::vector<OutputTensor> outputs;
    for (size_t lane = 0; lane < traces.size(); ++lane) {
      outputs.push_back({"", traces[lane].data(), 64, {}});
      outputs.push_back({"", places[lane].data(), 24, {}});
    }
    return context.run(inputs, outputs, options);
  }

  std::vector<std::vector<int64_t>> traces, places;
};

/// Sees stages of one thread alone.
class OneThreadObserver : public StageObserver {
public:
  Status launched(uint32_t, std::span<void *const>, DeviceQueue &) override {
    EXPECT_EQ(std::this_thread::get_id(), owner);
    ++stages;
    return Status::success();
  }
  unsigned stages = 0;

private:
  std::thread::id owner = std::this_thread::get_id();
};

} // namespace

TEST(Context, LanesRunSideBySideOnAnyNumberOfThreads) {
  for (uint32_t count : {1, 2, 5, 40}) {
    auto model = loadModel(lanesParts(count));
    for (uint32_t threads : {1, 2, 3, 8}) {
      auto context = makeContext(model, threads);
      for (int i = 0; i < 20; ++i) {
        LanesRun lanes(count);
        Status status = lanes.run(*context);
        ASSERT_TRUE(status.ok()) << status.error().message;
        for (uint32_t lane = 0; lane < count; ++lane) {
          EXPECT_EQ(lanes.traces[lane], (std::vector<int64_t>{0, 1, 3, 6, 10, 15, 21, 28}));
          for (int64_t place : lanes.places[lane])
            EXPECT_NE(place, 0) << "two workers shared scratch memory";
        }
      }
    }
  }
}

TEST(Context, LanesAreTimedAndObservedInTurn) {
  auto context = makeContext(loadModel(lanesParts(4)), 3);
  LanesRun lanes(4);
  RunOptions profile;
  profile.profile = true;
  ASSERT_TRUE(lanes.run(*context, profile).ok());
  for (size_t stage = 0; stage < context->stageTimes().size(); ++stage)
    EXPECT_EQ(context->stageTimes()[stage].launches, stage % 3 == 0 ? 1u : 8u) << stage;
  EXPECT_FALSE(context->timesByDevice());
  std::map<uint32_t, int64_t> ends;
  for (const StageSpan &span : context->stageSpans()) {
    EXPECT_EQ(span.lane, span.stage / 3);
    EXPECT_GE(span.begin, ends[span.lane]);
    EXPECT_GE(span.nanoseconds, 0);
    ends[span.lane] = span.begin + span.nanoseconds;
  }
  EXPECT_EQ(context->stageSpans().size(), 4u * 17);
  ASSERT_TRUE(lanes.run(*context, profile).ok());
  EXPECT_EQ(context->stageSpans().size(), 4u * 17); // Of the last run.
  EXPECT_EQ(context->stageTimes()[1].launches, 16u);
  OneThreadObserver observer;
  RunOptions observed;
  observed.observer = &observer;
  ASSERT_TRUE(lanes.run(*context, observed).ok());
  EXPECT_EQ(observer.stages, 4u * 17);
}

TEST(Context, AnErrorInALaneEndsTheRun) {
  auto context = makeContext(loadModel(lanesParts(4)), 3);
  std::atomic<bool> cancel = true;
  RunOptions options;
  options.cancel = &cancel;
  LanesRun lanes(4);
  Status status = lanes.run(*context, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "test.kin: the run was cancelled");
  ASSERT_TRUE(lanes.run(*context).ok());
  EXPECT_EQ(lanes.traces[3].back(), 28);
}

TEST(Context, DynamicExtentsAreReportedAndElementsMovedTogether) {
  auto context = makeContext(loadModel(raggedParts()));
  int64_t count = 3, shape[2] = {};
  float rows[12];
  InputTensor inputs[] = {{"count", ElementType::I64, {}, &count, 8}};
  OutputTensor outputs[] = {{"rows", rows, sizeof(rows), shape}};
  ASSERT_TRUE(context->run(inputs, outputs).ok());
  EXPECT_EQ(shape[0], 3);
  EXPECT_EQ(shape[1], 3);
  EXPECT_EQ(std::vector<float>(rows, rows + 9),
            (std::vector<float>{0, 1, 2, 10, 11, 12, 20, 21, 22}));

  count = 5;
  Status tooMany = context->run(inputs, outputs);
  ASSERT_FALSE(tooMany.ok());
  EXPECT_EQ(tooMany.error().message,
            "output 'rows' has 5 elements along dimension 1, the model has room for 4");
}

TEST(Context, ReportsOfTheDeviceAreErrors) {
  Parts parts = raggedParts();
  Manifest &m = parts.manifest;
  m.outputs[0].dynamic.clear();
  m.checks = {{m.stages[0].buffers[2], "cut", "Ragged: there are columns"}};
  auto context = makeContext(loadModel(parts));
  int64_t count = 3;
  float rows[12];
  InputTensor inputs[] = {{"count", ElementType::I64, {}, &count, 8}};
  OutputTensor outputs[] = {{"rows", rows, sizeof(rows), {}}};
  Status wrong = context->run(inputs, outputs);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().kind, ErrorKind::Input);
  EXPECT_EQ(wrong.error().message, "node 'cut': Ragged: there are columns");
  count = 0;
  EXPECT_TRUE(context->run(inputs, outputs).ok());
}

TEST(Context, InputsAreLookedAtBeforeARun) {
  Parts parts = raggedParts();
  Manifest &m = parts.manifest;
  m.checks = {
      {m.inputs[0].buffer, "gather", "its index {} is outside", ElementRange{-2, 3, 0, {}}}};
  auto context = makeContext(loadModel(parts));
  int64_t count = 3, shape[2] = {};
  float rows[12] = {-1};
  InputTensor inputs[] = {{"count", ElementType::I64, {}, &count, 8}};
  OutputTensor outputs[] = {{"rows", rows, sizeof(rows), shape}};
  Status wrong = context->run(inputs, outputs);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().kind, ErrorKind::Input);
  EXPECT_EQ(wrong.error().message, "input 'count': node 'gather': its index 3 is outside");
  EXPECT_EQ(rows[0], -1) << "nothing was computed";
  count = 2;
  EXPECT_TRUE(context->run(inputs, outputs).ok());
}

TEST(Context, OutputsMayLieInInputsConstantsAndOtherOutputs) {
  Parts parts = affineParts();
  Manifest &m = parts.manifest;
  auto port = [&](std::string name, uint32_t buffer) {
    m.outputs.push_back(
        {std::move(name), m.buffers[buffer].type, m.buffers[buffer].shape, buffer, {}, none});
  };
  port("x_again", 0);
  port("w", 1);
  port("y_again", 4);
  auto context = makeContext(loadModel(parts));
  AffineTensors t;
  std::vector<float> x(1000), w(1000), y(1000);
  InputTensor inputs[] = {{"x", ElementType::F32, t.shape, t.x.data(), 4000}};
  OutputTensor outputs[] = {{"y", t.y.data(), 4000, {}},       {"best", t.best.data(), 20, {}},
                            {"where", t.where.data(), 40, {}}, {"x_again", x.data(), 4000, {}},
                            {"w", w.data(), 4000, {}},         {"y_again", y.data(), 4000, {}}};
  Status status = context->run(inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(x, t.x);
  EXPECT_EQ(w[250], 0.5f);
  EXPECT_EQ(y, t.y);
}

TEST(Context, AnAliasSharesBytes) {
  Parts parts = affineParts();
  Manifest &m = parts.manifest;
  // Stage "squash" reads the last 936 elements of t through an alias at byte 256.
  m.buffers.push_back({"tail", ElementType::F32, {936}, 3744, Home::alias(3, 256)});
  m.buffers.push_back({"y_tail", ElementType::F32, {936}, 3744, Home::alias(4, 256)});
  m.stages[1].buffers = {7, 8};
  m.stages[1].tiles = 14;
  auto context = makeContext(loadModel(parts));
  AffineTensors t;
  ASSERT_TRUE(t.run(*context).ok());
  std::vector<float> expected = affineExpected();
  EXPECT_EQ(t.y[0], 0.0f);
  EXPECT_EQ(t.y[64], static_cast<float>(std::tanh(static_cast<double>(expected[64]))));
  EXPECT_EQ(t.y[900], static_cast<float>(std::tanh(static_cast<double>(expected[900]))));
}

TEST(Context, ThreadsAreObeyedAndScratchIsPrivate) {
  constexpr uint64_t tiles = 4000;
  auto model = loadModel(locateParts(tiles));
  for (uint32_t threads : {1, 2, 4}) {
    auto context = makeContext(model, threads);
    std::vector<int64_t> places(tiles);
    OutputTensor outputs[] = {{"places", places.data(), tiles * 8, {}}};
    ASSERT_TRUE(context->run({}, outputs).ok());
    std::set<int64_t> distinct(places.begin(), places.end());
    EXPECT_EQ(distinct.count(0), 0u);
    EXPECT_LE(distinct.size(), threads);
    for (int64_t place : distinct)
      EXPECT_EQ(place % 64, 0);
  }
}

TEST(Context, ManyContextsRunAtOnce) {
  auto model = loadModel(affineParts());
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      auto context = makeContext(model, 2);
      for (int run = 0; run < 50; ++run) {
        AffineTensors t;
        right += t.run(*context).ok() && t.y[500] == std::tanh(affineExpected()[500]);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 200);
}

TEST(Context, OneContextServesManyThreadsInTurn) {
  auto context = makeContext(loadModel(loopParts()), 2);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int run = 0; run < 50; ++run)
        right += runLoop(*context, 1000).total == 28;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 200);
}

TEST(Context, ARaisedFlagEndsTheRun) {
  auto context = makeContext(loadModel(affineParts()));
  std::atomic<bool> cancel{true};
  AffineTensors t;
  RunOptions options;
  options.cancel = &cancel;
  Status status = t.run(*context, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "test.kin: the run was cancelled");
  cancel = false;
  EXPECT_TRUE(t.run(*context, options).ok());
}

TEST(Context, ProfilesCountLaunchesAndTime) {
  auto context = makeContext(loadModel(affineParts()));
  AffineTensors t;
  RunOptions options;
  options.profile = true;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(t.run(*context, options).ok());
  ASSERT_TRUE(t.run(*context).ok());
  ASSERT_EQ(context->stageTimes().size(), 3u);
  for (const StageTime &time : context->stageTimes()) {
    EXPECT_EQ(time.launches, 3u);
    EXPECT_GT(time.nanoseconds, 0u);
  }
  context->clearStageTimes();
  EXPECT_EQ(context->stageTimes()[0].launches, 0u);
}

TEST(Context, RoundingOfTheCallerDoesNotMatter) {
  auto context = makeContext(loadModel(affineParts()), 2);
  AffineTensors nearest, upward;
  ASSERT_TRUE(nearest.run(*context).ok());
  std::feclearexcept(FE_ALL_EXCEPT);
  ASSERT_TRUE(nearest.run(*context).ok());
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
  std::fesetround(FE_UPWARD);
  Status status = upward.run(*context);
  int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(after, FE_UPWARD);
  EXPECT_EQ(nearest.y, upward.y);
}

#if defined(__x86_64__)
/// Programs change the vectors' register alone, mostly to flush what is denormal.
TEST(Context, RoundingOfTheCallersVectorsDoesNotMatter) {
  auto context = makeContext(loadModel(affineParts()), 2);
  AffineTensors usual, changed;
  ASSERT_TRUE(usual.run(*context).ok());
  const unsigned before = _mm_getcsr(), downward = 0x2000, flushing = 0x8040;
  _mm_setcsr(before | downward | flushing);
  Status status = changed.run(*context);
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(after, before | downward | flushing);
  EXPECT_EQ(usual.y, changed.y);
}
#endif
