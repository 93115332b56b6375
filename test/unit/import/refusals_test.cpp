//===- refusals_test.cpp - Nodes and models that are not as ONNX says --------===//

#include "import/import.h"

#include "proto_writer.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

using test::node;

struct Outcome {
  std::string error; ///< Empty where the model was imported.
  std::vector<std::string> notes;
};

Outcome outcomeOf(const std::string &model) {
  Diagnostics diagnostics;
  Expected<te::Program> program =
      importOnnx({nullptr, std::as_bytes(std::span(model))}, "m", "/nonexistent", {}, diagnostics);
  Outcome result{program.ok() ? "" : program.error().message, {}};
  for (const Diagnostic &note : diagnostics.take())
    result.notes.push_back(note.str());
  return result;
}

constexpr int f32 = 1, i64 = 7, boolean = 9, f16 = 10, complex64 = 14;

/// x (2 by 3, of `type`) -> nodes -> y, of which the model says neither type nor shape.
std::string modelOf(const std::vector<std::string> &nodes, int64_t opset = 21, int type = f32,
                    std::vector<std::string> dims = {"2", "3"}) {
  std::string output;
  test::Writer(output).add_string(1, "y");
  return test::model(test::graph({nodes, {}, {test::valueInfo("x", type, dims)}, {output}}), opset);
}

std::string errorOf(const std::vector<std::string> &nodes, int64_t opset = 21, int type = f32,
                    std::vector<std::string> dims = {"2", "3"}) {
  return outcomeOf(modelOf(nodes, opset, type, dims)).error;
}

TEST(Refusals, TooFewAndTooManyInputsAndOutputs) {
  EXPECT_EQ(errorOf({node("Relu", {"x"}, {}, "r")}),
            "m: node 'r' (Relu): it has 0 outputs, but Relu gives 1; export the model anew");
  EXPECT_EQ(errorOf({node("Identity", {}, {"y"}, "same")}),
            "m: node 'same' (Identity): it has 0 inputs, but Identity takes 1; export the model "
            "anew");
  EXPECT_EQ(errorOf({node("Identity", {""}, {"y"}, "same")}),
            "m: node 'same' (Identity): its output 'y' is not supported");
  EXPECT_EQ(errorOf({node("OptionalGetElement", {""}, {"y"}, "get")}),
            "m: node 'get' (OptionalGetElement): its input is left out, so that there is no "
            "element");
  EXPECT_EQ(errorOf({node("Relu", {"x", "x", "x"}, {"y"}, "r")}),
            "m: node 'r' (Relu): it has 3 inputs, but Relu takes 1; export the model anew");
  EXPECT_EQ(errorOf({node("Relu", {"x"}, {"y", "z"}, "r")}),
            "m: node 'r' (Relu): it has 2 outputs, but Relu gives 1; export the model anew");
  EXPECT_EQ(errorOf({node("Clip", {"x", "x", "x", "x"}, {"y"}, "c")}),
            "m: node 'c' (Clip): it has 4 inputs, but Clip takes 1 to 3; export the model anew");
  EXPECT_EQ(errorOf({node("Concat", {}, {"y"}, "c", {test::intAttribute("axis", 0)})}),
            "m: node 'c' (Concat): it has 0 inputs, but Concat takes 1 or more; export the model "
            "anew");
  EXPECT_EQ(errorOf({node("Relu", {"x", ""}, {"y", ""}, "r")}), "")
      << "what is left out does not count";
}

TEST(Refusals, OutputsThatNobodyNamesAreDropped) {
  // LSTM may have none of its outputs, by its schema.
  std::string weights(4 * 4 * 3 * 4, '\0'), state(4 * 4 * 1 * 4, '\0'), output;
  test::Writer(output).add_string(1, "y");
  std::string lstm = node("LSTM", {"s", "w", "r"}, {}, "l", {test::intAttribute("hidden_size", 1)});
  EXPECT_EQ(outcomeOf(test::model(test::graph({{lstm, node("Relu", {"s"}, {"y"})},
                                               {},
                                               {test::valueInfo("s", f32, {"2", "1", "3"}),
                                                test::valueInfo("w", f32, {"1", "4", "3"}),
                                                test::valueInfo("r", f32, {"1", "4", "1"})},
                                               {output}})))
                .error,
            "");
}

