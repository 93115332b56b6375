//===- fixture.cpp - Small artifacts for tests of the runtime -------------===//

#include "fixture.h"

#include "base/checked.h"
#include "base/files.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::runtime;

static std::vector<std::byte> readBytes(const std::string &path) {
  auto file = MappedFile::open(path);
  EXPECT_TRUE(file.ok()) << path;
  return {file->bytes().begin(), file->bytes().end()};
}

std::vector<std::byte> kintsugi::runtime::stagesObject() { return readBytes(STAGES_OBJECT); }
std::vector<std::byte> kintsugi::runtime::needyObject() { return readBytes(NEEDY_OBJECT); }

static void writeParts(const Parts &parts, ArtifactWriter &writer) {
  for (const std::vector<std::byte> &constant : parts.constants)
    EXPECT_TRUE(writer.addConstant(constant).ok());
  EXPECT_TRUE(writer.addCode("baseline", parts.code).ok());
  if (!parts.machineCode.empty())
    EXPECT_TRUE(writer.addCode("cubin", parts.machineCode).ok());
  EXPECT_TRUE(writer.addProvenance({{"from", "a test"}}).ok());
  auto digest = writer.finish(parts.manifest);
  EXPECT_TRUE(digest.ok()) << digest.error().message;
}

std::vector<std::byte> Parts::bytes() const {
  std::vector<std::byte> bytes;
  ArtifactWriter writer = ArtifactWriter::toMemory(bytes);
  writeParts(*this, writer);
  return bytes;
}

std::string Parts::file(const std::string &name) const {
  std::string path = testing::TempDir() + name;
  auto writer = ArtifactWriter::toFile(path);
  EXPECT_TRUE(writer.ok());
  writeParts(*this, *writer);
  return path;
}

static Manifest baseManifest(std::string name) {
  Manifest manifest;
  manifest.compilerVersion = "test";
  manifest.modelName = std::move(name);
  manifest.target = "cpu";
  manifest.precision = "f32";
  manifest.code = {{"baseline", {}}};
  return manifest;
}

static uint32_t addBuffer(Manifest &manifest, std::string name, ElementType type,
                          std::vector<int64_t> shape, Home home) {
  auto bytes = static_cast<uint64_t>(*bytesOf(type, shape));
  if (home.kind == Home::Kind::Arena) {
    home.offset = manifest.arenaBytes;
    manifest.arenaBytes += (bytes + 63) / 64 * 64;
  }
  manifest.buffers.push_back({std::move(name), type, std::move(shape), bytes, home});
  return static_cast<uint32_t>(manifest.buffers.size() - 1);
}

static uint32_t addInput(Manifest &manifest, std::string name, ElementType type,
                         std::vector<int64_t> shape) {
  auto index = static_cast<uint32_t>(manifest.inputs.size());
  uint32_t buffer = addBuffer(manifest, name, type, shape, Home::input(index));
  manifest.inputs.push_back({std::move(name), type, std::move(shape), buffer, {}, none});
  return buffer;
}

static uint32_t addOutput(Manifest &manifest, std::string name, ElementType type,
                          std::vector<int64_t> shape) {
  auto index = static_cast<uint32_t>(manifest.outputs.size());
  uint32_t buffer = addBuffer(manifest, name, type, shape, Home::output(index));
  manifest.outputs.push_back({std::move(name), type, std::move(shape), buffer, {}, none});
  return buffer;
}

static uint32_t addStage(Manifest &manifest, std::string symbol, std::vector<uint32_t> buffers,
                         uint32_t results, uint64_t tiles = 1) {
  Stage stage;
  stage.symbol = symbol;
  stage.nodes = {symbol + "_node"};
  stage.buffers = std::move(buffers);
  stage.resultCount = results;
  stage.tiles = tiles;
  stage.expressions = symbol;
  manifest.stages.push_back(std::move(stage));
  return static_cast<uint32_t>(manifest.stages.size() - 1);
}

