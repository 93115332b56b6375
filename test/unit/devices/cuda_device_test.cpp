//===- cuda_device_test.cpp - The GPU's device without a GPU --------------===//
//
// Against a driver that isn't one (fake_cuda.h), which says what it was asked for.
//
//===----------------------------------------------------------------------===//

#include "devices/cuda/cuda_device.h"
#include "devices/cuda/launch_costs.h"
#include "devices/cuda/tensor_map.h"

#include "cuda_fixture.h"

#include <cmath>
#include <random>

using namespace kintsugi;
using namespace kintsugi::runtime;
using devices::CudaDevice;
using Cuda = CudaTest;

TEST_F(Cuda, SaysThatThereIsNoDriver) {
  auto device = CudaDevice::open(0, "no/such/libcuda.so");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().kind, ErrorKind::Machine);
  EXPECT_EQ(device.error().message.find("there is no NVIDIA driver"), 0u);
}

TEST_F(Cuda, SaysWhatADriverLacks) {
  auto device = CudaDevice::open(0, STAGES_OBJECT); // A library, but no driver.
  EXPECT_NE(messageOf(device).find("too old: it has no cuInit"), std::string::npos);
}

TEST_F(Cuda, NamesTheDeviceThatIsNotThere) {
  EXPECT_EQ(messageOf(CudaDevice::open(2, FAKE_CUDA)), "there is no NVIDIA device 2; there are 2");
  fake->devices = 1;
  EXPECT_EQ(messageOf(CudaDevice::open(1, FAKE_CUDA)),
            "there is no NVIDIA device 1; there is one, number 0");
  EXPECT_EQ(fake->contexts, 0);
}

TEST_F(Cuda, ListsDevices) {
  auto all = CudaDevice::list(FAKE_CUDA);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[1].name, "Fake GPU");
  EXPECT_EQ((*all)[1].major, 9);
}

TEST_F(Cuda, SupportsWhatTheArchitectureDoes) {
  EXPECT_TRUE(open()->supports("sm_80"));
  EXPECT_TRUE(open()->supports("sm_90a"));
  EXPECT_FALSE(open()->supports("avx2"));
  fake->major = 10;
  EXPECT_TRUE(open()->supports("sm_80"));
  EXPECT_FALSE(open()->supports("sm_90a"));
  fake->major = 7;
  EXPECT_FALSE(open()->supports("sm_80"));
}

TEST_F(Cuda, TellsWhatWasAskedForAndWhatIsFree) {
  EXPECT_EQ(messageOf(open()->allocate(uint64_t(5) << 30)),
            "the device 'cuda' has no room for 5120 MiB: 4096 MiB of 8192 MiB are free");
}

TEST_F(Cuda, PicksTheCodeOfTheArchitecture) {
  Parts parts = cudaParts(affineParts());
  parts.manifest.code = {{"baseline", {"sm_90a"}}};
  ASSERT_TRUE(load(parts).ok());
  fake->major = 8;
  EXPECT_EQ(messageOf(load(parts)),
            "test.kin: the device 'cuda' (Fake GPU, compute capability 8.0) runs none of the "
            "artifact's code; it needs 8.0 or newer");
}

TEST_F(Cuda, RefusesWhatIsNoText) {
  Parts parts = cudaParts(affineParts());
  parts.code.pop_back(); // The zero byte that ends it.
  EXPECT_NE(messageOf(load(parts)).find("is not the text of a module"), std::string::npos);
  parts.code[3] = std::byte(0);
  parts.code.push_back(std::byte(0));
  EXPECT_NE(messageOf(load(parts)).find("is not the text of a module"), std::string::npos);
}

TEST_F(Cuda, TellsWhatTheDriverSaysOfTheText) {
  Parts parts = cudaParts(affineParts());
  std::memcpy(parts.code.data(), "nonsense", 8);
  EXPECT_NE(messageOf(load(parts)).find("line 1: a word that is none"), std::string::npos);
}

TEST_F(Cuda, RefusesLaunchesThatNoDeviceRuns) {
  Parts parts = cudaParts(affineParts());
  parts.manifest.stages[1].threads = 0;
  EXPECT_NE(messageOf(load(parts)).find("kernel 'squash': has 16 blocks of 0 threads"),
            std::string::npos);
  parts.manifest.stages[1].threads = 512;
  EXPECT_NE(messageOf(load(parts)).find("kernel 'squash': can run 256 threads a block here"),
            std::string::npos);
  parts.manifest.stages[1].threads = 64;
  parts.manifest.stages[1].scratchBytes = 100000;
  EXPECT_NE(
      messageOf(load(parts)).find("needs 100000 bytes of shared memory, the device has 65536"),
      std::string::npos);
  parts.manifest.stages[1].scratchBytes = 0;
  parts.manifest.stages[1].symbol = "crush";
  EXPECT_NE(messageOf(load(parts)).find("kernel 'crush': is not in the code"), std::string::npos);
}

