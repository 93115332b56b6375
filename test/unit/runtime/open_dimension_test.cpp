//===- open_dimension_test.cpp - Runs of a size that each of them says ----===//

#include "runtime/context.h"

#include "devices/cpu/cpu_device.h"
#include "devices/null/null_device.h"
#include "fixture.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::runtime;

namespace {

/// affineParts() whose elements are steps of an open dimension, without its call.
Parts openParts(int64_t low = 1) {
  Parts parts = affineParts();
  Manifest &m = parts.manifest;
  m.open = {{"n", low, 1000}};
  m.inputs[0].open = m.outputs[0].open = {{0, 1}};
  m.outputs.resize(1);
  m.buffers.resize(5); // Without what only the call writes.
  m.stages.resize(2);
  for (Stage &stage : m.stages)
    stage.trims = {{0, 1, 64, 16, 1}};
  m.plan = Plan::sequence({Plan::ofStage(0), Plan::ofStage(1)});
  return parts;
}

std::unique_ptr<Context> contextOf(const Parts &parts, std::shared_ptr<Device> device) {
  auto artifact = Artifact::fromMemory(parts.bytes(), "test.kin");
  EXPECT_TRUE(artifact.ok()) << artifact.error().message;
  auto model = Model::create(std::move(*artifact), std::move(device));
  EXPECT_TRUE(model.ok()) << model.error().message;
  auto context = Context::create(*model, {2});
  EXPECT_TRUE(context.ok());
  return std::move(*context);
}

std::unique_ptr<Context> onProcessor(const Parts &parts) {
  return contextOf(parts, std::make_shared<devices::CpuDevice>());
}

Status run(Context &context, int64_t size, std::vector<float> &y, std::vector<int64_t> &extents) {
  std::vector<float> x = affineInput();
  std::vector<int64_t> shape{size};
  InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), uint64_t(size) * 4}};
  OutputTensor outputs[] = {{"y", y.data(), uint64_t(size) * 4, extents}};
  return context.run(inputs, outputs);
}

TEST(OpenDimension, RunsOfASizeTouchNoMore) {
  auto context = onProcessor(openParts());
  std::vector<float> t = affineExpected();
  for (int64_t size : {1000, 1, 64, 65, 700, 1000}) {
    std::vector<float> y(1000, -5);
    std::vector<int64_t> extents{0};
    Status status = run(*context, size, y, extents);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(extents[0], size);
    for (int64_t i = 0; i < 1000; ++i)
      EXPECT_EQ(y[i], i < size ? float(std::tanh(double(t[i]))) : -5) << i << " of " << size;
  }
}

/// Counts tiles by what they store: the first of a middle dimension's pieces in each row.
TEST(OpenDimension, TilesOfEachRowAreTheFirstOnes) {
  Parts parts = openParts();
  Manifest &m = parts.manifest;
  // 1000 elements are 10 rows of 100, of which a size of n asks for the first 10 n in each.
  m.open[0].high = 10;
  for (Port *port : {&m.inputs[0], &m.outputs[0]}) {
    port->shape = {10, 10, 10};
    port->open = {{1, 1}};
  }
  for (uint32_t buffer : {m.inputs[0].buffer, m.outputs[0].buffer})
    m.buffers[buffer].shape = {10, 10, 10};
  for (Stage &stage : m.stages)
    stage.trims.clear();
  auto context = onProcessor(parts);
  std::vector<float> x(120), y(120), whole = affineInput(), w = affineWeights();
  for (int64_t i = 0; i < 120; ++i)
    x[i] = whole[i];
  std::vector<int64_t> shape{10, 1, 10};
  InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), 400}};
  OutputTensor outputs[] = {{"y", y.data(), 400, {}}};
  ASSERT_TRUE(context->run(inputs, outputs).ok());
  for (int64_t i = 0; i < 100; ++i) {
    float t = x[i] * w[i / 10 * 100 + i % 10] - 1;
    EXPECT_EQ(y[i], float(std::tanh(double(t)))) << i;
  }
}

