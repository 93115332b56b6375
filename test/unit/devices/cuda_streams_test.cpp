//===- cuda_streams_test.cpp - Runs on streams of the caller's ------------===//
//
// The driver does what it is asked for as late as it may (fake_cuda.h): whatever does not come
// behind what it needs reads or writes too early.
//
//===----------------------------------------------------------------------===//

#include "cuda_fixture.h"

#include <cmath>

using namespace kintsugi;
using namespace kintsugi::runtime;

namespace {

using Address = unsigned long long;

/// The affine model with a small input, `pick`, whose elements are below 9 and which is an output.
class CudaStreams : public CudaTest {
protected:
  static constexpr int64_t count = 1000;

  void SetUp() override {
    CudaTest::SetUp();
    Parts parts = cudaParts(withoutCall(affineParts()));
    Manifest &m = parts.manifest;
    auto buffer = static_cast<uint32_t>(m.buffers.size());
    m.buffers.push_back({"pick", ElementType::I64, {3}, 24, Home::input(1)});
    m.inputs.push_back({"pick", ElementType::I64, {3}, buffer});
    m.outputs.push_back({"picked", ElementType::I64, {3}, buffer});
    m.checks = {{buffer, "node", "its index {} is wrong", ElementRange{0, 9, 0, {{3, 1}}}}};
    auto loaded = load(parts);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    model = *loaded;
    auto made = Context::create(model);
    ASSERT_TRUE(made.ok());
    context = std::move(*made);
  }
  void TearDown() override {
    context.reset();
    for (auto [memory, bytes] : rooms)
      model->device().release(memory, bytes);
    model.reset();
    CudaTest::TearDown();
  }

  template <typename T> T *room(int64_t elements) {
    void *memory = *model->device().allocate(elements * sizeof(T));
    rooms.emplace_back(memory, elements * sizeof(T));
    return static_cast<T *>(memory);
  }

  void *newStream() {
    void *stream = nullptr;
    EXPECT_EQ(ask<int(void **, unsigned)>("cuStreamCreate")(&stream, 0), 0);
    return stream;
  }
  template <typename F> F *ask(const char *name) {
    return reinterpret_cast<F *>(dlsym(library, name));
  }
  void copy(void *to, const void *from, size_t bytes, void *stream) {
    auto *function = ask<int(Address, Address, size_t, void *)>("cuMemcpyDtoDAsync_v2");
    EXPECT_EQ(function(Address(to), Address(from), bytes, stream), 0);
  }
  void wait(void *stream) { EXPECT_EQ(ask<int(void *)>("cuStreamSynchronize")(stream), 0); }

  static RunOptions on(void *stream, bool waits = false) {
    RunOptions options;
    options.stream = stream;
    options.waits = waits;
    return options;
  }

  Status run(float *from, int64_t *pick, float *to, int64_t *picked, const RunOptions &options) {
    InputTensor inputs[] = {{"x", ElementType::F32, shape, from, 4000},
                            {"pick", ElementType::I64, three, pick, 24}};
    OutputTensor outputs[] = {{"y", to, 4000, {}}, {"picked", picked, 24, {}}};
    return context->run(inputs, outputs, options);
  }

  float expected(int64_t k, float value) { return std::tanh(value * (float(k) / 500.0f) - 1); }

  std::shared_ptr<const Model> model;
  std::unique_ptr<Context> context;
  std::vector<std::pair<void *, uint64_t>> rooms;
  std::vector<int64_t> three = {3};
};

} // namespace

TEST_F(CudaStreams, RunsComeBetweenWhatIsInTheStream) {
  constexpr int runs = 50; // More than are under way at a time.
  auto *sources = room<float>(runs * count), *x = room<float>(count), *y = room<float>(count);
  auto *results = room<float>(runs * count);
  auto *picked = room<int64_t>(3), *allPicked = room<int64_t>(runs * 3);
  for (int k = 0; k < runs * count; ++k)
    sources[k] = float(k % 97) / 10 - float(k / count) / 25;
  for (void *stream : {newStream(), static_cast<void *>(nullptr)}) {
    std::fill_n(results, runs * count, 7.0f);
    for (int number = 0; number < runs; ++number) {
      int64_t pick[] = {number % 9, number % 7, number % 5}; // The host's, and gone soon.
      copy(x, sources + number * count, 4000, stream);
      int waits = fake->waits, streamWaits = fake->streamWaits;
      ASSERT_EQ(messageOf(run(x, pick, y, picked, on(stream))), "success");
      std::ranges::fill(pick, -1);
      copy(results + number * count, y, 4000, stream);
      copy(allPicked + number * 3, picked, 24, stream);
      if (number > 3 && number < 15) { // The first runs are seen through, and recorded.
        EXPECT_EQ(fake->waits, waits) << "the host waits for nothing";
        EXPECT_EQ(fake->streamWaits, streamWaits + 1);
      }
    }
    EXPECT_EQ(results[(runs - 1) * count], 7);
    wait(stream);
    for (int number = 0; number < runs; ++number) {
      for (int64_t k = 0; k < count; k += 37)
        ASSERT_NEAR(results[number * count + k], expected(k, sources[number * count + k]), 1e-6);
      for (int k : {0, 1, 2})
        EXPECT_EQ(allPicked[3 * number + k], number % (9 - 2 * k));
    }
  }
  EXPECT_GT(fake->graphLaunches, 90);
}

