//===- allocation_test.cpp - A run allocates nothing after the first ------===//
//
// Counts every malloc, calloc and realloc of the process, whoever calls it.
//
//===----------------------------------------------------------------------===//

#include "devices/cpu/cpu_device.h"
#include "fixture.h"
#include "runtime/context.h"

#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::runtime;

static std::atomic<uint64_t> allocations{0};

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZER_ALLOCATES
#endif
#endif

#ifdef SANITIZER_ALLOCATES
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
                                                         void (*)(const volatile void *));
static const int hooks = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void *, size_t) { ++allocations; }, [](const volatile void *) {});
#else
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  ++allocations;
  return __libc_realloc(memory, size);
}
}
static const int hooks = 1;
#endif

TEST(Allocations, AreCounted) {
  ASSERT_NE(hooks, 0);
  uint64_t before = allocations;
  void *volatile memory = std::malloc(100);
  std::free(memory);
  EXPECT_GT(allocations, before);
}

/// Allocations of 100 runs after the first.
static uint64_t countAllocations(const Parts &parts, uint32_t threads,
                                 std::span<const InputTensor> inputs,
                                 std::span<const OutputTensor> outputs) {
  auto artifact = Artifact::fromMemory(parts.bytes(), "a.kin");
  EXPECT_TRUE(artifact.ok());
  auto model = Model::create(std::move(*artifact), std::make_shared<devices::CpuDevice>());
  EXPECT_TRUE(model.ok());
  auto context = Context::create(*model, {threads});
  EXPECT_TRUE(context.ok());
  std::atomic<bool> cancel{false};
  RunOptions options{&cancel, true};
  EXPECT_TRUE((*context)->run(inputs, outputs, options).ok());
  uint64_t before = allocations;
  for (int i = 0; i < 100; ++i)
    if (!(*context)->run(inputs, outputs, options).ok())
      return uint64_t(-1);
  return allocations - before;
}

TEST(Allocations, NoneInRunsOfKernels) {
  Parts parts = affineParts();
  parts.manifest.plan = Plan::sequence({Plan::ofStage(0), Plan::ofStage(1)}); // Not the call.
  std::vector<float> x = affineInput(), y(1000), best(5);
  std::vector<int64_t> where(5), shape{1000};
  InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), 4000}};
  OutputTensor outputs[] = {
      {"y", y.data(), 4000, {}}, {"best", best.data(), 20, {}}, {"where", where.data(), 40, {}}};
  EXPECT_EQ(countAllocations(parts, 1, inputs, outputs), 0u);
  EXPECT_EQ(countAllocations(parts, 3, inputs, outputs), 0u);
}

TEST(Allocations, NoneInLoopsLanesAndDynamicOutputs) {
  int64_t limit = 100, total, trace[8], shape[2];
  float rows[12];
  InputTensor loopInputs[] = {{"limit", ElementType::I64, {}, &limit, 8}};
  OutputTensor loopOutputs[] = {{"total", &total, 8, {}}, {"trace", trace, 64, {}}};
  EXPECT_EQ(countAllocations(loopParts(), 2, loopInputs, loopOutputs), 0u);
  int64_t traces[2][8], places[2][3];
  OutputTensor lanesOutputs[] = {{"trace0", traces[0], 64, {}},
                                 {"places0", places[0], 24, {}},
                                 {"trace1", traces[1], 64, {}},
                                 {"places1", places[1], 24, {}}};
  EXPECT_EQ(countAllocations(lanesParts(2), 2, loopInputs, lanesOutputs), 0u);
  int64_t count = 2;
  InputTensor inputs[] = {{"count", ElementType::I64, {}, &count, 8}};
  OutputTensor outputs[] = {{"rows", rows, sizeof(rows), shape}};
  EXPECT_EQ(countAllocations(raggedParts(), 2, inputs, outputs), 0u);
}