/// 1000 elements are 10 rows of 10 places of 10 each. Rows and places are open, and a tile is a
/// place.
Parts twiceOpenParts() {
  Parts parts = openParts();
  Manifest &m = parts.manifest;
  m.open = {{"b", 1, 10}, {"s", 1, 10}};
  for (Port *port : {&m.inputs[0], &m.outputs[0]}) {
    port->shape = {10, 10, 10};
    port->open = {{0, 1, 0}, {1, 1, 1}};
    m.buffers[port->buffer].shape = port->shape;
  }
  for (Stage &stage : m.stages)
    stage.trims.clear();
  return parts;
}

TEST(OpenDimension, TwoOfATensorAreItsFirstRowsAndPlaces) {
  auto context = onProcessor(twiceOpenParts());
  std::vector<float> whole = affineInput(), w = affineWeights();
  for (auto [rows, places] : {std::pair{3, 4}, {1, 10}, {10, 1}, {10, 10}}) {
    std::vector<int64_t> shape{rows, places, 10};
    const int64_t count = rows * places * 10;
    std::vector<float> x(whole.begin(), whole.begin() + count), y(count + 1, -5);
    InputTensor inputs[] = {{"x", ElementType::F32, shape, x.data(), uint64_t(count) * 4}};
    OutputTensor outputs[] = {{"y", y.data(), uint64_t(count) * 4, {}}};
    ASSERT_TRUE(context->run(inputs, outputs).ok());
    EXPECT_EQ(y[count], -5);
    for (int64_t i = 0; i < count; ++i) {
      int64_t row = i / (places * 10), inRow = i % (places * 10);
      EXPECT_EQ(y[i], float(std::tanh(double(x[i] * w[row * 100 + inRow] - 1)))) << i;
    }
  }
}

TEST(OpenDimension, PiecesOfTwoAreInBands) {
  const int64_t shape[] = {2, 4, 3, 5, 7};
  const OpenAxis axes[] = {{1, 2, 1}, {3, 1, 0}};
  OpenPart part = partOf(ElementType::F32, shape, axes, {3, 1}); // 2 of 4, and 3 of 5.
  EXPECT_EQ(part.bands, 2u);
  EXPECT_EQ(part.pieces, 6u);
  EXPECT_EQ(part.bytes, 84u);
  EXPECT_EQ(part.placeOf(5), 5u * 140);
  EXPECT_EQ(part.placeOf(6), 4u * 3 * 140);
  EXPECT_EQ(partOf(ElementType::F32, shape, axes, {5, 2}).count(), 1u); // All of it.
  EXPECT_EQ(partOf(ElementType::F32, shape, axes, {5, 1}).count(), 2u); // Halves.
}

TEST(OpenDimension, KeptTilesCoverTheRows) {
  Trim trim{0, 3, 4, 8, 5}; // Ten steps of three rows.
  EXPECT_EQ(trim.kept({1}), 5u);
  EXPECT_EQ(trim.kept({2}), 10u);
  EXPECT_EQ(trim.kept({10}), 40u);
  EXPECT_EQ(trim.period(), 40u);
  trim.band = 3; // Pieces come in threes.
  EXPECT_EQ(trim.kept({1}), 15u);
  EXPECT_EQ(trim.kept({8}), 30u);
  EXPECT_EQ(trim.kept({10}), 40u);
}

TEST(OpenDimension, APartOfAStagesTilesIsNeeded) {
  Stage stage;
  EXPECT_EQ(neededPart(stage, {3}), 1);
  stage.trims = {{0, 1, 1, 8, 4}, {1, 1, 1, 4, 1}};
  EXPECT_EQ(neededPart(stage, {8, 4}), 1);
  EXPECT_EQ(neededPart(stage, {2, 3}), 0.25 * 0.75);
}

TEST(OpenDimension, OtherSizesAreErrors) {
  auto context = onProcessor(openParts(3));
  std::vector<float> y(2000);
  std::vector<int64_t> extents{0};
  for (int64_t size : {2, 1001}) {
    Status status = run(*context, size, y, extents);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::Usage);
    EXPECT_EQ(status.error().message, "input 'x' has shape [" + std::to_string(size) +
                                          "]: along dimension 0, 'n', the model takes 3 to 1000");
  }
}

