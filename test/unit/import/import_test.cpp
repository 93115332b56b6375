//===- import_test.cpp - Messages, options and weights -----------------------===//

#include "import/import.h"

#include "proto_writer.h"
#include "te/check.h"
#include "te/interpreter.h"
#include "te/printer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace kintsugi::import {
namespace {

using test::GraphParts;

Expected<te::Program> import(const std::string &model, const ImportOptions &options = {},
                             const std::string &folder = "/nonexistent") {
  Diagnostics diagnostics;
  return importOnnx({nullptr, std::as_bytes(std::span(model))}, "m.onnx", folder, options,
                    diagnostics);
}

std::string errorOf(const std::string &model, const ImportOptions &options = {},
                    const std::string &folder = "/nonexistent") {
  Expected<te::Program> program = import(model, options, folder);
  return program.ok() ? "" : program.error().message;
}

std::string oneNode(const std::string &node, std::vector<std::string> dims, int64_t opset = 20) {
  return test::model(
      test::graph({{node}, {}, {test::valueInfo("x", 1, dims)}, {test::valueInfo("y", 1, {})}}),
      opset);
}

TEST(Import, NamesEveryUnsupportedOperatorAtOnce) {
  GraphParts parts{{test::node("Foo", {"x"}, {"a"}, "first"), test::node("Bar", {"a"}, {"b"}),
                    test::node("Foo", {"b"}, {"y"}, "second")},
                   {},
                   {test::valueInfo("x", 1, {"2"})},
                   {test::valueInfo("y", 1, {})}};
  EXPECT_EQ(errorOf(test::model(test::graph(parts))),
            "m.onnx: 2 operators are not supported: Bar (node 'b'); Foo (nodes 'first', 'second'); "
            "export the model without them");
}

TEST(Import, NamesFileNodeAndReason) {
  EXPECT_EQ(
      errorOf(oneNode(test::node("Softmax", {"x"}, {"y"}, "soft", {test::intAttribute("axis", 5)}),
                      {"2", "3"})),
      "m.onnx: node 'soft' (Softmax): axis 5 is outside of a tensor with 2 dimensions");
  EXPECT_EQ(errorOf(oneNode(test::node("Relu", {"z"}, {"y"}, "r"), {"2"})),
            "m.onnx: node 'r' (Relu): 'z' is used, but nothing before it defines it");
  EXPECT_EQ(errorOf(oneNode(test::node("MatMul", {"x", "x"}, {"y"}), {"2", "3"})),
            "m.onnx: node 'y' (MatMul): matrices of shapes [2, 3] and [2, 3] can't be multiplied");
  EXPECT_EQ(errorOf(oneNode(test::node("Add", {"x"}, {"y"}), {"2"})),
            "m.onnx: node 'y' (Add): it has 1 input, but Add takes 2; export the model anew");
  EXPECT_EQ(errorOf(oneNode(test::node("Add", {"x", ""}, {"y"}), {"2"})),
            "m.onnx: node 'y' (Add): input 2 must be given, and be a tensor");
}

TEST(Import, RefusesEquationsThatDontFit) {
  auto einsum = [](const std::string &equation) {
    auto node =
        test::node("Einsum", {"x", "x"}, {"y"}, "e", {test::textAttribute("equation", equation)});
    return errorOf(oneNode(node, {"2", "3"}));
  };
  const std::string where = "m.onnx: node 'e' (Einsum): ";
  EXPECT_EQ(einsum("ij->ij"), where + "its equation 'ij->ij' has 1 operands for 2 inputs");
  EXPECT_EQ(einsum("ij,j->i"), where + "'j' of its equation does not fit input 2 of shape [2, 3]");
  EXPECT_EQ(einsum("ij,jk->ik"),
            where + "dimensions of one name in its equation have extents 3 and 2");
  EXPECT_EQ(einsum("ij,ik->il"),
            where + "its equation's result has a name that no operand has, or one twice");
  EXPECT_EQ(einsum("ij,i*->i"), where + "its equation has '*', which is not a letter");
  EXPECT_EQ(einsum("ij,ij...->i"), "");
}

TEST(Import, RefusesMoreElementsThanThereAre) {
  auto node = test::node("TopK", {"x"}, {"y", "places"}, "top", {test::intAttribute("k", 4)});
  EXPECT_EQ(errorOf(oneNode(node, {"2", "3"}, 9)), "m.onnx: node 'top' (TopK): its k is 4, but "
                                                   "there are 3 elements along its axis");
}

TEST(Import, RefusesOtherOperatorSets) {
  std::string relu = test::node("Relu", {"x"}, {"y"});
  EXPECT_NE(errorOf(oneNode(relu, {"2"}, 29)).find("version 29"), std::string::npos);
  EXPECT_EQ(errorOf(oneNode(relu, {"2"}, 28)), "");
  EXPECT_EQ(errorOf(oneNode(relu, {"2"}, 6)), "");
}

TEST(Import, OpenDimensions) {
  std::string model = oneNode(test::node("Relu", {"x"}, {"y"}), {"batch", "3", ""});
  EXPECT_EQ(errorOf(model), "m.onnx: input 'x' has the open dimension 'batch'; give it a size with "
                            "--dim batch=N");
  ImportOptions options;
  options.dims = {{"batch", 4}};
  EXPECT_NE(errorOf(model, options).find("--dim x.2=N"), std::string::npos);
  options.dims["x.2"] = 5;
  Expected<te::Program> program = import(model, options);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->shape(program->inputs[0])[0].constant(), 4);
  EXPECT_EQ(program->shape(program->inputs[0])[2].constant(), 5);
  options.dims["other"] = 1;
  Expected<te::Program> unused = import(model, options);
  ASSERT_FALSE(unused.ok());
  EXPECT_EQ(unused.error().kind, ErrorKind::Usage);
  EXPECT_NE(unused.error().message.find("--dim other"), std::string::npos);
}

