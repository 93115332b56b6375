//===- residuals_test.cpp - What normalized residuals refuse -----------------===//

#include "node_error.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

using test::f32;
using test::f64;
using test::i64;
using test::Operand;

class Residuals : public testing::TestWithParam<const char *> {
protected:
  std::string error(std::vector<Operand> operands, std::vector<std::string> attributes = {}) {
    return test::errorOf(GetParam(), operands, attributes, 20, "com.microsoft");
  }
};

const Operand x{f32, {"2", "3", "8"}}, gamma{f32, {"8"}};

TEST_P(Residuals, Shapes) {
  EXPECT_EQ(error({x, x, gamma, gamma}), "");
  EXPECT_EQ(error({x, {f32, {"3", "8"}}, gamma}), "");
  EXPECT_EQ(error({x, {f32, {"1", "3", "8"}}, gamma}), "");
  EXPECT_EQ(error({{f32, {"3", "8"}}, {f32, {"3", "8"}}, gamma}), "");
  EXPECT_EQ(error({{f32, {"3", "8"}}, {f32, {"1", "8"}}, gamma}),
            "its skip of shape [1, 8] does not fit its input of shape [3, 8]");
  EXPECT_EQ(error({x, {f32, {"8"}}, gamma}),
            "its skip of shape [8] does not fit its input of shape [2, 3, 8]");
  EXPECT_EQ(error({{f32, {"8"}}, {f32, {"8"}}, gamma}),
            "its input of shape [8] must have 2 or 3 dimensions");
  EXPECT_EQ(error({x, x, {f32, {"3"}}}),
            "its gamma of shape [3] does not fit its input of shape [2, 3, 8]");
  bool hasBeta = GetParam() == std::string("SkipLayerNormalization");
  EXPECT_EQ(error({x, x, gamma, {f32, {"1", "8"}}}),
            std::string("its ") + (hasBeta ? "beta" : "bias") +
                " of shape [1, 8] does not fit its input of shape [2, 3, 8]");
}

TEST_P(Residuals, TypesAndAttributes) {
  EXPECT_EQ(error({{i64, {"2", "3", "8"}}, x, gamma}),
            "it needs floating-point numbers, but 'x0' is i64");
  EXPECT_EQ(error({x, {f64, {"2", "3", "8"}}, gamma}),
            "its inputs have different element types, f32 and f64");
  EXPECT_EQ(error({x, x, gamma}, {test::intAttribute("axis", 1)}),
            "attribute 'axis' is not known; leave it out");
}

INSTANTIATE_TEST_SUITE_P(Import, Residuals,
                         testing::Values("SkipLayerNormalization",
                                         "SkipSimplifiedLayerNormalization"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace kintsugi::import
