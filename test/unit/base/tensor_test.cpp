//===- tensor_test.cpp ----------------------------------------------------===//

#include "base/tensor.h"

#include <gtest/gtest.h>
#include <limits>

using namespace kintsugi;

/// AddressSanitizer ends the program where malloc would return null, unless it is told not to.
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1"; }

TEST(Tensor, IsZeroAndAligned) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {0, 3}, {5}, {3, 7}}) {
    auto tensor = Tensor::create(ElementType::F32, shape);
    ASSERT_TRUE(tensor.ok());
    EXPECT_EQ(tensor->bytes().size(), static_cast<size_t>(tensor->count()) * 4);
    EXPECT_NE(tensor->bytes().data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->bytes().data()) % tensorAlignment, 0u);
    for (float value : tensor->as<float>())
      EXPECT_EQ(value, 0);
  }
}

TEST(Tensor, ImpossibleSizesAreErrors) {
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{-1}, {INT64_MAX}, {INT64_MAX / 4}, {1 << 30, 1 << 30, 1 << 30}}) {
    auto tensor = Tensor::create(ElementType::F64, shape);
    ASSERT_FALSE(tensor.ok());
    EXPECT_EQ(tensor.error().kind, ErrorKind::Input);
  }
  EXPECT_FALSE(Tensor::create(ElementType::Invalid, {1}).ok());
  auto huge = Tensor::create(ElementType::U8, {int64_t(1) << 60});
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().kind, ErrorKind::Machine);
  auto strings = Tensor::create(ElementType::Str, {int64_t(1) << 60});
  ASSERT_FALSE(strings.ok());
  EXPECT_EQ(strings.error().kind, ErrorKind::Machine);
}

TEST(Tensor, CopiesAndChecksWhatItIsGiven) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  auto tensor = Tensor::from<float>({2, 3}, values);
  ASSERT_TRUE(tensor.ok());
  auto copy = tensor->clone();
  ASSERT_TRUE(copy.ok());
  copy->as<float>()[0] = 9;
  EXPECT_EQ(tensor->as<float>()[0], 1);
  EXPECT_EQ(copy->as<float>()[5], 6);
  EXPECT_FALSE(Tensor::from<float>({2, 2}, values).ok());
  EXPECT_TRUE(tensor->reshape({3, 2}).ok());
  EXPECT_EQ(tensor->shape(), (std::vector<int64_t>{3, 2}));
  EXPECT_FALSE(tensor->reshape({4, 2}).ok());
  EXPECT_FALSE(tensor->reshape({-3, -2}).ok());
}

TEST(Tensor, Strings) {
  auto tensor = Tensor::fromStrings({2}, {"a", "b"});
  ASSERT_TRUE(tensor.ok());
  auto copy = tensor->clone();
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->strings(), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(Tensor::fromStrings({3}, {"a", "b"}).ok());
  EXPECT_EQ(Tensor::create(ElementType::Str, {4})->strings().size(), 4u);
}

/// Every pattern of a narrow type in every position, without touching its neighbours.
TEST(Tensor, NarrowElementsArePackedLowBitsFirst) {
  for (ElementType type : {ElementType::U2, ElementType::I2, ElementType::U4, ElementType::I4,
                           ElementType::F4E2M1, ElementType::F6E2M3, ElementType::F6E3M2}) {
    auto tensor = Tensor::create(type, {13});
    ASSERT_TRUE(tensor.ok());
    uint64_t patterns = uint64_t(1) << bitsOf(type);
    for (int64_t i = 0; i < 13; ++i)
      storeBits(type, tensor->bytes(), i, patterns - 1);
    for (int64_t i = 0; i < 13; ++i)
      for (uint64_t pattern = 0; pattern < patterns; ++pattern) {
        storeBits(type, tensor->bytes(), i, pattern | ~(patterns - 1));
        EXPECT_EQ(loadBits(tensor->view(), i), pattern);
        EXPECT_TRUE(i == 0 || loadBits(tensor->view(), i - 1) == patterns - 1);
        EXPECT_TRUE(i == 12 || loadBits(tensor->view(), i + 1) == patterns - 1);
        storeBits(type, tensor->bytes(), i, patterns - 1);
      }
  }
  auto nibbles = Tensor::create(ElementType::U4, {3});
  for (int64_t i = 0; i < 3; ++i)
    storeInteger(ElementType::U4, nibbles->bytes(), i, i + 1);
  EXPECT_EQ(nibbles->bytes()[0], std::byte(0x21));
  EXPECT_EQ(nibbles->bytes()[1], std::byte(0x03));
  auto sixes =
      Tensor::create(ElementType::F6E2M3, {4}); // ONNX's own layout of four in three bytes.
  const uint64_t x[] = {0x2a, 0x15, 0x3c, 0x07};
  for (int64_t i = 0; i < 4; ++i)
    storeBits(ElementType::F6E2M3, sixes->bytes(), i, x[i]);
  EXPECT_EQ(sixes->bytes()[0], std::byte(x[0] | (x[1] & 0x3) << 6));
  EXPECT_EQ(sixes->bytes()[1], std::byte(x[1] >> 2 | (x[2] & 0xf) << 4));
  EXPECT_EQ(sixes->bytes()[2], std::byte(x[2] >> 4 | x[3] << 2));
}