TEST(Refusals, Attributes) {
  auto relu = [](std::vector<std::string> attributes) {
    return node("Relu", {"x"}, {"y"}, "r", std::move(attributes));
  };
  EXPECT_EQ(errorOf({relu({test::intAttribute("flavour", 3)})}),
            "m: node 'r' (Relu): attribute 'flavour' is none that Relu has in version 21 of ONNX's "
            "operators; leave it out");
  EXPECT_EQ(errorOf({relu({test::intAttribute("__note", 3)})}), "");
  auto axis = test::intAttribute("axis", 0);
  EXPECT_EQ(errorOf({node("Softmax", {"x"}, {"y"}, "s", {axis, axis})}),
            "m: node 's' (Softmax): attribute 'axis' is given twice; leave one out");
  EXPECT_EQ(errorOf({node("Concat", {"x", "x"}, {"y"}, "c")}),
            "m: node 'c' (Concat): its attribute 'axis' is missing");
  std::string pool =
      node("ArgMax", {"x"}, {"y"}, "a", {test::intAttribute("select_last_index", 1)});
  EXPECT_EQ(errorOf({pool}, 11),
            "m: node 'a' (ArgMax): attribute 'select_last_index' came to ArgMax with version 12 of "
            "ONNX's operators, but the model uses version 11; convert it with "
            "onnx.version_converter, or leave the attribute out");
  EXPECT_EQ(errorOf({pool}, 12), "");
}

TEST(Refusals, DeclaredTypes) {
  auto model = [](std::vector<std::string> outputs, std::vector<std::string> values) {
    return test::model(
        test::graph({{node("Relu", {"x"}, {"a"}, "r"), node("Neg", {"a"}, {"y"}, "n")},
                     {},
                     {test::valueInfo("x", f32, {"2", "3"})},
                     std::move(outputs),
                     std::move(values)}));
  };
  std::string right = test::valueInfo("y", f32, {"2", "3"});
  EXPECT_EQ(outcomeOf(model({test::valueInfo("y", i64, {"2", "3"})}, {})).error,
            "m: node 'n' (Neg): its output 'y' is f32, but the model says that it is i64; correct "
            "that");
  EXPECT_EQ(outcomeOf(model({right}, {test::valueInfo("a", f16, {"2", "3"})})).error,
            "m: node 'r' (Relu): its output 'a' is f32, but the model says that it is f16; correct "
            "that");
  EXPECT_TRUE(outcomeOf(model({right}, {test::valueInfo("a", f32, {"7"})})).notes.empty());
  Outcome other = outcomeOf(model({test::valueInfo("y", f32, {"batch", "4"})}, {}));
  EXPECT_EQ(other.error, "");
  EXPECT_EQ(other.notes, std::vector<std::string>{"m: note: output 'y' has the shape [2, 3], which "
                                                  "is not what the model says"});
}

TEST(Refusals, NamesThatAreThereTwice) {
  std::string x = test::valueInfo("x", f32, {"2"}), y = test::valueInfo("y", f32, {"2"});
  std::string relu = node("Relu", {"x"}, {"y"}), w = test::tensor("w", f32, {1}, "abcd");
  auto error = [](const test::GraphParts &parts) {
    return outcomeOf(test::model(test::graph(parts))).error;
  };
  EXPECT_EQ(error({{relu}, {}, {x}, {y, y}}),
            "m: two outputs are named 'y'; give each a name of its own");
  EXPECT_EQ(error({{relu}, {}, {x, x}, {y}}),
            "m: two inputs are named 'x'; give each a name of its own");
  EXPECT_EQ(error({{relu}, {w, w}, {x}, {y}}),
            "m: two initializers are named 'w'; give each a name of its own");
}

TEST(Refusals, FormatsFromLater) {
  std::string graph = test::graph({{node("Relu", {"x"}, {"y"})},
                                   {},
                                   {test::valueInfo("x", f32, {"2"})},
                                   {test::valueInfo("y", f32, {"2"})}});
  EXPECT_EQ(outcomeOf(test::model(graph, 21, {}, 9999)).error,
            "m: its format is version 9999 of ONNX's, of which versions up to 14 are known; export "
            "it in one of those");
  EXPECT_EQ(outcomeOf(test::model(graph, 21, {}, 14)).error, "");
}

TEST(Refusals, NodesHaveToBeSorted) {
  EXPECT_EQ(errorOf({node("Relu", {"a"}, {"y"}, "r"), node("Neg", {"x"}, {"a"}, "n")}),
            "m: node 'r' (Relu): 'a' is used before the node that defines it; sort the nodes, so "
            "that each stands behind those whose outputs it reads");
}