TEST_F(Cuda, GivesCodeForAnyDeviceWhatAnyDeviceHas) {
  Parts parts = cudaParts(withoutCall(affineParts()));
  parts.manifest.stages[1].scratchBytes = 200000;
  fake->declaredBytes = 1024;
  for (auto [feature, bytes] : {std::pair{"sm_80", 101376 - 1024}, {"sm_90a", 200000}}) {
    parts.manifest.code = {{"baseline", {feature}}};
    fake->sharedBytesOfBlocks = bytes + 1024;
    auto model = load(parts);
    ASSERT_TRUE(model.ok()) << model.error().message;
    auto context = Context::create(*model);
    ASSERT_TRUE(context.ok());
    ASSERT_TRUE(runWithoutCall(**context).ok());
    EXPECT_EQ(fake->sharedBytes, unsigned(bytes));
    --fake->sharedBytesOfBlocks;
    EXPECT_NE(messageOf(load(parts))
                  .find("needs " + std::to_string(bytes + 1024) + " bytes of shared memory"),
              std::string::npos);
  }
}

TEST_F(Cuda, LaunchesABlockForEachTile) {
  auto model = load(cudaParts(affineParts()));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  ASSERT_TRUE(run(**context, 3).ok());
  EXPECT_EQ(best[0], affineExpected()[where[0]]);
  EXPECT_EQ(fake->launches, 6); // A host function stands among the steps: nothing is recorded.
  EXPECT_EQ(fake->graphLaunches, 0);
  EXPECT_EQ(fake->blocks, 16u);
  EXPECT_EQ(fake->threads, 64u);
}

TEST_F(Cuda, BlocksThatMeetAreAsManyAsThereIsRoomFor) {
  Parts parts = cudaParts(withoutCall(affineParts()));
  parts.manifest.stages[1].meets = true;
  fake->threadsAtOnce = 256;
  auto model = load(parts);
  ASSERT_TRUE(model.ok()) << model.error().message;
  for (size_t queues : {1, 2}) { // Each has a counter of its own, for all its runs.
    auto context = Context::create(*model);
    ASSERT_TRUE(context.ok());
    for (int times = 0; times < 2; ++times) {
      ASSERT_TRUE(runWithoutCall(**context).ok());
      EXPECT_EQ(fake->blocks, 16u); // Four on each multiprocessor.
    }
    EXPECT_EQ(fake->meeting, 2 * queues);
    EXPECT_EQ(fake->counters.size(), queues);
    contexts.push_back(std::move(*context));
  }
  fake->threadsAtOnce = 128;
  ASSERT_TRUE(load(parts).ok());
  fake->threadsAtOnce = 32;
  EXPECT_NE(messageOf(load(parts)).find("'squash': has no room for a block"), std::string::npos);
}

TEST_F(Cuda, RecordsTheSecondRun) {
  auto model = load(cudaParts(withoutCall(affineParts())));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  RunOptions timed;
  timed.timesSteps = true;
  for (int times = 1; times <= 4; ++times) {
    std::ranges::fill(y, 7);
    for (float &value : x)
      value *= 0.5f; // The graph reads what this run was given.
    Status status = runWithoutCall(**context, timed);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_NEAR(y[7], std::tanh(x[7] * (7 / 500.0f) - 1), 1e-6);
    EXPECT_EQ(fake->graphLaunches, times - 1);
    EXPECT_EQ((*context)->deviceSeconds().has_value(), times > 1);
  }
  EXPECT_FALSE(runWithoutCall(**context).ok() && (*context)->deviceSeconds());
  EXPECT_EQ(fake->launches, 2);
  EXPECT_EQ(fake->recorded, 2);
  EXPECT_EQ(fake->early, 0u); // Its kernels don't say that they wait.
}

