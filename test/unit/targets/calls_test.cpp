//===- calls_test.cpp - The device code of calls does what the host does ----===//

#include "block_emulator.h"
#include "ptx.h"

#include "../calls/run_call.h"
#include "targets/nvidia/calls/lower_call.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace kintsugi::test {

using calls::TensorType;

namespace {

calls::Site siteOf(const std::string &callee, const std::vector<const Tensor *> &operands,
                   const Json &attributes) {
  calls::Site site{"c0", callee, attributes, {}};
  for (const Tensor *operand : operands)
    site.operands.push_back({operand->type(), operand->shape()});
  return site;
}

/// What differs between the emulated device code and the host, or "".
std::string compareCall(const std::string &callee, const std::vector<const Tensor *> &operands,
                        const Json &attributes) {
  auto expected = calls::runCall(callee, operands, attributes);
  if (!expected.ok())
    return expected.error().message;
  std::vector<std::byte *> places;
  for (const Tensor *operand : operands)
    places.push_back(const_cast<std::byte *>(operand->view().bytes.data()));
  std::vector<std::vector<std::byte>> results;
  constexpr size_t edge = 64;
  for (const Tensor &result : *expected)
    results.emplace_back(result.view().bytes.size() + 2 * edge, std::byte(0xcd));
  for (auto &result : results)
    places.push_back(result.data() + edge);
  std::string problem = emulateCall(siteOf(callee, operands, attributes), places);
  if (!problem.empty())
    return problem;
  for (size_t i = 0; i < results.size(); ++i) {
    auto wanted = (*expected)[i].view().bytes;
    for (size_t at = 0; at < results[i].size(); ++at) {
      bool isInside = at >= edge && at < edge + wanted.size();
      if (results[i][at] != (isInside ? wanted[at - edge] : std::byte(0xcd)))
        return "result " + std::to_string(i) + " differs at byte " +
               std::to_string(int64_t(at) - int64_t(edge));
    }
  }
  return "";
}

/// Few different values, of all bits: ties, infinities, zeros of both signs, and all kinds of NaN.
Tensor samples(ElementType type, std::vector<int64_t> shape, unsigned seed) {
  Tensor tensor = std::move(*Tensor::create(type, std::move(shape)));
  std::mt19937_64 random(seed);
  if (isComplex(type) || type == ElementType::Bool) {
    for (std::byte &byte : tensor.bytes())
      byte = std::byte(random() % (type == ElementType::Bool ? 2 : 256));
    return tensor;
  }
  std::vector<uint64_t> values = {0, uint64_t(1) << (bitsOf(type) - 1)};
  for (double value : {1.0, -1.0, double(INFINITY), double(-INFINITY), double(NAN), 0.5})
    if (isFloat(type)) {
      storeDouble(type, tensor.bytes(), 0, value);
      values.push_back(loadBits(tensor.view(), 0));
    }
  for (int i = 0; i < 60; ++i)
    values.push_back(random());
  for (int64_t i = 0; i < tensor.count(); ++i)
    storeBits(type, tensor.bytes(), i, random() % 4 ? values[random() % values.size()] : random());
  return tensor;
}

std::string compareTopK(ElementType type, const std::vector<int64_t> &shape, int64_t k, int axis,
                        bool largest) {
  Tensor x = samples(type, shape, unsigned(k));
  return compareCall("TopK", {&x}, {{"k", k}, {"axis", axis}, {"largest", largest}});
}

} // namespace

TEST(DeviceCalls, TopKOfEveryTypeOfWholeBytes) {
  for (int number = 1; number < KIN_ELEMENT_TYPE_COUNT; ++number) {
    auto type = static_cast<ElementType>(number);
    if ((!isFloat(type) && !isInteger(type)) || bitsOf(type) % 8 != 0)
      continue;
    for (bool largest : {true, false})
      EXPECT_EQ(compareTopK(type, {3, 300}, 17, -1, largest), "") << nameOf(type);
  }
}

TEST(DeviceCalls, TopKAlongEveryAxis) {
  for (int axis : {0, 1, 2})
    for (int64_t k : {1, 5})
      EXPECT_EQ(compareTopK(ElementType::F32, {7, 11, 5}, k, axis, true), "") << axis;
}

