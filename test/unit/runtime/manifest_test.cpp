//===- manifest_test.cpp - Manifests print, parse and are judged ----------===//

#include "runtime/manifest.h"

#include "fixture.h"

#include <functional>
#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::runtime;

static constexpr uint64_t constantBytes = 4036;

/// What launches of a GPU have.
static Parts partsOfLaunches() {
  Parts parts = affineParts();
  KinTensorMap map{1, 2, 128, 64, {64, 24}, {2, 128}, {64, 9}, {1, 2}};
  parts.manifest.code.resize(1);
  parts.manifest.code[0].maps = {{"affine", {map, map}}};
  parts.manifest.stages[0].threads = 64;
  parts.manifest.stages[0].parts = {{"k0", {"a", "b"}, {20, 30}, 1e-6, 64}, {"k1", {}, {}, 0, 0}};
  return parts;
}

TEST(Manifest, RoundTripsThroughText) {
  for (const Parts &parts : {affineParts(), loopParts(), raggedParts(), locateParts(3),
                             lanesParts(2), partsOfLaunches()}) {
    Manifest manifest = parts.manifest;
    manifest.stages[0].predictedSeconds = 1.25e-6;
    manifest.stages[0].movedBytes = 12000;
    manifest.stages[0].registers = 96;
    manifest.stages[0].operations.assign(manifest.stages[0].nodes.size(), 500);
    manifest.stages[0].expressions = "t[i] = x[i] * w[i] + b[]\n";
    manifest.stages[0].threads = 64;
    manifest.stages[0].meets = true;
    manifest.stages[0].together = manifest.stages[0].tiles;
    manifest.stages[0].call = "TopK";
    manifest.checks = {{0, "node", "index {}"},
                       {0, "node", "index {}", ElementRange{-5, 7, 3, {{2, 4}, {3, -1}}}}};
    manifest.outputs[0].mayAlias = 0;
    manifest.buffers.push_back(
        {"view", ElementType::I4, {3}, 2, Home::alias(manifest.outputs[0].buffer, 4)});
    manifest.plan = Plan::sequence({std::move(manifest.plan), Plan::copy({{1, 2}})});
    auto json = parseJson(printJson(manifest.toJson()));
    ASSERT_TRUE(json.ok());
    auto read = Manifest::fromJson(*json);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, manifest);
  }
}

TEST(Manifest, RoundTripsWithoutText) {
  Manifest manifest = loopParts().manifest;
  auto read = Manifest::fromJson(manifest.toJson());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, manifest);
}

TEST(Manifest, SaysWhatIsWrongWithATensorMap) {
  struct Lie {
    std::function<void(Json &)> make;
    const char *message;
  };
  const Lie lies[] = {
      {[](Json &map) { map["operand"] = uint64_t(1) << 32; }, "operand: is too large"},
      {[](Json &map) { map["line_bytes"] = 1 << 16; }, "line_bytes: is too large"},
      {[](Json &map) { map["start"] = -16; }, "start"},
      {[](Json &map) { map["extents"] = Json::array(); }, "extents: a tensor map has as many"},
      {[](Json &map) { map["extents"] = Json(std::vector<int>(6, 1)); }, "extents: a tensor map"},
      {[](Json &map) { map["strides"] = {2}; }, "strides: a tensor map has as many as dimensions"},
      {[](Json &map) { map["box"][1] = -1; }, "box: is not a list of counts"},
      {[](Json &map) { map["box"][1] = uint64_t(1) << 32; }, "box: is not a list of counts"},
      {[](Json &map) { map["steps"][0] = "1"; }, "steps: is not a list of counts"},
      {[](Json &map) { map.erase("steps"); }, "steps"},
  };
  for (const Lie &lie : lies) {
    Json json = partsOfLaunches().manifest.toJson();
    lie.make(json["code"][0]["tensor_maps"][0]["maps"][1]);
    auto read = Manifest::fromJson(json);
    ASSERT_FALSE(read.ok()) << lie.message;
    EXPECT_EQ(read.error().kind, ErrorKind::Input);
    EXPECT_NE(read.error().message.find(lie.message), std::string::npos) << read.error().message;
  }
}