TEST_F(Cuda, RunsOfManySizesAreRecordedWhereTheyComeOften) {
  auto model = load(cudaParts(withoutCall(affineParts())));
  ASSERT_TRUE(model.ok()) << model.error().message;
  std::vector<float> weights(1000), bias(1), result(1000);
  auto queue = (*model)->device().createQueue((*model)->program(), {});
  ASSERT_TRUE(queue.ok());
  void *const buffers[] = {x.data(), weights.data(), bias.data(), result.data()};
  auto wasKept = [&](int64_t size) {
    (*queue)->beginRun({size, 1});
    auto kept = (*queue)->beginSteps({}, {});
    EXPECT_TRUE(kept.ok());
    if (!*kept) {
      EXPECT_TRUE((*queue)->launch(0, buffers).ok());
      EXPECT_TRUE((*queue)->endSteps(true).ok());
    }
    (*queue)->endRun();
    return *kept;
  };
  constexpr int room = 16;
  for (int size = 1; size <= room; ++size)
    EXPECT_FALSE(wasKept(size));
  EXPECT_EQ(fake->recorded, room - 1); // The first one is waited for, kernel by kernel.
  EXPECT_FALSE(wasKept(1));
  EXPECT_EQ(fake->recorded, room);
  for (int size = room + 1; size <= 2 * room; ++size) // No graph goes for what comes once.
    EXPECT_FALSE(wasKept(size));
  EXPECT_EQ(fake->recorded, room);
  EXPECT_EQ(fake->launches, 1 + room);
  for (int size = 1; size <= room; ++size)
    EXPECT_TRUE(wasKept(size));
  for (int times = 0; times < 5; ++times) // All in turn: those that have graphs keep them.
    for (int size = 1; size <= 2 * room; ++size)
      EXPECT_EQ(wasKept(size), size <= room);
  EXPECT_EQ(fake->recorded, room);
  EXPECT_FALSE(wasKept(room + 1)); // It came twice since 1 did, and takes its place.
  EXPECT_EQ(fake->recorded, room + 1);
  EXPECT_TRUE(wasKept(room + 1));
  EXPECT_TRUE(wasKept(2));
  EXPECT_FALSE(wasKept(1));
}

TEST_F(Cuda, TensorsMayBeOnTheDevice) {
  auto model = load(cudaParts(withoutCall(affineParts())));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  EXPECT_NE((*context)->nativeQueue(), nullptr);
  Device &device = (*model)->device();
  auto room = [&] { return static_cast<float *>(*device.allocate(8000)); };
  float *from = room(), *to = room();
  for (int times = 1; times <= 3; ++times) {
    for (int k = 0; k < 1000; ++k)
      from[500 + k] = x[k] / float(times); // Anywhere in what was allocated.
    std::fill_n(to, 2000, 7.0f);
    InputTensor inputs[] = {{"x", ElementType::F32, shape, from + 500, 6000}};
    OutputTensor outputs[] = {{"y", to + 3, 4000, {}}};
    ASSERT_EQ(messageOf((*context)->run(inputs, outputs)), "success");
    EXPECT_NEAR(to[3 + 7], std::tanh(from[507] * (7 / 500.0f) - 1), 1e-6);
    EXPECT_EQ(to[2], 7);
    EXPECT_EQ(to[1003], 7);
  }
  EXPECT_EQ(fake->graphLaunches, 2); // Wherever the tensors are.
  device.release(from, 8000);
  device.release(to, 8000);
}

TEST_F(Cuda, TensorsOnTheDeviceAreUsedWhereTheyAreOnceTheyWereThere) {
  auto model = load(cudaParts(withoutCall(affineParts())));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  Device &device = (*model)->device();
  constexpr size_t rooms = 12;
  std::vector<float *> from, to;
  for (size_t k = 0; k < rooms; ++k)
    for (auto *all : {&from, &to})
      all->push_back(static_cast<float *>(*device.allocate(4000)));
  auto run = [&](size_t number) {
    for (int k = 0; k < 1000; ++k)
      from[number][k] = x[k] / float(number + 1);
    std::fill_n(to[number], 1000, 7.0f);
    InputTensor inputs[] = {{"x", ElementType::F32, shape, from[number], 4000}};
    OutputTensor outputs[] = {{"y", to[number], 4000, {}}};
    int before = fake->copies;
    EXPECT_EQ(messageOf((*context)->run(inputs, outputs)), "success");
    EXPECT_NEAR(to[number][7], std::tanh(from[number][7] * (7 / 500.0f) - 1), 1e-6);
    return fake->copies - before;
  };
  EXPECT_EQ(run(0), 2); // Input and output.
  for (int times = 0; times < 3; ++times)
    EXPECT_EQ(run(0), 0);
  EXPECT_EQ(run(1), 2);
  for (size_t number : {1, 0, 1, 0}) // In turns.
    EXPECT_EQ(run(number), 0);
  for (size_t number = 2; number < rooms; ++number)
    EXPECT_EQ(run(number), 2);
  EXPECT_EQ(run(0), 2); // Forgotten, with its steps.
  int recorded = fake->recorded;
  for (size_t number = 0; number < rooms; ++number) { // More steps than are kept.
    run(number);
    EXPECT_EQ(run(number), 0);
  }
  EXPECT_GT(fake->recorded, recorded);
  (*context).reset();
  for (size_t k = 0; k < rooms; ++k)
    for (auto *all : {&from, &to})
      device.release((*all)[k], 4000);
}