TEST(Import, BoundInputsBecomeConstants) {
  GraphParts parts{{test::node("Reshape", {"x", "s"}, {"y"}, "r")},
                   {},
                   {test::valueInfo("x", 1, {"6"}), test::valueInfo("s", 7, {"2"})},
                   {test::valueInfo("y", 1, {})}};
  std::string model = test::model(test::graph(parts));
  EXPECT_EQ(errorOf(model),
            "m.onnx: node 'r' (Reshape): its shape 's' must be known when compiling; "
            "bind it with --bind s=FILE.npz");
  std::vector<int64_t> shape{2, 3}, wrong{2, 3, 1};
  ImportOptions options;
  options.bound["s"] = std::make_shared<Tensor>(std::move(*Tensor::from<int64_t>({2}, shape)));
  Expected<te::Program> program = import(model, options);
  ASSERT_TRUE(program.ok()) << program.error().message;
  ASSERT_EQ(program->inputs.size(), 1u);
  EXPECT_EQ(program->shape(program->outputs[0].value).size(), 2u);
  options.bound["s"] = std::make_shared<Tensor>(std::move(*Tensor::from<int64_t>({3}, wrong)));
  EXPECT_NE(errorOf(model, options).find("the value is i64[3], but the input is i64[2]"),
            std::string::npos);
  options.bound.clear();
  options.bound["none"] = std::make_shared<Tensor>(std::move(*Tensor::from<int64_t>({2}, shape)));
  EXPECT_NE(errorOf(model, options).find("no input of that name"), std::string::npos);
}

