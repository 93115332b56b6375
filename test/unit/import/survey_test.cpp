//===- survey_test.cpp - Nodes that are refused, and those behind them -------===//

#include "import/import.h"
#include "import/onnx_reader.h"

#include "proto_writer.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

using test::node;

constexpr int f32 = 1;

std::vector<NodeSurvey> surveyOf(const std::vector<std::string> &nodes,
                                 const std::vector<std::string> &declared = {}) {
  std::string output;
  test::Writer(output).add_string(1, "y");
  std::string graph = test::graph({nodes, {}, {test::valueInfo("x", f32, {"2", "3"})}, {output}});
  for (const std::string &info : declared)
    test::Writer(graph).add_message(13, info);
  std::string bytes = test::model(graph, 21);
  Expected<Model> model = readOnnx({nullptr, std::as_bytes(std::span(bytes))});
  EXPECT_TRUE(model.ok());
  auto found = surveyNodes(*model, "/nonexistent", {});
  EXPECT_TRUE(found.ok());
  return found.ok() ? *found : std::vector<NodeSurvey>();
}

TEST(Survey, TellsWhatNodesAskFor) {
  auto found = surveyOf({node("Relu", {"x"}, {"unread"}), node("Exp", {"x"}, {"y"})});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].node, 1u);
  EXPECT_EQ(found[0].refusal, std::nullopt);
  EXPECT_EQ(found[0].operations, 6);
  EXPECT_EQ(found[0].bytes, 24u);
}

TEST(Survey, GoesOnBehindWhatHasAShape) {
  std::vector<std::string> nodes = {node("Mystery", {"x"}, {"m"}, "first"),
                                    node("Relu", {"m"}, {"r"}, "second"),
                                    node("Mystery", {"r"}, {"y"}, "third")};
  auto known = surveyOf(nodes, {test::valueInfo("m", f32, {"4"})});
  ASSERT_EQ(known.size(), 3u);
  EXPECT_EQ(known[0].refusal, "1 operator is not supported: Mystery (node 'first'); export the "
                              "model without them");
  EXPECT_EQ(known[1].refusal, std::nullopt);
  EXPECT_EQ(known[1].bytes, 16u);
  EXPECT_TRUE(known[2].refusal);

  const std::string unknown = "its input 'm' comes of node 'first' (Mystery), which is refused, "
                              "and its type or shape is not known when compiling";
  EXPECT_EQ(surveyOf(nodes).at(1).refusal, unknown);
  EXPECT_EQ(surveyOf(nodes, {test::valueInfo("m", f32, {"n"})}).at(1).refusal, unknown);
}

TEST(Survey, NamesTheInputsWhoseValueIsNeeded) {
  auto found = surveyOf({node("Relu", {"x"}, {"r"}), node("Reshape", {"r", "x"}, {"s"}),
                         node("Reshape", {"r", "r"}, {"t"}), node("Reshape", {"r", "s"}, {"y"})},
                        {test::valueInfo("s", f32, {"4"})});
  ASSERT_EQ(found.size(), 3u); // Nothing reads 't'.
  EXPECT_TRUE(found[0].needs.empty());
  EXPECT_EQ(found[1].needs, std::vector<std::string>{"x"});
  // What a refused node makes is no input of the model.
  EXPECT_TRUE(found[2].refusal);
  EXPECT_TRUE(found[2].needs.empty());
}

TEST(Survey, SequencesStayOnOneSide) {
  std::vector<std::string> nodes = {
      node("Relu", {"x"}, {"r"}), node("SplitToSequence", {"r"}, {"s"}),
      node("SequenceErase", {"s"}, {"t"}), node("SequenceLength", {"s"}, {"n"}),
      node("Mystery", {"t", "n"}, {"y"})};
  auto found = surveyOf(nodes);
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].refusal, std::nullopt);
  EXPECT_EQ(found[1].refusal, "the sequence 's' is also read or made by what is refused");
  EXPECT_EQ(found[2].refusal, "the sequence 't' is also read or made by what is refused");
  EXPECT_EQ(found[3].refusal, "the sequence 's' is also read or made by what is refused");
  nodes[4] = node("Cast", {"n"}, {"y"}, "", {test::intAttribute("to", f32)});
  for (const NodeSurvey &survey : surveyOf(nodes))
    EXPECT_EQ(survey.refusal, std::nullopt);
}

} // namespace
} // namespace kintsugi::import