/// Whichever streams they are on, and though the streams are gone: the context's memory is one.
TEST_F(CudaStreams, RunsComeBehindEachOther) {
  auto *x = room<float>(count);
  auto *picked = room<int64_t>(3);
  int64_t pick[] = {1, 2, 3};
  std::copy_n(this->x.data(), count, x);
  std::vector<float *> results;
  for (int number = 0; number < 12; ++number) {
    results.push_back(room<float>(count));
    std::fill_n(results.back(), count, 7.0f);
    RunOptions options;
    void *stream = number % 3 == 2 ? nullptr : newStream();
    if (stream)
      options = on(stream);
    options.waits = false;
    ASSERT_EQ(messageOf(run(x, pick, results.back(), picked, options)), "success");
    if (stream)
      ask<int(void *)>("cuStreamDestroy_v2")(stream);
  }
  EXPECT_EQ(results.back()[7], 7);
  auto *last = room<float>(count);
  ASSERT_EQ(messageOf(run(x, pick, last, picked, {})), "success");
  results.push_back(last);
  for (float *result : results)
    EXPECT_NEAR(result[7], expected(7, x[7]), 1e-6);
  EXPECT_FALSE(fake->isUnderWay);
}

TEST_F(CudaStreams, ARunWithOutputsOfTheHostIsWaitedFor) {
  auto *x = room<float>(count);
  std::copy_n(this->x.data(), count, x);
  auto *picked = room<int64_t>(3);
  int64_t pick[] = {1, 2, 3};
  void *stream = newStream();
  for (int times = 0; times < 4; ++times) {
    std::ranges::fill(y, 7.0f);
    ASSERT_EQ(messageOf(run(x, pick, y.data(), picked, on(stream))), "success");
    EXPECT_NEAR(y[7], expected(7, x[7]), 1e-6);
    auto *there = room<float>(count);
    ASSERT_EQ(messageOf(run(x, pick, there, picked, on(stream, true))), "success");
    EXPECT_NEAR(there[7], expected(7, x[7]), 1e-6);
  }
}

/// Only the device knows the indices.
TEST_F(CudaStreams, WhatIsWrongIsSaidLater) {
  auto *x = room<float>(count), *to = room<float>(count);
  auto *pick = room<int64_t>(3), *picked = room<int64_t>(3);
  std::copy_n(this->x.data(), count, x);
  std::fill_n(pick, 3, 1);
  void *stream = newStream();
  auto once = [&] { return messageOf(run(x, pick, to, picked, on(stream))); };
  const std::string wrong = "an earlier run: input 'pick': node 'node': its index 9 is wrong";
  for (int times = 0; times < 4; ++times)
    ASSERT_EQ(once(), "success");
  wait(stream);
  pick[1] = 9;
  EXPECT_EQ(once(), "success");
  EXPECT_EQ(once(), "success"); // It can't be known yet.
  wait(stream);
  pick[1] = 1;
  int launches = fake->graphLaunches;
  EXPECT_EQ(once(), wrong);
  EXPECT_EQ(once(), wrong); // There were two of them.
  EXPECT_EQ(fake->graphLaunches, launches);
  EXPECT_EQ(once(), "success");
  EXPECT_EQ(messageOf(context->wait()), "success");
  EXPECT_FALSE(fake->isUnderWay);
  pick[1] = 9;
  EXPECT_EQ(once(), "success");
  EXPECT_EQ(messageOf(context->wait()), wrong);
  EXPECT_EQ(once(), "success");
  EXPECT_EQ(messageOf(run(x, pick, to, picked, {})), wrong);
  EXPECT_EQ(messageOf(run(x, pick, to, picked, {})),
            "input 'pick': node 'node': its index 9 is wrong");
  for (int times = 0; times < 16; ++times) // Sooner or later, though nobody waits.
    ASSERT_EQ(once(), "success");
  EXPECT_EQ(once(), wrong);
  static_cast<void>(context->wait());
}

TEST_F(CudaStreams, AStreamThatIsBeingRecordedIsRefused) {
  auto *x = room<float>(count), *to = room<float>(count);
  auto *picked = room<int64_t>(3);
  int64_t pick[] = {1, 2, 3};
  void *stream = newStream(), *graph = nullptr;
  ask<int(void *, int)>("cuStreamBeginCapture_v2")(stream, 2);
  EXPECT_EQ(messageOf(run(x, pick, to, picked, on(stream))).find("a run can't be recorded"), 0u);
  ask<int(void *, void **)>("cuStreamEndCapture")(stream, &graph);
  ask<int(void *)>("cuGraphDestroy")(graph);
  EXPECT_EQ(messageOf(run(x, pick, to, picked, on(stream))), "success");
}

TEST_F(CudaStreams, AContextThatGoesWaitsForItsRuns) {
  auto *x = room<float>(count), *to = room<float>(count);
  auto *picked = room<int64_t>(3);
  int64_t pick[] = {1, 2, 3};
  std::copy_n(this->x.data(), count, x);
  void *stream = newStream();
  for (int times = 0; times < 4; ++times) {
    std::fill_n(to, count, 7.0f);
    ASSERT_EQ(messageOf(run(x, pick, to, picked, on(stream))), "success");
  }
  EXPECT_EQ(to[7], 7);
  context.reset();
  EXPECT_NEAR(to[7], expected(7, x[7]), 1e-6);
  EXPECT_FALSE(fake->isUnderWay);
}