TEST(Refusals, WhatNobodyReadsMayBeUnsupported) {
  EXPECT_EQ(
      errorOf({node("Foo", {"x"}, {"a"}), node("Relu", {"a"}, {"b"}), node("Relu", {"x"}, {"y"})}),
      "");
  EXPECT_EQ(errorOf({node("Foo", {"x"}, {"a"}, "f"), node("Relu", {"a"}, {"y"})}),
            "m: 1 operator is not supported: Foo (node 'f'); export the model without them");
  EXPECT_NE(errorOf({node("Relu", {"x"}, {}, "r"), node("Relu", {"x"}, {"y"})}), "")
      << "what is no node of its operator is refused all the same";
}

TEST(Refusals, FunctionsThatUnrollWithoutEnd) {
  std::vector<std::string> functions;
  for (int k = 0; k < 40; ++k) {
    auto called = [&](const char *in, const char *out) {
      return k == 0 ? node("Relu", {in}, {out}, "leaf")
                    : test::localNode(node("f" + std::to_string(k - 1), {in}, {out},
                                           "call" + std::to_string(k)));
    };
    functions.push_back(test::function("f" + std::to_string(k), {"a"}, {"c"},
                                       {called("a", "b"), called("b", "c")}));
  }
  std::string bomb = test::model(test::graph({{test::localNode(node("f39", {"x"}, {"y"}, "top"))},
                                              {},
                                              {test::valueInfo("x", f32, {"2"})},
                                              {test::valueInfo("y", f32, {"2"})}}),
                                 21, functions);
  std::string error = outcomeOf(bomb).error;
  EXPECT_TRUE(error.starts_with("m: node 'top' (local.f39): ...: node 'call")) << error;
  EXPECT_TRUE(error.ends_with("the model has more than 200000 nodes, which is too many")) << error;
  EXPECT_LT(error.size(), 200u) << "callers are not all named";
}

TEST(Refusals, BooleansHaveNoArithmetic) {
  for (const char *op : {"Neg", "Abs", "Sign"})
    EXPECT_EQ(errorOf({node(op, {"x"}, {"y"}, "n")}, 21, boolean),
              std::string("m: node 'n' (") + op + "): booleans have no arithmetic");
}

TEST(Refusals, TypesThatNothingComputesWith) {
  EXPECT_EQ(errorOf({node("Cast", {"x"}, {"y"}, "c", {test::intAttribute("to", complex64)})}),
            "m: node 'c' (Cast): elements of type c64 are not supported, and it makes some");
  EXPECT_EQ(
      errorOf({node("Cast", {"x"}, {"y"}, "c", {test::intAttribute("to", f32)})}, 21, complex64),
      "m: node 'c' (Cast): elements of type c64 are not supported; 'x' has to be of another "
      "type in the model");
  EXPECT_EQ(errorOf({node("Cast", {"x"}, {"y"}, "c",
                          {test::intAttribute("to", (int64_t(1) << 32) + f32)})}),
            "m: node 'c' (Cast): attribute 'to' is no element type");
}

TEST(Refusals, PositionsAmongNothing) {
  auto error = [](const std::string &op, std::vector<std::string> inputs,
                  std::vector<std::string> dims) {
    std::string output;
    test::Writer(output).add_string(1, "y");
    return outcomeOf(test::model(test::graph(
                         {{node(op, std::move(inputs), {"y"}, "n")},
                          {},
                          {test::valueInfo("x", f32, dims), test::valueInfo("i", i64, {"2", "1"}),
                           test::valueInfo("u", f32, {"2", "3"})},
                          {output}})))
        .error;
  };
  EXPECT_EQ(error("Gather", {"x", "i"}, {"0", "3"}),
            "m: node 'n' (Gather): its dimension has no elements to choose from");
  EXPECT_EQ(error("GatherND", {"x", "i"}, {"0", "3"}),
            "m: node 'n' (GatherND): its dimension has no elements to choose from");
  EXPECT_EQ(error("ScatterND", {"x", "i", "u"}, {"0", "3"}),
            "m: node 'n' (ScatterND): its dimension has no elements to choose from");
}

TEST(Refusals, ChoicesAmongNothing) {
  EXPECT_EQ(errorOf({node("ArgMax", {"x"}, {"y"}, "a", {test::intAttribute("axis", 1)})}, 21, f32,
                    {"2", "0"}),
            "m: node 'a' (ArgMax): its axis 1 has no elements to choose from");
  EXPECT_EQ(errorOf({node("ArgMax", {"x"}, {"y"}, "a", {test::intAttribute("axis", 1)})}, 21, f32,
                    {"0", "2"}),
            "");
}