/// A model with small inputs beside a large one, of which no stage reads the small ones.
static Parts partsWithSmallInputs() {
  Parts parts = cudaParts(withoutCall(affineParts()));
  Manifest &m = parts.manifest;
  for (uint32_t number : {1, 2, 3}) {
    std::string name = "small" + std::to_string(number);
    auto buffer = static_cast<uint32_t>(m.buffers.size());
    m.buffers.push_back({name, ElementType::I64, {3}, 24, Home::input(number)});
    m.inputs.push_back({name, ElementType::I64, {3}, buffer});
  }
  m.checks = {
      {m.inputs[2].buffer, "pick", "its index {} is wrong", ElementRange{0, 9, 0, {{3, 1}}}}};
  return parts;
}

TEST_F(Cuda, RunsOnBoundTensorsAskTheDriverForLittle) {
  auto model = load(partsWithSmallInputs());
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  Device &device = (*model)->device();
  auto *from = static_cast<float *>(*device.allocate(4000));
  auto *to = static_cast<float *>(*device.allocate(4000));
  int64_t small[3][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, dims[] = {3};
  std::unique_ptr<Binding> binding;
  {
    InputTensor inputs[] = {{"small3", ElementType::I64, dims, small[2], 24},
                            {"x", ElementType::F32, shape, from, 4000},
                            {"small2", ElementType::I64, dims, small[1], 24},
                            {"small1", ElementType::I64, dims, small[0], 24}};
    OutputTensor outputs[] = {{"y", to, 4000, {}}};
    auto bound = (*context)->bind(inputs, outputs);
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    binding = std::move(*bound);
    std::ranges::fill(inputs, InputTensor{}); // What is kept is not these.
  }
  for (int times = 1; times <= 5; ++times) {
    for (int k = 0; k < 1000; ++k)
      from[k] = x[k] / float(times);
    small[1][2] = times == 4 ? 9 : 2; // Values are looked at in each run.
    FakeCuda before = *fake;
    EXPECT_EQ(messageOf((*context)->run(*binding)),
              times == 4 ? "input 'small2': node 'pick': its index 9 is wrong" : "success");
    EXPECT_NEAR(to[7], std::tanh(from[7] * (7 / 500.0f) - 1), times == 4 ? 1 : 1e-6);
    EXPECT_EQ(fake->pointerQueries, before.pointerQueries);
    if (times < 3 ||
        times == 4) // Stages are waited for one by one, or recorded; or nothing is run.
      continue;
    EXPECT_EQ(fake->uploads, before.uploads + 1) << "all that is the host's together";
    EXPECT_EQ(fake->waits, before.waits + 1);
    EXPECT_EQ(fake->graphLaunches, before.graphLaunches + 1);
    EXPECT_EQ(fake->copies, before.copies);
  }
  binding.reset();
  (*context).reset();
  device.release(from, 4000);
  device.release(to, 4000);
}

/// Neighbours go together, wherever the others are.
TEST_F(Cuda, SmallInputsMayBeAnywhere) {
  Parts parts = partsWithSmallInputs();
  Manifest &m = parts.manifest;
  for (uint32_t number : {1, 2, 3}) { // They are outputs, too.
    std::string name = "again" + std::to_string(number);
    m.outputs.push_back({name, ElementType::I64, {3}, m.inputs[number].buffer});
  }
  auto model = load(parts);
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  Device &device = (*model)->device();
  int64_t here[3][3], results[3][3], dims[] = {3};
  for (int where = 0; where < 16; ++where) {
    auto *there = static_cast<int64_t *>(*device.allocate(3 * 64));
    std::vector<InputTensor> inputs = {{"x", ElementType::F32, shape, x.data(), 4000}};
    std::vector<OutputTensor> outputs = {{"y", y.data(), 4000, {}}};
    for (int k = 0; k < 3; ++k) {
      int64_t *data = where >> k & 1 ? there + 8 * k : here[k];
      for (int64_t e = 0; e < 3; ++e)
        data[e] = (where + k + e) % 9;
      inputs.push_back({"", ElementType::I64, dims, data, 24});
      outputs.push_back({"", results[k], 24, {}});
    }
    int before = fake->uploads;
    ASSERT_EQ(messageOf((*context)->run(inputs, outputs)), "success");
    for (int k = 0; k < 3; ++k)
      for (int64_t e = 0; e < 3; ++e)
        EXPECT_EQ(results[k][e], (where + k + e) % 9);
    constexpr int pieces[] = {1, 2, 2, 2, 1, 2, 1, 1}; // Of x and what is with it, and of the rest.
    EXPECT_EQ(fake->uploads - before, pieces[where % 8]) << where;
    device.release(there, 3 * 64);
  }
}

TEST_F(Cuda, AnOutputOverAnInputIsCopiedWhereStagesReadThatLater) {
  for (bool readsLater : {false, true}) {
    Parts parts = cudaParts(withoutCall(affineParts()));
    if (readsLater) // y = tanh(x), by the stage that reads x.
      parts.manifest.stages[1].buffers[0] = parts.manifest.inputs[0].buffer;
    auto model = load(parts);
    ASSERT_TRUE(model.ok()) << model.error().message;
    auto context = Context::create(*model);
    ASSERT_TRUE(context.ok());
    auto *memory = static_cast<float *>(*(*model)->device().allocate(4000));
    InputTensor inputs[] = {{"x", ElementType::F32, shape, memory, 4000}};
    OutputTensor outputs[] = {{"y", memory, 4000, {}}};
    for (int times = 1; times <= 5; ++times) {
      std::copy_n(x.data(), 1000, memory);
      int copies = fake->copies;
      ASSERT_EQ(messageOf((*context)->run(inputs, outputs)), "success");
      EXPECT_NEAR(memory[7], std::tanh(readsLater ? x[7] : x[7] * (7 / 500.0f) - 1), 1e-6);
      EXPECT_EQ(fake->copies - copies, times == 1 ? 2 : readsLater ? 1 : 0);
    }
    (*context).reset();
    (*model)->device().release(memory, 4000);
  }
}

/// Whatever the run before was like, and wherever its tensors were.
TEST_F(Cuda, RunsOfAllKindsTakeTurns) {
  struct Watcher : StageObserver {
    Status launched(uint32_t, std::span<void *const>, DeviceQueue &) override {
      return --left < 0 ? usageError("enough") : Status::success();
    }
    int left = 0;
  } watcher;
  auto model = load(cudaParts(withoutCall(affineParts())));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  Device &device = (*model)->device();
  std::vector<std::vector<float>> here(6, std::vector<float>(2000));
  std::vector<float *> rooms;
  for (std::vector<float> &room : here)
    rooms.push_back(room.data());
  for (int k = 0; k < 8; ++k)
    rooms.push_back(static_cast<float *>(*device.allocate(8000)));
  std::mt19937 random(5);
  auto below = [&](size_t limit) { return random() % limit; };
  for (int times = 0; times < 400; ++times) {
    size_t first = below(rooms.size()), second = below(rooms.size() - 1);
    float *from = rooms[first] + below(2) * 3, *to = rooms[second + (second >= first)];
    for (int k = 0; k < 1000; ++k)
      from[k] = x[k] / float(times + 1);
    std::fill_n(to, 2000, 7.0f);
    std::atomic<bool> cancel = below(8) == 0;
    RunOptions options;
    options.cancel = &cancel;
    options.profile = below(3) == 0;
    watcher.left = below(3);
    options.observer = below(4) == 0 ? &watcher : nullptr;
    InputTensor inputs[] = {{"x", ElementType::F32, shape, from, 4000}};
    OutputTensor outputs[] = {{"y", to, 4000, {}}};
    Status status = (*context)->run(inputs, outputs, options);
    EXPECT_FALSE(fake->isUnderWay);
    EXPECT_EQ(status.ok(), !cancel && !(options.observer && watcher.left < 0));
    for (int k = 0; status.ok() && k < 1000; k += 111)
      ASSERT_NEAR(to[k], std::tanh(from[k] * (k / 500.0f) - 1), 1e-6) << times;
    EXPECT_EQ(to[1000], 7);
  }
  EXPECT_GT(fake->recorded, 8);
  (*context).reset();
  for (size_t k = here.size(); k < rooms.size(); ++k)
    device.release(rooms[k], 8000);
}

/// The caller may free its tensors then.
TEST_F(Cuda, RunsThatEndEarlyLeaveNothingUnderWay) {
  struct Stopper : StageObserver {
    explicit Stopper(const FakeCuda &fake) : fake(fake) {}
    Status launched(uint32_t, std::span<void *const>, DeviceQueue &) override {
      isUnderWay = fake.isUnderWay;
      return usageError("enough");
    }
    const FakeCuda &fake;
    bool isUnderWay = false;
  } stopper(*fake);
  auto model = load(cudaParts(withoutCall(affineParts())));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  ASSERT_TRUE(runWithoutCall(**context).ok());
  EXPECT_FALSE(fake->isUnderWay);
  RunOptions stopped, cancelled;
  stopped.observer = &stopper;
  EXPECT_EQ(messageOf(runWithoutCall(**context, stopped)), "enough");
  EXPECT_TRUE(stopper.isUnderWay);
  EXPECT_FALSE(fake->isUnderWay);
  std::atomic<bool> cancel = true;
  cancelled.cancel = &cancel;
  EXPECT_EQ(messageOf(runWithoutCall(**context, cancelled)), "test.kin: the run was cancelled");
  EXPECT_FALSE(fake->isUnderWay);
  ASSERT_TRUE(runWithoutCall(**context).ok());
  EXPECT_NEAR(y[7], std::tanh(x[7] * (7 / 500.0f) - 1), 1e-6);
}

TEST_F(Cuda, WhatTheHostLooksAtOfTensorsOnTheDevice) {
  Parts parts = cudaParts(raggedParts());
  Manifest &m = parts.manifest;
  m.checks = {{m.inputs[0].buffer, "cut", "Ragged: {} is too much", ElementRange{0, 3}}};
  auto model = load(parts);
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  Device &device = (*model)->device();
  auto *count = static_cast<int64_t *>(*device.allocate(8));
  auto *there = static_cast<float *>(*device.allocate(48));
  float here[12];
  int64_t extents[2];
  InputTensor inputs[] = {{"count", ElementType::I64, {}, count, 8}};
  auto run = [&](float *rows) {
    OutputTensor outputs[] = {{"rows", rows, 48, extents}};
    return messageOf((*context)->run(inputs, outputs));
  };
  *count = 2;
  EXPECT_EQ(run(here), "success");
  EXPECT_EQ(run(there), "output 'rows' has extents that depend on data: give it host memory");
  *count = 5;
  EXPECT_EQ(run(here), "input 'count': node 'cut': Ragged: 5 is too much");
  *count = 1;
  int waits = fake->waits;
  EXPECT_EQ(run(here), "success");
  EXPECT_EQ(fake->waits, waits + 1) << "the run's own end";
  device.release(count, 8);
  device.release(there, 48);
}

TEST_F(Cuda, LooksAtReportsAfterEachRun) {
  Parts parts = cudaParts(raggedParts());
  Manifest &m = parts.manifest;
  m.outputs[0].dynamic.clear();
  m.checks = {{m.stages[0].buffers[2], "cut", "Ragged: there are columns"}};
  auto model = load(parts);
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  float rows[12];
  OutputTensor outputs[] = {{"rows", rows, sizeof(rows), {}}};
  for (int64_t count : {2, 0, 1, 0}) {
    InputTensor inputs[] = {{"count", ElementType::I64, {}, &count, 8}};
    EXPECT_EQ(messageOf((*context)->run(inputs, outputs)),
              count ? "node 'cut': Ragged: there are columns" : "success");
  }
  EXPECT_EQ(fake->graphLaunches, 3); // What was reported does not keep a run from being recorded.
}

TEST_F(Cuda, LaunchesAClusterForEachTile) {
  unsigned blocks[2] = {};
  for (int width : {0, 4}) {
    fake->clusterWidth = width;
    auto model = load(cudaParts(withoutCall(affineParts())));
    ASSERT_TRUE(model.ok()) << model.error().message;
    auto context = Context::create(*model);
    ASSERT_TRUE(context.ok());
    ASSERT_TRUE(runWithoutCall(**context).ok());
    EXPECT_NEAR(y[7], std::tanh(x[7] * (7 / 500.0f) - 1), 1e-6);
    blocks[width / 4] = fake->blocks;
  }
  EXPECT_EQ(blocks[1], 4 * blocks[0]);
}

TEST_F(Cuda, TimesStagesByEventsOfAGraph) {
  auto model = load(cudaParts(withoutCall(affineParts())));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  RunOptions profiled;
  profiled.profile = true;
  for (int times = 1; times <= 6; ++times) { // Alone, then recorded, with and without times.
    RunOptions options = times == 3 || times == 4 ? RunOptions() : profiled;
    ASSERT_TRUE(runWithoutCall(**context, options).ok());
    EXPECT_NEAR(y[7], std::tanh(x[7] * (7 / 500.0f) - 1), 1e-6);
    auto spans = (*context)->stageSpans();
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_TRUE(spans[0].stage == 0 && spans[1].stage == 1);
    if (times > 1) {
      EXPECT_EQ(spans[0].begin, 0);
      EXPECT_EQ(spans[1].begin, 1'500'000);
    }
    for (const StageSpan &span : spans) // Four ticks of a kernel; that of the event is taken off.
      EXPECT_EQ(span.nanoseconds, 1'000'000);
  }
  EXPECT_TRUE((*context)->timesByDevice());
  EXPECT_EQ((*context)->stageTimes()[1].launches, 4u);
  EXPECT_EQ((*context)->stageTimes()[1].nanoseconds, 4'000'000u);
}

TEST_F(Cuda, TimesStagesBetweenCallsOfTheHost) {
  auto model = load(cudaParts(affineParts()));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  RunOptions profiled;
  profiled.profile = true;
  for (int times = 1; times <= 3; ++times) {
    ASSERT_TRUE(run(**context, 1, profiled).ok());
    auto spans = (*context)->stageSpans();
    ASSERT_EQ(spans.size(), 3u);
    EXPECT_EQ(spans[0].nanoseconds, 1'000'000);
    EXPECT_EQ(spans[1].nanoseconds, 1'000'000);
    EXPECT_EQ(spans[2].stage, 2u); // The call, by the host's clock.
    EXPECT_GT(spans[2].nanoseconds, 0);
  }
}

TEST_F(Cuda, StartsKernelsEarlyThatWait) {
  Parts parts = cudaParts(withoutCall(affineParts()));
  parts.manifest.code[0].kernelsWait = true;
  auto model = load(parts);
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  for (int times = 1; times <= 3; ++times)
    ASSERT_TRUE(runWithoutCall(**context).ok());
  EXPECT_EQ(fake->early, 1u); // Of the two that are recorded, the one behind a kernel.
}

static Parts partsWithMap(const KinTensorMap &map) {
  Parts parts = cudaParts(withoutCall(affineParts()));
  parts.manifest.code[0].maps = {{parts.manifest.stages[0].symbol, {map}}};
  parts.manifest.stages[0].scratchBytes = 512; // As much as a box.
  return parts;
}

TEST_F(Cuda, DescribesOperandsOfEachLaunch) {
  // In three dimensions of which one is taken in steps, and in lines of each length.
  const KinTensorMap steps = {0, 3, 128, 16, {64, 5, 3}, {2, 256, 1280}, {64, 3, 1}, {1, 2, 1}};
  constexpr int halves = 1, plain = 0, by128Bytes = 2, zeros = 0;
  const std::pair<KinTensorMap, FakeTensorMap> described[] = {
      {mapOfOperand(), {halves, 32, {64, 31}, {128}, {32, 8}, {1, 1}, plain, 2, by128Bytes, zeros}},
      {{0, 1, 32, 0, {2000}, {2}, {16}, {1}},
       {halves, 0, {2000}, {}, {16}, {1}, plain, 1, by128Bytes, zeros}},
      {steps,
       {halves, 16, {64, 5, 3}, {256, 1280}, {64, 3, 1}, {1, 2, 1}, plain, 3, by128Bytes, zeros}}};
  for (auto [map, expected] : described) {
    *fake = FakeCuda();
    fake->mappedKernel = "affine";
    auto model = load(partsWithMap(map));
    ASSERT_TRUE(model.ok()) << model.error().message;
    auto context = Context::create(*model);
    ASSERT_TRUE(context.ok());
    for (int times = 1; times <= 4; ++times)
      ASSERT_TRUE(runWithoutCall(**context).ok());
    ASSERT_EQ(fake->encodedMaps.size(), 2u); // When it is watched, and when it is recorded.
    ASSERT_EQ(fake->takenMaps.size(), 2u);
    for (uint64_t launch : {0, 1}) {
      auto [number, operand] = fake->takenMaps[launch];
      EXPECT_EQ(number, launch);
      FakeTensorMap encoded = fake->encodedMaps[launch];
      encoded.start -= operand;
      EXPECT_EQ(encoded, expected);
    }
  }
}

TEST_F(Cuda, RefusesMapsOfWhatIsNotThere) {
  struct Mistake {
    std::function<void(KinTensorMap &)> make;
    const char *message;
  };
  const Mistake mistakes[] = {
      {[](KinTensorMap &map) { map.operand = 9; }, "an operand that there is not"},
      {[](KinTensorMap &map) { map.line_bytes = 48; }, "that no device knows"},
      {[](KinTensorMap &map) { map.box[1] = 257; }, "that no device knows"},
      {[](KinTensorMap &map) { map.box[1] = 0; }, "that no device knows"},
      {[](KinTensorMap &map) { map.box[0] = 64; }, "that no device knows"},
      {[](KinTensorMap &map) { map.steps[0] = 2; }, "that no device knows"},
      {[](KinTensorMap &map) { map.steps[1] = 0; }, "that no device knows"},
      {[](KinTensorMap &map) { map.steps[1] = 9; }, "that no device knows"},
      {[](KinTensorMap &map) { map.extents[1] = 0; }, "that no device knows"},
      {[](KinTensorMap &map) { map.strides[0] = 4; }, "that no device knows"},
      {[](KinTensorMap &map) { map.strides[1] = 136; }, "that no device knows"},
      {[](KinTensorMap &map) { map.strides[1] = 0; }, "that no device knows"},
      {[](KinTensorMap &map) { map.strides[1] = uint64_t(1) << 40; }, "that no device knows"},
      {[](KinTensorMap &map) { map.extents[1] = (uint64_t(1) << 32) + 1; }, "that no device knows"},
      {[](KinTensorMap &map) { map.start = 8; }, "that no device knows"},
      {[](KinTensorMap &map) { map.extents[1] = 32; }, "past the end of its operand"},
      {[](KinTensorMap &map) { map.start = 4096; }, "past the end of its operand"},
      {[](KinTensorMap &map) { map.start = uint64_t(-16); }, "past the end of its operand"},
      {[](KinTensorMap &map) { map.extents[0] = uint64_t(1) << 32; },
       "past the end of its operand"},
      {[](KinTensorMap &map) { // That wraps around.
         map.extents[1] = uint64_t(1) << 32;
         map.strides[1] = uint64_t(1) << 36;
       },
       "past the end of its operand"},
      {[](KinTensorMap &map) { map.box[1] = 9; }, "whose boxes have no room"},
  };
  for (const Mistake &mistake : mistakes) {
    KinTensorMap map = mapOfOperand();
    mistake.make(map);
    auto model = load(partsWithMap(map));
    ASSERT_FALSE(model.ok()) << mistake.message;
    EXPECT_EQ(model.error().kind, ErrorKind::Input);
    EXPECT_NE(model.error().message.find(mistake.message), std::string::npos)
        << model.error().message;
  }
}

TEST(TensorMap, HasOneToFiveDimensions) {
  KinTensorMap map = mapOfOperand();
  EXPECT_TRUE(devices::cuda::checkMap(map, 4000, 512).ok());
  for (uint16_t rank : {0, 6, 65535}) {
    map.rank = rank;
    EXPECT_FALSE(devices::cuda::checkMap(map, 4000, 512).ok());
  }
}

TEST_F(Cuda, RefusesMoreMapsThanALaunchTakes) {
  Parts parts = partsWithMap(mapOfOperand());
  parts.manifest.code[0].maps[0].maps.assign(KIN_TENSOR_MAX_MAPS, mapOfOperand());
  EXPECT_TRUE(load(parts).ok());
  parts.manifest.code[0].maps[0].maps.push_back(mapOfOperand());
  EXPECT_NE(messageOf(load(parts)).find("takes 17 tensor maps"), std::string::npos);
}

TEST_F(Cuda, RecordsOfALoopItsKernels) {
  auto model = load(cudaParts(lanesParts(1)));
  ASSERT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  for (int times = 1; times <= 4; ++times) {
    int64_t limit = 0, trace[8] = {}, places[3] = {};
    InputTensor inputs[] = {{"limit", ElementType::I64, {}, &limit, 8}};
    OutputTensor outputs[] = {{"", trace, 64, {}}, {"", places, 24, {}}};
    ASSERT_TRUE((*context)->run(inputs, outputs).ok());
    EXPECT_EQ(std::vector<int64_t>(trace, trace + 8),
              (std::vector<int64_t>{0, 1, 3, 6, 10, 15, 21, 28}));
  }
  EXPECT_EQ(fake->recorded, 17);
  EXPECT_EQ(fake->recordedMoves, 4); // To each second place of the stack: it is at an odd address.
}

TEST_F(Cuda, NamesTheStageThatFaults) {
  const std::string expected = "cannot run kernel 'squash' of node 'squash_node': "
                               "CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access was "
                               "encountered";
  for (bool profiled : {false, true}) {
    for (const Parts &parts : {withoutCall(affineParts()), affineParts()}) {
      auto model = load(cudaParts(parts));
      ASSERT_TRUE(model.ok());
      auto context = Context::create(*model);
      fake->failingKernel = "squash";
      InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), 4000}};
      OutputTensor outputs[] = {{"y", y.data(), 4000, {}},
                                {"best", best.data(), 20, {}},
                                {"where", where.data(), 40, {}}};
      std::span<const OutputTensor> taken(outputs, parts.manifest.outputs.size());
      RunOptions options;
      options.profile = profiled;
      EXPECT_EQ(messageOf((*context)->run(inputs, taken, options)), expected);
      *fake = FakeCuda();
    }
  }
}

