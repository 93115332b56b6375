//===- element_type_test.cpp ----------------------------------------------===//

#include "base/element_type.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace kintsugi;

TEST(ElementType, NamesAreUniqueAndParseBack) {
  std::set<std::string_view> names;
  for (int32_t i = 1; i < KIN_ELEMENT_TYPE_COUNT; ++i) {
    auto type = static_cast<ElementType>(i);
    EXPECT_TRUE(names.insert(nameOf(type)).second) << nameOf(type);
    EXPECT_EQ(elementTypeFromName(nameOf(type)), type);
    EXPECT_EQ(elementTypeFromOnnx(elementTypeToOnnx(type)), type);
  }
  EXPECT_EQ(names.size(), 28u);
}

TEST(ElementType, UnknownNamesAndNumbersAreRefused) {
  for (const char *name : {"", "f", "f3", "f321", "F32", "invalid", "bf1", "f32 "})
    EXPECT_FALSE(elementTypeFromName(name)) << name;
  EXPECT_FALSE(elementTypeFromName(std::string_view("f32\0", 4)));
  for (int32_t number : {INT32_MIN, -1, 0, 29, INT32_MAX}) {
    EXPECT_FALSE(elementTypeFromOnnx(number)) << number;
    EXPECT_EQ(kinElementBits(number), 0u);
    EXPECT_STREQ(kinElementName(number), "invalid");
    EXPECT_FALSE(kinElementIsFloat(number) || kinElementIsInteger(number) ||
                 kinElementIsSigned(number) || kinElementIsComplex(number));
  }
}

/// The numbers are ONNX's TensorProto.DataType and part of the artifact format.
TEST(ElementType, NumbersNeverChange) {
  const std::pair<const char *, int32_t> numbers[] = {
      {"f32", 1},   {"u8", 2},        {"i8", 3},          {"u16", 4},     {"i16", 5},
      {"i32", 6},   {"i64", 7},       {"str", 8},         {"bool", 9},    {"f16", 10},
      {"f64", 11},  {"u32", 12},      {"u64", 13},        {"c64", 14},    {"c128", 15},
      {"bf16", 16}, {"f8e4m3fn", 17}, {"f8e4m3fnuz", 18}, {"f8e5m2", 19}, {"f8e5m2fnuz", 20},
      {"u4", 21},   {"i4", 22},       {"f4e2m1", 23},     {"f8e8m0", 24}, {"u2", 25},
      {"i2", 26},   {"f6e2m3", 27},   {"f6e3m2", 28}};
  for (auto [name, number] : numbers)
    EXPECT_EQ(kinElementFromName(name, std::string_view(name).size()), number) << name;
}

TEST(ElementType, BitsAndKindsFollowFromTheName) {
  for (int32_t i = 1; i < KIN_ELEMENT_TYPE_COUNT; ++i) {
    auto type = static_cast<ElementType>(i);
    std::string name(nameOf(type));
    if (type == ElementType::Str || type == ElementType::Bool)
      continue;
    size_t digit = name.find_first_of("0123456789");
    std::string kind = name.substr(0, digit);
    EXPECT_EQ(bitsOf(type), std::stoul(name.substr(digit))) << name;
    EXPECT_EQ(isFloat(type), kind == "f" || kind == "bf") << name;
    EXPECT_EQ(isInteger(type), kind == "i" || kind == "u") << name;
    EXPECT_EQ(isComplex(type), kind == "c") << name;
    EXPECT_EQ(isSigned(type), kind != "u" && type != ElementType::F8E8M0) << name;
  }
  EXPECT_EQ(bitsOf(ElementType::Str), 0u);
  EXPECT_EQ(bitsOf(ElementType::Bool), 8u);
  EXPECT_FALSE(isInteger(ElementType::Bool) || isSigned(ElementType::Bool));
}