TEST(Import, BoundInputsHaveTheirValueInsteadOfTheirDefault) {
  std::string bytes(4, '\0');
  GraphParts parts{{test::node("Add", {"x", "w"}, {"y"}, "plus")},
                   {test::tensor("w", 1, {1}, bytes)},
                   {test::valueInfo("x", 1, {"6"}), test::valueInfo("w", 1, {"1"})},
                   {test::valueInfo("y", 1, {})}};
  std::string model = test::model(test::graph(parts));
  Expected<te::Program> program = import(model);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->inputs.size(), 1u);
  std::string byDefault = te::printProgram(*program);
  std::vector<float> two{2};
  ImportOptions options;
  options.bound["w"] = std::make_shared<Tensor>(std::move(*Tensor::from<float>({1}, two)));
  program = import(model, options);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->inputs.size(), 1u);
  EXPECT_NE(te::printProgram(*program), byDefault);
}

TEST(Import, PowersSeeTheirExponent) {
  GraphParts parts{{test::node("Pow", {"x", "e"}, {"y"}, "p")},
                   {},
                   {test::valueInfo("x", 1, {"6"}), test::valueInfo("e", 1, {"1"})},
                   {test::valueInfo("y", 1, {})}};
  std::string model = test::model(test::graph(parts));
  Expected<te::Program> program = import(model);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_NE(te::printProgram(*program).find("pow(x[i0], e[0])"), std::string::npos);
  std::vector<float> two{2};
  ImportOptions options;
  options.bound["e"] = std::make_shared<Tensor>(std::move(*Tensor::from<float>({1}, two)));
  program = import(model, options);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_NE(te::printProgram(*program).find("pow(x[i0], 2)"), std::string::npos)
      << te::printProgram(*program);
}

/// The checks that a program has, a line each.
std::string checksOf(const std::string &model) {
  Expected<te::Program> program = import(model);
  if (!program.ok())
    return program.error().message;
  std::string lines;
  for (const te::Program::Output &output : program->outputs)
    if (te::checkOf(output))
      lines += output.name + "\n";
  return lines;
}

TEST(Import, PositionsThatAreDataAreChecked) {
  auto gathers = [](std::vector<std::string> nodes) {
    std::string output;
    test::Writer(output).add_string(1, "y");
    return test::model(
        test::graph({std::move(nodes),
                     {},
                     {test::valueInfo("x", 1, {"5", "3"}), test::valueInfo("i", 7, {"4", "2"}),
                      test::valueInfo("c", 9, {"1"})},
                     {output}}));
  };
  EXPECT_EQ(checksOf(gathers({test::node("Gather", {"x", "i"}, {"y"}, "rows")})),
            "check: index in -5..5 of rows, value i\n");
  EXPECT_EQ(checksOf(gathers({test::node("GatherND", {"x", "i"}, {"y"}, "points")})),
            "check: index in -5..5 of points, value i.0\n"
            "check: index in -3..3 of points, value i.1\n");
  EXPECT_EQ(checksOf(gathers({test::node("Gather", {"x", "i"}, {"a"}, "rows"),
                              test::node("Gather", {"x", "i"}, {"b"}, "again"),
                              test::node("Add", {"a", "b"}, {"y"})})),
            "check: index in -5..5 of rows, value i\n");
  // Of a branch that is not taken nothing is asked.
  std::string output;
  test::Writer(output).add_string(1, "z");
  auto branch = [&](const std::string &op, std::vector<std::string> inputs) {
    return test::graph({{test::node(op, std::move(inputs), {"z"}, op)}, {}, {}, {output}});
  };
  std::string chooses =
      gathers({test::node("Gather", {"x", "i"}, {"a"}, "rows"),
               test::node("If", {"c"}, {"y"}, "if",
                          {test::graphAttribute("then_branch", branch("Gather", {"a", "i"})),
                           test::graphAttribute("else_branch", branch("Gather", {"a", "i"}))})});
  EXPECT_EQ(checksOf(chooses), "check: index in -5..5 of rows, value i\n"
                               "check: index in -4..4 of Gather, value y.last1\n"
                               "check: index in -4..4 of Gather, value y.last1.1\n");
}