TEST(DeviceCalls, TopKOfRowsThatHaveRoomInABlock) {
  for (int64_t extent : {1, 2, 7, 8, 9, 63, 256, 1000, 2048, 4096})
    for (int64_t k : {int64_t(1), int64_t(9), extent / 2, extent})
      if (k > 0 && k <= extent)
        EXPECT_EQ(compareTopK(ElementType::F32, {2, extent}, k, 1, extent % 2), "")
            << extent << " " << k;
}

TEST(DeviceCalls, TopKOfLongRows) {
  for (int64_t k : {1, 100, 2049, 5000, 9001})
    for (ElementType type : {ElementType::I16, ElementType::F32, ElementType::F64})
      EXPECT_EQ(compareTopK(type, {2, 9001}, k, 1, true), "") << k << nameOf(type);
  EXPECT_EQ(compareTopK(ElementType::F32, {9001, 2}, 3000, 0, false), "");
  EXPECT_EQ(compareTopK(ElementType::F32, {70000}, 70000, 0, true), "");
  EXPECT_EQ(compareTopK(ElementType::U8, {70000}, 4, 0, true), "");
}

namespace {

/// Indices into the first dimensions of a shape, from the front and from the back.
Tensor indicesInto(std::vector<int64_t> shape, std::vector<int64_t> extents, unsigned seed) {
  std::mt19937_64 random(seed);
  Tensor indices = std::move(*Tensor::create(ElementType::I64, std::move(shape)));
  for (int64_t i = 0; i < indices.count(); ++i) {
    int64_t extent = extents[size_t(i) % extents.size()];
    indices.as<int64_t>()[i] = int64_t(random() % uint64_t(2 * extent)) - extent;
  }
  return indices;
}

/// Numbers whose sums and products round, without NaN: which one of several comes out is not said.
Tensor numbers(ElementType type, std::vector<int64_t> shape, unsigned seed) {
  Tensor tensor = samples(type, std::move(shape), seed);
  std::mt19937_64 random(seed);
  if (isFloat(type))
    for (int64_t i = 0; i < tensor.count(); ++i)
      storeDouble(type, tensor.bytes(), i, double(int64_t(random() % 8193) - 4096) / 1000);
  return tensor;
}

std::string compareScatter(ElementType type, const std::string &reduction, int64_t updates) {
  Tensor data = numbers(type, {5, 3, 12}, 1), indices = indicesInto({updates, 2}, {5, 3}, 2);
  Tensor values = numbers(type, {updates, 12}, 3);
  return compareCall("ScatterND", {&data, &indices, &values}, {{"reduction", reduction}});
}

} // namespace

TEST(DeviceCalls, ScattersInTheOrderOfUpdates) {
  for (int number = 1; number < KIN_ELEMENT_TYPE_COUNT; ++number) {
    auto type = static_cast<ElementType>(number);
    if (bitsOf(type) == 0 || bitsOf(type) % 8 != 0)
      continue;
    EXPECT_EQ(compareScatter(type, "none", 40), "") << nameOf(type);
    if ((!isFloat(type) && !isInteger(type)) || (isFloat(type) && bitsOf(type) == 8))
      continue;
    for (const char *reduction : {"add", "mul", "max", "min"})
      EXPECT_EQ(compareScatter(type, reduction, 40), "") << nameOf(type) << " " << reduction;
  }
}

TEST(DeviceCalls, ScattersAnyNumberOfUpdates) {
  for (int64_t updates : {0, 1, 5000})
    for (const char *reduction : {"none", "add"})
      EXPECT_EQ(compareScatter(ElementType::F32, reduction, updates), "") << updates;
}

TEST(DeviceCalls, ScattersElementsAndWholeTensors) {
  for (int64_t depth : {0, 1, 3}) {
    std::vector<int64_t> shape = {4, 3, 5}, updates = {7};
    updates.insert(updates.end(), shape.begin() + depth, shape.end());
    Tensor data = numbers(ElementType::I16, shape, 1);
    Tensor indices = indicesInto({7, depth}, {4, 3, 5}, 2);
    if (depth == 1)
      indices = indicesInto({7, 1}, {4}, 3);
    Tensor values = numbers(ElementType::I16, updates, 4);
    for (const char *reduction : {"none", "add"})
      EXPECT_EQ(compareCall("ScatterND", {&data, &indices, &values}, {{"reduction", reduction}}),
                "")
          << depth;
  }
}