TEST(Manifest, WhatTheLinkerMakesIsValid) {
  EXPECT_TRUE(affineParts().manifest.validate(constantBytes).ok());
  EXPECT_TRUE(loopParts().manifest.validate(0).ok());
  EXPECT_TRUE(raggedParts().manifest.validate(0).ok());
  EXPECT_TRUE(lanesParts(3).manifest.validate(0).ok());
}

namespace {
struct Mistake {
  std::function<void(Manifest &)> make;
  const char *message;
};
} // namespace

/// affineParts() has buffers x 0, w 1, b 2, t 3, y 4, best 5, where 6.
TEST(Manifest, MistakesAreNamed) {
  const Mistake mistakes[] = {
      {[](Manifest &m) { m.checks = {{99, "", ""}}; }, "a check has a buffer that is not there"},
      {[](Manifest &m) { m.checks = {{3, "", ""}}; }, "a check has a buffer that is no report"},
      {[](Manifest &m) { m.checks = {{0, "", "", ElementRange{-1, 1, 0, {}}}}; },
       "a check has elements that are not an input's"},
      {[](Manifest &m) {
         m.buffers[0].type = m.inputs[0].type = ElementType::I32;
         m.checks = {{0, "", "", ElementRange{-1, 1, 1, {{1000, 1}}}}};
       },
       "a check has elements that are not an input's"},
      {[](Manifest &m) { m.checks = {{0, "", "", ElementRange{1, 2, 0, {}}}}; },
       "a check has a range without 0"},
      {[](Manifest &m) { m.stages[0].meets = true; },
       "stage 'affine': has workers without threads that wait for each other"},
      {[](Manifest &m) { m.buffers[3].bytes = 3999; },
       "buffer 't': has 3999 bytes, its shape needs 4000"},
      {[](Manifest &m) { m.buffers[3].shape = {int64_t(1) << 62, 8}; },
       "buffer 't': has a size that no memory holds"},
      {[](Manifest &m) { m.buffers[3].bytes = uint64_t(-1); },
       "buffer 't': has a size that no memory holds"},
      {[](Manifest &m) { m.buffers[3].type = ElementType::Str; },
       "buffer 't': has a size that no memory holds"},
      {[](Manifest &m) { m.buffers[3].shape = std::vector<int64_t>(65, 1); },
       "buffer 't': has more than 64 dimensions"},
      {[](Manifest &m) { m.buffers[3].home.offset = 64; },
       "buffer 't': reaches past the end of the arena"},
      {[](Manifest &m) { m.buffers[3].home.offset = uint64_t(-64); },
       "buffer 't': reaches past the end of the arena"},
      {[](Manifest &m) { m.arenaBytes = 8192, m.buffers[3].home.offset = 4; },
       "buffer 't': is not aligned to 64 bytes"},
      {[](Manifest &m) { m.arenaBytes = uint64_t(1) << 50; },
       "the arena has a size that no memory holds"},
      {[](Manifest &m) { m.buffers[2].home.offset = 4096; },
       "buffer 'b': reaches past the end of the constants"},
      {[](Manifest &m) { m.buffers[0].home.index = 1; },
       "buffer 'x': is at home in an input that is not there"},
      {[](Manifest &m) { m.buffers[4].home.index = 3; },
       "buffer 'y': is at home in an output that is not there"},
      {[](Manifest &m) { m.buffers[4].home = Home::output(1); },
       "buffer 'y' is at home in another's input or output"},
      {[](Manifest &m) { m.buffers[3].home = Home::alias(7); },
       "buffer 't': is an alias of a buffer that is not there"},
      {[](Manifest &m) { m.buffers[3].home = Home::alias(3); },
       "buffer 't': is an alias of an alias"},
      {[](Manifest &m) { m.buffers[5].home = Home::alias(3, 3984); },
       "buffer 'best': reaches past the end of buffer 't'"},
      {[](Manifest &m) { m.buffers[5].home = Home::alias(3, 2); },
       "buffer 'best': is not aligned to its elements"},
      {[](Manifest &m) { m.inputs[0].name = ""; }, "input without a name"},
      {[](Manifest &m) { m.outputs[1].name = "y"; }, "output 'y' is there twice"},
      {[](Manifest &m) { m.inputs[0].buffer = 7; }, "input 'x': has a buffer that is not there"},
      {[](Manifest &m) { m.inputs[0].buffer = 3; }, "input 'x': has a buffer at home elsewhere"},
      {[](Manifest &m) { m.inputs[0].shape = {999}; },
       "input 'x': differs in type or shape from its buffer 'x'"},
      {[](Manifest &m) { m.buffers[0].bytes = 4004; },
       "input 'x': differs in size from its buffer 'x'"},
      {[](Manifest &m) { m.inputs[0].mayAlias = 0; },
       "input 'x': has members that only outputs have"},
      {[](Manifest &m) { m.outputs[0].mayAlias = 1; },
       "output 'y': may alias an input that is not there"},
      {[](Manifest &m) { m.outputs[0].dynamic = {{1, 6}}; },
       "output 'y': has a dynamic dimension without an i64 that counts it"},
      {[](Manifest &m) { m.outputs[0].dynamic = {{0, 6}, {0, 6}}; },
       "output 'y': has a dynamic dimension that is counted twice"},
      {[](Manifest &m) { m.outputs[0].dynamic = {{0, 3}}; },
       "output 'y': has a dynamic dimension without an i64 that counts it"},
      {[](Manifest &m) { m.stages[0].symbol = ""; }, "stage '': has no symbol"},
      {[](Manifest &m) { m.stages[0].tiles = uint64_t(-1); },
       "stage 'affine': asks for too many tiles or too much scratch"},
      {[](Manifest &m) { m.stages[0].together = 0; },
       "stage 'affine': has tiles that are not told apart into rows of as many"},
      {[](Manifest &m) { m.stages[0].together = m.stages[0].tiles + 1; },
       "stage 'affine': has tiles that are not told apart into rows of as many"},
      {[](Manifest &m) { m.stages[0].scratchBytes = uint64_t(-1); },
       "stage 'affine': asks for too many tiles or too much scratch"},
      {[](Manifest &m) { m.stages[0].operations.assign(m.stages[0].nodes.size() + 1, 3); },
       "stage 'affine': has operations of other nodes than its own"},
      {[](Manifest &m) { m.stages[0].parts = {{"k0", {"a"}, {}, 0, 0}}; },
       "stage 'affine': has parts without blocks of threads"},
      {[](Manifest &m) { m.stages[2].threads = 64, m.stages[2].parts = {{"k0", {}, {}, 0, 0}}; },
       "stage 'TopK': has parts without blocks of threads"},
      {[](Manifest &m) { m.stages[0].threads = 64, m.stages[0].parts = {{"k0", {}, {1}, 0, 0}}; },
       "stage 'affine': part 'k0': has operations of other nodes than its own"},
      {[](Manifest &m) { m.stages[0].threads = 64, m.stages[0].parts = {{"", {}, {}, 0, 0}}; },
       "stage 'affine': part '': has no symbol"},
      {[](Manifest &m) {
         m.stages[0].threads = 64, m.stages[0].parts.resize(1025, {"k0", {}, {}, 0, 0});
       },
       "stage 'affine': has too many parts"},
      {[](Manifest &m) { m.stages[0].resultCount = 5; },
       "stage 'affine': has more results than buffers"},
      {[](Manifest &m) { m.stages[0].buffers[2] = 7; },
       "stage 'affine': has a buffer that is not there"},
      {[](Manifest &m) { m.stages[0].buffers[3] = 1; },
       "stage 'affine': writes the read-only buffer 'w'"},
      {[](Manifest &m) { m.stages[0].buffers[3] = 0; },
       "stage 'affine': writes the read-only buffer 'x'"},
      {[](Manifest &m) { m.buffers[3].home = Home::alias(0); },
       "stage 'affine': writes the read-only buffer 't'"},
      {[](Manifest &m) { m.plan = Plan::ofStage(3); }, "plan: stage 3 is not there"},
      {[](Manifest &m) { m.plan = Plan::copy({{0, 7}}); },
       "plan: a copy of a buffer that is not there"},
      {[](Manifest &m) { m.plan = Plan::copy({{3, 5}}); },
       "plan: a copy between buffers of different sizes"},
      {[](Manifest &m) { m.plan = Plan::copy({{3, 0}}); },
       "plan: a copy over the read-only buffer 'x'"},
      {[](Manifest &m) { m.plan = Plan::copy({{5, 3, 0, 20}}); },
       "plan: a copy of a slice that leaves its buffer"},
      {[](Manifest &m) { m.plan = Plan::repeat(201, Plan::ofStage(0), {{5, 3, 0, 20}}); },
       "plan: a copy of a slice that leaves its buffer"},
      {[](Manifest &m) { m.plan = Plan::repeat(uint64_t(-1), Plan::ofStage(0), {{5, 3, 0, 20}}); },
       "plan: a copy of a slice that leaves its buffer"},
      {[](Manifest &m) { m.plan = Plan::repeat(2, Plan::ofStage(0), {}, 3); },
       "plan: the step of a repeat is not an i64 that can be written"},
      {[](Manifest &m) { m.plan = Plan::repeat(2, Plan::ofStage(0), {}, none, 3); },
       "plan: the condition of a repeat is not a bool"},
      {[](Manifest &m) { m.plan = Plan::branch(3, Plan::ofStage(0), Plan::ofStage(0)); },
       "plan: the condition of a branch is not a bool"},
      {[](Manifest &m) { m.plan = Plan::lanes({Plan::ofStage(0), Plan::ofStage(9)}); },
       "plan: stage 9 is not there"},
      {[](Manifest &m) { m.plan = Plan::sequence({Plan::sequence({Plan::ofStage(9)})}); },
       "plan: stage 9 is not there"},
  };
  for (const Mistake &mistake : mistakes) {
    Manifest manifest = affineParts().manifest;
    mistake.make(manifest);
    Status status = manifest.validate(constantBytes);
    ASSERT_FALSE(status.ok()) << mistake.message;
    EXPECT_EQ(status.error().message, mistake.message);
    EXPECT_EQ(status.error().kind, ErrorKind::Input);
  }
}