TEST(Import, SizesThatOverflowAreErrors) {
  std::string huge = std::to_string(int64_t(1) << 40);
  std::string relu = test::node("Relu", {"x"}, {"y"});
  EXPECT_NE(errorOf(oneNode(relu, {huge, huge})).find("too large"), std::string::npos);
  // Small inputs, a result of 2^60 elements.
  GraphParts parts{{test::node("Add", {"x", "z"}, {"y"})},
                   {},
                   {test::valueInfo("x", 1, {std::to_string(1 << 30), "1"}),
                    test::valueInfo("z", 1, {std::to_string(1 << 30)})},
                   {test::valueInfo("y", 1, {})}};
  EXPECT_NE(errorOf(test::model(test::graph(parts))).find("too large"), std::string::npos);
}

class ExternalData : public testing::Test {
protected:
  void SetUp() override {
    folder =
        std::filesystem::temp_directory_path() / ("kintsugi-import-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder / "model");
    std::ofstream(folder / "model" / "w.bin", std::ios::binary)
        << std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12); // 1, 2, 3
    std::ofstream(folder / "secret.bin", std::ios::binary) << std::string(64, 'x');
    std::filesystem::create_symlink("../secret.bin", folder / "model" / "link.bin");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string modelWith(std::vector<std::pair<std::string, std::string>> entries) {
    return test::model(test::graph({{test::node("Add", {"x", "w"}, {"y"})},
                                    {test::externalTensor("w", {2}, entries)},
                                    {test::valueInfo("x", 1, {"2"})},
                                    {test::valueInfo("y", 1, {})}}));
  }
  std::string errorWith(std::vector<std::pair<std::string, std::string>> entries,
                        const ImportOptions &options = {}) {
    return errorOf(modelWith(std::move(entries)), options, (folder / "model").string());
  }

  std::filesystem::path folder;
};

TEST_F(ExternalData, IsReadAtItsOffset) {
  std::string model = modelWith({{"location", "w.bin"}, {"offset", "4"}, {"length", "8"}});
  Expected<te::Program> program = import(model, {}, (folder / "model").string());
  ASSERT_TRUE(program.ok()) << program.error().message;
  std::vector<float> x{10, 20};
  Expected<Tensor> feed = Tensor::from<float>({2}, x);
  auto outputs = te::interpret(*program, {std::as_const(*feed).view()});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ((*outputs)[0].as<float>()[0], 12);
  EXPECT_EQ((*outputs)[0].as<float>()[1], 23);
}

TEST_F(ExternalData, StaysInsideOfItsFile) {
  EXPECT_NE(errorWith({{"location", "w.bin"}, {"offset", "8"}}).find("not all in the file"),
            std::string::npos);
  EXPECT_NE(errorWith({{"location", "w.bin"}, {"offset", "18446744073709551612"}})
                .find("not all in the file"),
            std::string::npos);
}

TEST_F(ExternalData, StaysInsideOfItsFolder) {
  ImportOptions random;
  random.randomWeights = true;
  for (const char *location :
       {"../secret.bin", "link.bin", "/etc/passwd", "a/../../secret.bin", "", "."}) {
    EXPECT_NE(errorWith({{"location", location}}), "") << location;
    EXPECT_NE(errorWith({{"location", location}}, random), "") << location;
  }
}

TEST_F(ExternalData, MissingFilesNameTheFlag) {
  EXPECT_EQ(errorWith({{"location", "none.bin"}}),
            "m.onnx: node 'y' (Add): initializer 'w': external data 'none.bin': there is no such "
            "file beside the model; put it there, or pass --random-weights to compile without the "
            "weights");
  ImportOptions random;
  random.randomWeights = true;
  EXPECT_EQ(errorWith({{"location", "none.bin"}}, random), "");
}

TEST(Import, MissingFile) {
  Diagnostics diagnostics;
  auto program = importOnnx("/nonexistent/m.onnx", {}, diagnostics);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind, ErrorKind::Input);
  EXPECT_NE(program.error().message.find("/nonexistent/m.onnx"), std::string::npos);
}

} // namespace
} // namespace kintsugi::import