TEST(DeviceCalls, ReportsTheFirstIndexThatIsOutside) {
  Tensor data = numbers(ElementType::F32, {5, 3}, 1), values = numbers(ElementType::F32, {4}, 3);
  Tensor indices =
      std::move(*Tensor::from<int64_t>({4, 2}, std::vector<int64_t>{0, 2, -5, -4, 7, 3, 6, 0}));
  std::vector<std::byte> result(data.view().bytes.size()), report;
  std::vector<std::byte *> places = {data.bytes().data(), indices.bytes().data(),
                                     values.bytes().data(), result.data()};
  auto site = siteOf("ScatterND", {&data, &indices, &values}, Json::object());
  EXPECT_EQ(emulateCall(site, places, &report), "");
  std::vector<int64_t> numbers(4);
  ASSERT_EQ(report.size(), 32u);
  std::memcpy(numbers.data(), report.data(), 32);
  EXPECT_EQ(numbers, (std::vector<int64_t>{1, -4, 1, 3}));
  EXPECT_EQ(calls::errorOf("ScatterND", {&data, &indices, &values}, Json::object()),
            "ScatterND: index -4 is outside dimension 1 of extent 3");
  EXPECT_EQ(std::memcmp(result.data() + 8, values.view().bytes.data(), 4), 0);
}

namespace {

calls::Site topKSite(ElementType type, std::vector<int64_t> shape, int64_t k) {
  return {"c0", "TopK", {{"k", k}}, {{type, std::move(shape)}}};
}

} // namespace

TEST(DeviceCalls, TellsWhyTheHostHasToDoOne) {
  auto reasonOf = [](const calls::Site &site) { return targets::launchesOfCall(site).reason; };
  EXPECT_EQ(reasonOf({"c0", "NoSuch", Json::object(), {}}), "there is no device code for it");
  calls::Site scatter{
      "c0",
      "ScatterND",
      {{"reduction", "add"}},
      {{ElementType::F8E5M2, {4}}, {ElementType::I64, {2, 1}}, {ElementType::F8E5M2, {2}}}};
  EXPECT_EQ(reasonOf(scatter), "there is no arithmetic on f8e5m2 there");
}

TEST(DeviceCalls, TakesFewLaunchesWhereFewAreWanted) {
  auto launches = [](std::vector<int64_t> shape, int64_t k) {
    return targets::launchesOfCall(topKSite(ElementType::F32, std::move(shape), k)).launches;
  };
  EXPECT_EQ(launches({1000, 10}, 3).size(), 1u);
  EXPECT_EQ(launches({1000, 10}, 3)[0].blocks, 16u); // Several rows in each.
  EXPECT_EQ(launches({1 << 20}, 5).size(), 2u);
  EXPECT_EQ(launches({1 << 20}, 1 << 20).size(), 9u); // Lists are merged in pairs.
}

TEST(DeviceCalls, Assemble) {
  if (!hasAssembler())
    GTEST_SKIP() << "there is no ptxas";
  std::vector<calls::Site> sites = {
      topKSite(ElementType::F32, {100, 10}, 3), topKSite(ElementType::F16, {9001}, 9001),
      topKSite(ElementType::F64, {9001, 3}, 20), topKSite(ElementType::I64, {9001}, 9001)};
  sites.push_back(
      {"c0",
       "ScatterND",
       {{"reduction", "add"}},
       {{ElementType::BF16, {40, 7}}, {ElementType::I64, {20, 1}}, {ElementType::BF16, {20, 7}}}});
  for (auto [number, site] : llvm::enumerate(sites))
    for (const char *level : {"sm_80", "sm_90a"}) {
      tile::TileProgram program;
      program.calls = {site};
      targets::CompileOptions options;
      options.level = level;
      auto code = targets::createNvidiaTarget()->compile({&program}, options);
      ASSERT_TRUE(code.ok()) << code.error().message;
      std::vector<std::string> names;
      for (const calls::Launch &launch : targets::launchesOfCall(site).launches)
        names.push_back(launch.symbol);
      EXPECT_EQ(code->stages, names);
      std::string text = reinterpret_cast<const char *>(code->bytes.data());
      EXPECT_EQ(countOf(text, "griddepcontrol.wait"), code->kernelsWait ? names.size() : 0);
      expectTextAssembles(text, level, "call" + std::to_string(number));
    }
}

} // namespace kintsugi::test