template <typename T> static std::vector<std::byte> bytesOfValues(const std::vector<T> &values) {
  auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::vector<float> kintsugi::runtime::affineWeights() {
  std::vector<float> weights;
  for (int i = 0; i < 1000; ++i)
    weights.push_back(static_cast<float>(i) / 500);
  return weights;
}

std::vector<float> kintsugi::runtime::affineInput() {
  std::vector<float> x;
  for (int i = 0; i < 1000; ++i)
    x.push_back(std::sin(static_cast<float>(i)));
  return x;
}

std::vector<float> kintsugi::runtime::affineExpected() {
  std::vector<float> x = affineInput(), w = affineWeights();
  for (int i = 0; i < 1000; ++i)
    x[i] = x[i] * w[i] - 1;
  return x;
}

Parts kintsugi::runtime::affineParts() {
  Parts parts;
  Manifest &m = parts.manifest = baseManifest("affine");
  parts.constants = {bytesOfValues(affineWeights()), bytesOfValues(std::vector<float>{-1})};
  uint32_t x = addInput(m, "x", ElementType::F32, {1000});
  uint32_t w = addBuffer(m, "w", ElementType::F32, {1000}, Home::constant(0));
  uint32_t b = addBuffer(m, "b", ElementType::F32, {}, Home::constant(4032)); // 4000 rounded up.
  uint32_t t = addBuffer(m, "t", ElementType::F32, {1000}, Home::arena(0));
  uint32_t y = addOutput(m, "y", ElementType::F32, {1000});
  uint32_t best = addOutput(m, "best", ElementType::F32, {5});
  uint32_t where = addOutput(m, "where", ElementType::I64, {5});
  addStage(m, "affine", {x, w, b, t}, 1, 16);
  addStage(m, "squash", {t, y}, 1, 16);
  Stage &call = m.stages[addStage(m, "TopK", {t, best, where}, 2)];
  call.kind = Stage::Kind::Call;
  call.attributes = {{"k", 5}};
  m.plan = Plan::sequence({Plan::ofStage(0), Plan::ofStage(1), Plan::ofStage(2)});
  return parts;
}

Parts kintsugi::runtime::loopParts() {
  Parts parts;
  Manifest &m = parts.manifest = baseManifest("loop");
  uint32_t limit = addInput(m, "limit", ElementType::I64, {});
  uint32_t total = addOutput(m, "total", ElementType::I64, {});
  uint32_t trace = addOutput(m, "trace", ElementType::I64, {8});
  uint32_t step = addBuffer(m, "step", ElementType::I64, {}, Home::arena(0));
  uint32_t small = addBuffer(m, "small", ElementType::Bool, {}, Home::arena(0));
  uint32_t before = addBuffer(m, "before", ElementType::I64, {}, Home::arena(0));
  uint32_t reset = addStage(m, "reset", {before, small}, 2);
  uint32_t accumulate = addStage(m, "accumulate", {step, limit, before, total, small}, 2);
  uint32_t negate = addStage(m, "negate", {before, total}, 1);
  Plan loop = Plan::repeat(8, Plan::ofStage(accumulate), {{total, before}, {total, trace, 0, 8}},
                           step, small);
  m.plan = Plan::sequence({Plan::ofStage(reset), std::move(loop),
                           Plan::branch(small, Plan::sequence({}), Plan::ofStage(negate))});
  return parts;
}

Parts kintsugi::runtime::lanesParts(uint32_t count) {
  Parts parts;
  Manifest &m = parts.manifest = baseManifest("lanes");
  uint32_t limit = addInput(m, "limit", ElementType::I64, {});
  std::vector<Plan> lanes;
  for (uint32_t number = 0; number < count; ++number) {
    std::string name = std::to_string(number);
    uint32_t trace = addOutput(m, "trace" + name, ElementType::I64, {8});
    uint32_t places = addOutput(m, "places" + name, ElementType::I64, {3});
    uint32_t total = addBuffer(m, "total" + name, ElementType::I64, {}, Home::arena(0));
    uint32_t step = addBuffer(m, "step" + name, ElementType::I64, {}, Home::arena(0));
    uint32_t small = addBuffer(m, "small" + name, ElementType::Bool, {}, Home::arena(0));
    uint32_t before = addBuffer(m, "before" + name, ElementType::I64, {}, Home::arena(0));
    uint32_t reset = addStage(m, "reset", {before, small}, 2);
    uint32_t accumulate = addStage(m, "accumulate", {step, limit, before, total, small}, 2);
    uint32_t locate = addStage(m, "locate", {places}, 1, 3);
    m.stages[locate].scratchBytes = 100;
    Plan body = Plan::sequence({Plan::ofStage(accumulate), Plan::ofStage(locate)});
    lanes.push_back(Plan::sequence(
        {Plan::ofStage(reset),
         Plan::repeat(8, std::move(body), {{total, before}, {total, trace, 0, 8}}, step)}));
  }
  m.plan = Plan::lanes(std::move(lanes));
  return parts;
}

Parts kintsugi::runtime::raggedParts() {
  Parts parts;
  Manifest &m = parts.manifest = baseManifest("ragged");
  uint32_t wanted = addInput(m, "count", ElementType::I64, {});
  uint32_t rows = addOutput(m, "rows", ElementType::F32, {3, 4});
  uint32_t count = addBuffer(m, "columns", ElementType::I64, {}, Home::arena(0));
  m.outputs[0].dynamic = {{1, count}};
  m.plan = Plan::ofStage(addStage(m, "ragged", {wanted, rows, count}, 2));
  return parts;
}

Parts kintsugi::runtime::locateParts(uint64_t tiles) {
  Parts parts;
  Manifest &m = parts.manifest = baseManifest("locate");
  auto extent = static_cast<int64_t>(tiles);
  uint32_t places = addOutput(m, "places", ElementType::I64, {extent});
  m.plan = Plan::ofStage(addStage(m, "locate", {places}, 1, tiles));
  m.stages[0].scratchBytes = 100;
  return parts;
}