TEST_F(Cuda, MeasuresLaunchesAndWaits) {
  for (auto [major, startsEarly] : {std::pair{9, true}, {8, false}}) {
    fake->major = major;
    auto device = CudaDevice::open(0, FAKE_CUDA);
    ASSERT_TRUE(device.ok());
    auto costs = devices::measureLaunchCosts(**device);
    ASSERT_TRUE(costs.ok()) << costs.error().message;
    EXPECT_DOUBLE_EQ(costs->launchSeconds, 1e-3) << "four ticks";
    EXPECT_DOUBLE_EQ(costs->barrierSeconds, 0.75e-3) << "three";
    EXPECT_EQ(fake->early > 0, startsEarly);
    EXPECT_GT(fake->meeting, 0u);
    EXPECT_EQ(fake->counters.size(), 1u);
    device->reset();
    EXPECT_EQ(fake->memoryInUse, 0);
    *fake = FakeCuda();
  }
}

TEST_F(Cuda, GivesEverythingBack) {
  {
    auto model = load(cudaParts(affineParts()));
    ASSERT_TRUE(model.ok());
    auto context = Context::create(*model);
    ASSERT_TRUE(run(**context, 2).ok());
    EXPECT_GT(fake->memoryInUse, 0);
  }
  EXPECT_EQ(fake->memoryInUse, 0);
  EXPECT_EQ(fake->contexts, 0);
}
