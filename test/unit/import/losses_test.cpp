//===- losses_test.cpp - What losses refuse ----------------------------------===//

#include "node_error.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

using test::errorOf;
using test::known;
using test::Operand;

class Losses : public testing::TestWithParam<const char *> {
protected:
  std::string error(std::vector<Operand> operands, std::vector<std::string> attributes = {}) {
    return errorOf(GetParam(), operands, attributes);
  }
};

const Operand scores{test::f32, {"2", "3"}}, labels{test::i64, {"2"}};

TEST_P(Losses, TypesAndShapes) {
  EXPECT_EQ(error({scores, labels}), "");
  EXPECT_EQ(error({scores, {test::i32, {"2"}}, {test::f32, {"3"}}}), "");
  EXPECT_EQ(error({{test::i64, {"2", "3"}}, labels}),
            "it needs floating-point numbers, but 'x0' is i64");
  EXPECT_EQ(error({{test::f32, {"2"}}, labels}),
            "its input has shape [2], but needs a dimension of samples and one of classes");
  EXPECT_EQ(error({scores, {test::f32, {"2"}}}), "its labels must be i32 or i64, but are f32");
  EXPECT_EQ(error({{test::f32, {"2", "3", "4"}}, labels}),
            "its labels have shape [2], but its input of shape [2, 3, 4] needs [2, 4]");
  EXPECT_EQ(error({{test::f32, {"2", "0"}}, labels}),
            "its dimension of classes has no elements to choose from");
}

TEST_P(Losses, Weights) {
  EXPECT_EQ(error({scores, labels, {test::f64, {"3"}}}),
            "its inputs have different element types, f32 and f64");
  EXPECT_EQ(error({scores, labels, {test::f32, {"1"}}}),
            "its weights have shape [1], but there are 3 classes");
}

TEST_P(Losses, Reductions) {
  EXPECT_EQ(error({scores, labels}, {test::textAttribute("reduction", "median")}),
            "its reduction 'median' is not known; it must be none, sum or mean");
}

TEST_P(Losses, KnownLabels) {
  auto ignore = [](int64_t label) { return test::intAttribute("ignore_index", label); };
  EXPECT_EQ(error({scores, known({2, 0})}), "");
  EXPECT_EQ(error({scores, known({2, 3})}), "its label 3 is outside of 0 to 2");
  EXPECT_EQ(error({scores, known({-1, 0})}), "its label -1 is outside of 0 to 2")
      << "labels are not counted from the end";
  EXPECT_EQ(error({scores, known({-1, 0})}, {ignore(-1)}), "");
  EXPECT_EQ(error({scores, known({-1, -100})}, {ignore(-1)}),
            "its label -100 is outside of 0 to 2");
  // The numbers agree in their lower 32 bits alone.
  EXPECT_EQ(error({scores, known({-1, 0})}, {ignore(4294967295)}),
            "its label -1 is outside of 0 to 2");
}

INSTANTIATE_TEST_SUITE_P(Import, Losses,
                         testing::Values("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace kintsugi::import