TEST(Tensor, IntegersKeepTheirSign) {
  for (ElementType type : {ElementType::I2, ElementType::I4, ElementType::I8, ElementType::I16,
                           ElementType::I32, ElementType::I64}) {
    auto tensor = Tensor::create(type, {3});
    int64_t least = INT64_MIN >> (64 - bitsOf(type));
    for (int64_t value : {least, int64_t(-1), int64_t(0), int64_t(1), ~least}) {
      storeInteger(type, tensor->bytes(), 1, value);
      EXPECT_EQ(loadInteger(tensor->view(), 1), value) << nameOf(type);
      EXPECT_EQ(loadDouble(tensor->view(), 1), static_cast<double>(value)) << nameOf(type);
    }
    if (type == ElementType::I64)
      continue;
    storeInteger(type, tensor->bytes(), 1, -least);
    EXPECT_EQ(loadInteger(tensor->view(), 1), least) << "one more than the largest wraps";
  }
}

TEST(Tensor, DoublesAreTruncatedAndClamped) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto stored = [](ElementType type, double value) {
    auto tensor = Tensor::create(type, {1});
    storeDouble(type, tensor->bytes(), 0, value);
    return loadInteger(tensor->view(), 0);
  };
  EXPECT_EQ(stored(ElementType::I8, -3.9), -3);
  EXPECT_EQ(stored(ElementType::I8, 200), 127);
  EXPECT_EQ(stored(ElementType::I8, -200), -128);
  EXPECT_EQ(stored(ElementType::U8, -1), 0);
  EXPECT_EQ(stored(ElementType::U8, 255.9), 255);
  EXPECT_EQ(stored(ElementType::U8, 256), 255);
  EXPECT_EQ(stored(ElementType::I4, 7.5), 7);
  EXPECT_EQ(stored(ElementType::I4, -9), -8);
  EXPECT_EQ(stored(ElementType::U2, 17), 3);
  EXPECT_EQ(stored(ElementType::I64, 1e30), INT64_MAX);
  EXPECT_EQ(stored(ElementType::I64, -infinity), INT64_MIN);
  EXPECT_EQ(static_cast<uint64_t>(stored(ElementType::U64, infinity)), UINT64_MAX);
  EXPECT_EQ(stored(ElementType::I32, std::nan("")), 0);
  EXPECT_EQ(stored(ElementType::Bool, 0.25), 1);
  EXPECT_EQ(stored(ElementType::Bool, -0.0), 0);
}

TEST(Tensor, FloatsRoundTripThroughElements) {
  for (ElementType type : {ElementType::F64, ElementType::F32, ElementType::F16, ElementType::BF16,
                           ElementType::F8E5M2, ElementType::F4E2M1, ElementType::F8E8M0}) {
    auto tensor = Tensor::create(type, {3});
    for (double value : {0.5, 1.0, 2.0}) {
      storeDouble(type, tensor->bytes(), 1, value);
      EXPECT_EQ(loadDouble(tensor->view(), 1), value) << nameOf(type);
      storeInteger(type, tensor->bytes(), 2, static_cast<int64_t>(value * 2));
      EXPECT_EQ(loadDouble(tensor->view(), 2), value * 2) << nameOf(type);
    }
  }
}

TEST(Tensor, ShapesPrint) {
  EXPECT_EQ(shapeString(std::vector<int64_t>{}), "[]");
  EXPECT_EQ(shapeString(std::vector<int64_t>{1, 64}), "[1, 64]");
}