TEST(Manifest, SlicesThatStayInsideAreFine) {
  Manifest manifest = affineParts().manifest;
  manifest.plan = Plan::repeat(200, Plan::ofStage(0), {{5, 3, 0, 20}});
  EXPECT_TRUE(manifest.validate(constantBytes).ok());
}

/// Replaces each value in the tree in turn by each of several others.
static void mutateEach(Json &node, const std::function<void()> &visit) {
  const Json replacements[] = {nullptr,       -1, uint64_t(-1), 1.5, "text", Json::array(),
                               Json::object()};
  for (const Json &replacement : replacements) {
    Json before = std::exchange(node, replacement);
    visit();
    node = std::move(before);
  }
  if (node.is_structured())
    for (Json &child : node)
      mutateEach(child, visit);
}

TEST(Manifest, AnyValueMayBeReplacedByAnyOther) {
  for (const Parts &parts : {affineParts(), loopParts(), raggedParts(), partsOfLaunches()}) {
    Json json = parts.manifest.toJson();
    int refused = 0, accepted = 0;
    mutateEach(json, [&] {
      auto manifest = Manifest::fromJson(json);
      bool ok = manifest.ok() && manifest->validate(constantBytes).ok();
      ++(ok ? accepted : refused);
    });
    EXPECT_GT(refused, 2 * accepted); // Names, times and empty lists are free.
  }
}
