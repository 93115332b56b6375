//===- operator_example_test.cpp - How to add an operator -------------------===//
//
// CONTRIBUTING.md quotes what stands between the marks.
//
//===----------------------------------------------------------------------===//

#include "import/registry.h"
#include "te/interpreter.h"

#include <gtest/gtest.h>

namespace kintsugi::import {
namespace {

// example: operator
/// y = x where |x| > lambd, else 0: ONNX's Shrink without its bias.
Status hardShrink(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  Expr limit = Expr::literal(c.type(x), c.real("lambd", 0.5));
  Expr zero = Expr::literal(c.type(x), 0.0);
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr element = c.read(x, i);
    Expr magnitude = Expr::unary(te::UnaryOp::Abs, element);
    return Expr::select(Expr::binary(te::BinaryOp::Less, limit, magnitude), element, zero);
  }));
  return Status::success();
}

constexpr Operator table[] = {
    {"HardShrink", /*since=*/9, /*requiredInputs=*/1, hardShrink},
};
// end of example

/// Graphs and tensors in attributes, which the example has none of.
class NoAttributes final : public GraphImporter {
public:
  Expected<std::vector<Binding>> importSubgraph(const Graph &, llvm::ArrayRef<Binding>) override {
    return inputError("no subgraphs here");
  }
  Expected<Binding> importTensor(const TensorData &) override {
    return inputError("no tensors here");
  }
  Expected<std::vector<Binding>> importBranch(const Graph &, llvm::ArrayRef<Binding>, ValueId,
                                              bool) override {
    return inputError("no subgraphs here");
  }
  Expected<llvm::SmallVector<ValueId>> addCountedCall(llvm::ArrayRef<std::string>,
                                                      te::Call) override {
    return inputError("there is no graph");
  }
  bool hasCountedCalls() const override { return false; }
  void requireRange(ValueId, int64_t, int64_t, const char *) override {}
  void require(CheckedTensor) override {}
  void enterBody() override {}
  std::optional<std::vector<CheckedTensor>> leaveBody() override { return std::nullopt; }
  void dropBody() override {}
  bool mayBeBody(const Graph &) const override { return false; }
  void isNoBody(const Graph &) override {}
  bool mayEndByData() const override { return false; }
};

/// A program whose one operator is the example's.
Status importExample(te::Program &program, ElementType type) {
  Node node{.name = "shrink", .op = "HardShrink", .inputs = {"x"}, .outputs = {"y"}};
  Attribute lambd;
  lambd.name = "lambd";
  lambd.kind = AttributeKind::Float;
  lambd.f = 1;
  node.attributes = {lambd};
  Binding x;
  x.tensor = program.addInput("x", type, {Extent(2), Extent(3)});
  ConstantFolder constants(program);
  NoAttributes importer;
  OpContext context(node, /*opset=*/20, {x}, program, constants, importer);
  KINTSUGI_RETURN_IF_ERROR(table[0].import(context));
  program.addOutput("y", *context.takeOutputs()[0].tensor);
  return program.verify();
}

TEST(OperatorExample, Computes) {
  te::Program program;
  Status status = importExample(program, ElementType::F32);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const float values[] = {-2, -1, -0.5, 0.5, 1, 2};
  auto x = Tensor::from<float>({2, 3}, values);
  ASSERT_TRUE(x.ok());
  auto outputs = te::interpret(program, {x->view()});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  std::span<const float> y = outputs->front().as<float>();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector<float>{-2, 0, 0, 0, 0, 2}));
}

TEST(OperatorExample, RefusesWhatItDoesNotCompute) {
  te::Program program;
  EXPECT_FALSE(importExample(program, ElementType::I32).ok());
}

} // namespace
} // namespace kintsugi::import
