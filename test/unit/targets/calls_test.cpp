//===- calls_test.cpp - The device code of calls does what the host does ----===//

#include "block_emulator.h"

#include "../calls/run_call.h"

#include <cmath>
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

} // namespace kintsugi::test