TEST(OpenDimension, ADeviceIsGivenWhatARunHas) {
  auto device = std::make_shared<devices::NullDevice>();
  auto context = contextOf(openParts(), device);
  std::vector<float> y(1000);
  std::vector<int64_t> extents{0};
  uint64_t before = device->counts().uploadedBytes;
  ASSERT_TRUE(run(*context, 10, y, extents).ok());
  EXPECT_EQ(device->counts().uploadedBytes - before, 40u);
  EXPECT_EQ(device->counts().downloadedBytes, 40u);
}

TEST(OpenDimension, MistakesAreNamed) {
  struct Mistake {
    void (*make)(Manifest &);
    const char *message;
  };
  const Mistake mistakes[] = {
      {[](Manifest &m) { m.open.clear(); },
       "input 'x': has an open dimension that is not as large as the greatest size"},
      {[](Manifest &m) { m.open[0].high = 999; },
       "input 'x': has an open dimension that is not as large as the greatest size"},
      {[](Manifest &m) { m.inputs[0].open[0].dimension = 1; },
       "input 'x': has an open dimension that is not as large as the greatest size"},
      {[](Manifest &m) { m.open[0].low = 1001; }, "the open dimension 'n' has no sizes"},
      {[](Manifest &m) { m.inputs[0].open.clear(); }, "no input has the open dimension 'n'"},
      {[](Manifest &m) { m.outputs[0].mayAlias = 0; },
       "output 'y': has an open dimension beside others that runs decide"},
      {[](Manifest &m) { m.inputs[0].open.push_back(m.inputs[0].open[0]); },
       "input 'x': has an open dimension twice"},
      {[](Manifest &m) { m.outputs[0].open[0].number = 1; },
       "output 'y': has an open dimension that is not as large as the greatest size"},
      {[](Manifest &m) { m.open.push_back({"k", 1, 2}); }, "no input has the open dimension 'k'"},
      {[](Manifest &m) { m.open.push_back(m.open[0]); }, "two open dimensions are called 'n'"},
      {[](Manifest &m) { m.stages[0].meets = true; },
       "stage 'affine': leaves out tiles that it does not have"},
      {[](Manifest &m) { m.open.resize(3, m.open[0]); }, "has more than 2 open dimensions"},
      {[](Manifest &m) { m.stages[0].trims[0].number = 1; },
       "stage 'affine': leaves out tiles that it does not have"},
      {[](Manifest &m) { m.stages[0].trims.push_back(m.stages[0].trims[0]); },
       "stage 'affine': leaves out tiles that it does not have"},
      {[](Manifest &m) { m.stages[0].trims[0].cuts = 15; },
       "stage 'affine': leaves out tiles that it does not have"},
      {[](Manifest &m) { m.stages[0].trims[0].tileRows = 62; },
       "stage 'affine': leaves out tiles that it does not have"},
      {[](Manifest &m) { m.stages[0].trims[0].band = 0; },
       "stage 'affine': leaves out tiles that it does not have"},
      {[](Manifest &m) { m.stages[0].trims[0].inner = uint64_t(1) << 63; },
       "stage 'affine': leaves out tiles that it does not have"},
  };
  for (const Mistake &mistake : mistakes) {
    Manifest manifest = openParts().manifest;
    ASSERT_TRUE(manifest.validate(4036).ok());
    mistake.make(manifest);
    Status status = manifest.validate(4036);
    ASSERT_FALSE(status.ok()) << mistake.message;
    EXPECT_EQ(status.error().message, mistake.message);
  }
}

TEST(OpenDimension, RoundTripsThroughText) {
  Manifest manifest = openParts().manifest;
  manifest.smaller = {"plain/4"};
  manifest.open.push_back({"k", 2, 8});
  manifest.inputs[0].open.push_back({1, 3, 1});
  manifest.stages[0].trims.push_back({1, 3, 2, 1, 1, 4});
  manifest.buffers[0].home = Home::size(1);
  auto json = parseJson(printJson(manifest.toJson()));
  ASSERT_TRUE(json.ok());
  auto read = Manifest::fromJson(*json);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, manifest);
}

} // namespace