/// Resizes x, whose roi is a constant of the given bytes.
std::string cropped(float from, float to) {
  auto bytes = [](std::vector<float> values) {
    return std::string(reinterpret_cast<const char *>(values.data()), 4 * values.size());
  };
  auto crop = test::textAttribute("coordinate_transformation_mode", "tf_crop_and_resize");
  return outcomeOf(
             test::model(test::graph({{node("Resize", {"x", "roi", "scales"}, {"y"}, "r", {crop})},
                                      {test::tensor("roi", f32, {2}, bytes({from, to})),
                                       test::tensor("scales", f32, {1}, bytes({2}))},
                                      {test::valueInfo("x", f32, {"4"})},
                                      {test::valueInfo("y", f32, {"8"})}})))
      .error;
}

TEST(Refusals, RegionsThatAreNoNumbers) {
  std::string why = "m: node 'r' (Resize): its roi has numbers that are not finite";
  EXPECT_EQ(cropped(0, NAN), why);
  EXPECT_EQ(cropped(-INFINITY, 1), why);
  EXPECT_EQ(cropped(0, 1), "");
  EXPECT_EQ(cropped(0, 1e30f), "") << "all that leaves the tensor is extrapolated";
}

/// The same of a model with integers: none, two, three, and the list parts of 1 and 2.
std::string errorWithNumbers(const std::vector<std::string> &nodes) {
  auto numbers = [](const std::string &name, std::vector<int64_t> values, bool isList = false) {
    std::vector<int64_t> dims(isList, int64_t(values.size()));
    std::string raw(reinterpret_cast<const char *>(values.data()), values.size() * 8);
    return test::tensor(name, i64, dims, raw);
  };
  std::string output;
  test::Writer(output).add_string(1, "y");
  std::vector<std::string> known{numbers("none", {0}), numbers("two", {2}), numbers("three", {3}),
                                 numbers("parts", {1, 2}, true)};
  std::string x = test::valueInfo("x", f32, {"2", "3"});
  return outcomeOf(test::model(test::graph({nodes, known, {x}, {output}}), 21)).error;
}

TEST(Refusals, Sequences) {
  auto split = [](std::vector<std::string> nodes) {
    nodes.insert(nodes.begin(), node("SplitToSequence", {"x"}, {"s"}, "split"));
    return errorWithNumbers(nodes);
  };
  EXPECT_EQ(split({node("SequenceAt", {"s", "two"}, {"y"}, "at")}),
            "m: node 'at' (SequenceAt): position 2 is outside of its sequence of 2 tensors");
  EXPECT_EQ(split({node("SequenceErase", {"s", "two"}, {"t"}, "erase"),
                   node("SequenceLength", {"t"}, {"y"}, "length")}),
            "m: node 'erase' (SequenceErase): position 2 is outside of its sequence of 2 tensors");
  EXPECT_EQ(
      split({node("SequenceInsert", {"s", "x", "three"}, {"t"}, "insert"),
             node("SequenceLength", {"t"}, {"y"}, "length")}),
      "m: node 'insert' (SequenceInsert): position 3 is outside of its sequence of 2 tensors");
  EXPECT_EQ(split({node("SequenceLength", {"x"}, {"y"}, "length")}),
            "m: node 'length' (SequenceLength): its first input is no sequence");
  EXPECT_EQ(split({node("SequenceEmpty", {}, {"t"}, "empty"),
                   node("SequenceErase", {"t"}, {"u"}, "erase"),
                   node("SequenceLength", {"u"}, {"y"}, "length")}),
            "m: node 'erase' (SequenceErase): position -1 is outside of its sequence of 0 tensors");
  EXPECT_EQ(
      split({node("SequenceEmpty", {}, {"t"}, "empty"),
             node("ConcatFromSequence", {"t"}, {"y"}, "join", {test::intAttribute("axis", 0)})}),
      "m: node 'join' (ConcatFromSequence): its sequence is empty, so that the shape of what "
      "it joins is unknown");
  EXPECT_EQ(errorWithNumbers({node("SplitToSequence", {"x", "none"}, {"s"}, "split"),
                              node("SequenceLength", {"s"}, {"y"}, "length")}),
            "m: node 'split' (SplitToSequence): it can't split an extent of 2 in parts of 0");
  EXPECT_EQ(errorWithNumbers({node("SplitToSequence", {"x", "parts"}, {"s"}, "split"),
                              node("SequenceLength", {"s"}, {"y"}, "length")}),
            "m: node 'split' (SplitToSequence): its parts [1, 2] don't fit an extent of 2");
}

} // namespace
} // namespace kintsugi::import
