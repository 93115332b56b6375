//===- json_test.cpp ------------------------------------------------------===//

#include "base/json.h"

#include <gtest/gtest.h>
#include <random>

using namespace kintsugi;

TEST(Json, ParsesAndPrintsWithSortedKeys) {
  auto value = parseJson(R"( {"b": [1, 2.5, null, true, "x\u00e9"], "a": {}} )");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(printJson(*value), R"({"a":{},"b":[1,2.5,null,true,"xé"]})");
  EXPECT_EQ(printJson(Json::array({1}), 2), "[\n  1\n]");
}

TEST(Json, ErrorsNameThePlace) {
  auto messageOf = [](std::string_view text) {
    auto value = parseJson(text);
    EXPECT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().kind, ErrorKind::Input);
    return value.error().message;
  };
  EXPECT_EQ(messageOf("{\"a\": 1,\n \"b\" 2}"), "not valid JSON at line 2, column 6");
  EXPECT_EQ(messageOf(""), "not valid JSON at line 1, column 1");
  for (std::string_view text : {"[1,]", "{\"a\":}", "[1] 2", "nul", "\"", "\"\xff\"", "1e999", "[",
                                "// x\n1", "\"\\u12\"", "{1:2}", "\"\\ud800\"", "01", "NaN"})
    EXPECT_NE(messageOf(text).find("not valid JSON at line 1"), std::string::npos) << text;
}

TEST(Json, DepthAndSizeAreLimited) {
  std::string deep = std::string(100000, '[');
  auto tooDeep = parseJson(deep);
  ASSERT_FALSE(tooDeep.ok());
  EXPECT_EQ(tooDeep.error().message, "JSON nests deeper than 64 levels at line 1, column 65");
  EXPECT_TRUE(parseJson(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_FALSE(parseJson(std::string(65, '[') + std::string(65, ']')).ok());
  // Brackets in strings and brackets that close again do not count.
  EXPECT_TRUE(parseJson("\"" + std::string(1000, '[') + "\\\"[\"").ok());
  std::string wide = "[";
  for (int i = 0; i < 1000; ++i)
    wide += "[],";
  EXPECT_TRUE(parseJson(wide + "{}]").ok());
  EXPECT_FALSE(parseJson("[1, 2, 3]", {.maxBytes = 8}).ok());
  EXPECT_TRUE(parseJson("[1, 2, 3]", {.maxBytes = 9}).ok());
}

TEST(Json, MembersAreCheckedForTheirKind) {
  auto parsed = parseJson(R"({"s": "x", "i": -3, "u": 18446744073709551615, "d": 0.5, "b": true,
                              "a": [], "o": {}})");
  ASSERT_TRUE(parsed.ok());
  const Json &object = *parsed;
  EXPECT_EQ(*jsonString(object, "s"), "x");
  EXPECT_EQ(*jsonInteger(object, "i"), -3);
  EXPECT_EQ(*jsonUnsigned(object, "u"), UINT64_MAX);
  EXPECT_EQ(*jsonNumber(object, "d"), 0.5);
  EXPECT_EQ(*jsonNumber(object, "i"), -3.0);
  EXPECT_EQ(*jsonBool(object, "b"), true);
  EXPECT_EQ(*jsonArray(object, "a"), &object["a"]);
  EXPECT_EQ(*jsonObject(object, "o"), &object["o"]);

  EXPECT_EQ(jsonString(object, "i").error().message, "JSON member \"i\" is not a string");
  EXPECT_EQ(jsonString(object, "zz").error().message, "JSON member \"zz\" is missing");
  EXPECT_FALSE(jsonInteger(object, "u").ok());
  EXPECT_FALSE(jsonInteger(object, "d").ok());
  EXPECT_FALSE(jsonUnsigned(object, "i").ok());
  EXPECT_FALSE(jsonUnsigned(object, "d").ok());
  EXPECT_FALSE(jsonNumber(object, "s").ok());
  EXPECT_FALSE(jsonBool(object, "i").ok());
  EXPECT_FALSE(jsonArray(object, "o").ok());
  EXPECT_FALSE(jsonObject(object, "a").ok());
  EXPECT_FALSE(jsonMember(object["a"], "x").ok());
}

TEST(Json, StringsThatAreNotUtf8PrintWithoutThrowing) {
  EXPECT_EQ(printJson(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(Json, DamagedTextIsAnErrorOrAValueThatPrints) {
  const std::string good = R"({"name": "k\u00e9", "list": [1, -2, 3.5e4, {"x": null}], "t": true})";
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = good;
    for (int edits = 1 + random() % 3; edits > 0; --edits)
      text[random() % text.size()] = static_cast<char>(random());
    auto value = parseJson(text);
    refused += !value.ok();
    if (value.ok()) {
      EXPECT_TRUE(parseJson(printJson(*value)).ok());
    }
  }
  EXPECT_GT(refused, 2500);
}
