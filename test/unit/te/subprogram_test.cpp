#include "te/subprogram.h"

#include "te/constant_nodes.h"
#include "te/printer.h"
#include "testing.h"

using namespace kintsugi;
using namespace kintsugi::te;

namespace {

/// A program of two definitions that read inputs, constants and each other.
Program example() {
  return parsed("input x[i:2, j:3] f32\n"
                "const w[3] f32 = [1, 2, 4]\n"
                "input n[] i64\n"
                "v[j:3] f32 = w[j] + 1\n"
                "s[i:2] f32 = sum<f32>[j:3] x[i, j] * v[j]\n"
                "y[i:2] f32 = s[i] + x[i, 1]\n"
                "output y\n");
}

uint32_t nodeOf(const Program &program, llvm::StringRef name) {
  for (const Value &value : program.values)
    if (value.name == name)
      return value.node;
  ADD_FAILURE() << name.str();
  return 0;
}

ValueId valueOf(const Program &program, llvm::StringRef name) {
  for (uint32_t number = 0; number < program.numValues(); ++number)
    if (program.values[number].name == name)
      return {number};
  ADD_FAILURE() << name.str();
  return {};
}

TEST(ConstantBytes, AreThoseThatOtherNodesReadAsTheyReadThem) {
  EXPECT_EQ(bytesOfConstants(example()).once, 12); // v, not w.
  Program halves = parsed("input x[i:2, j:4] f32\n"
                          "const w[4] f32 = [1, 2, 3, 4]\n"
                          "const unread[4] f32 = [1, 2, 3, 4]\n"
                          "h[j:4] f16 = f16(w[j])\n"
                          "s[i:2] f32 = sum<f32>[j:4] x[i, j] * f32(h[j])\n"
                          "y[i:2, j:4] f32 = s[i] + f32(h[j])\n"
                          "output y\n");
  EXPECT_EQ(bytesOfConstants(halves).once, 8);
  EXPECT_EQ(bytesOfConstants(halves).inSteps, 0);
}

TEST(Subprogram, WhatANodeReadsIsItsInputs) {
  Program whole = example();
  Program alone = nodeAlone(whole, nodeOf(whole, "s"));
  ASSERT_TRUE(alone.verify().ok());
  ASSERT_EQ(alone.inputs.size(), 2u);
  EXPECT_EQ(alone.value(alone.inputs[0]).name, "x"); // In order of occurrence.
  EXPECT_EQ(alone.value(alone.inputs[1]).name, "v");
  ASSERT_EQ(alone.outputs.size(), 1u);
  EXPECT_EQ(alone.outputs[0].name, "s");
  expectSame(evaluated(alone, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({3}, {2, 3, 5})}),
             {floats({2}, {23, 53})});
}

TEST(Subprogram, ConstantsKeepTheirBytesWhereTheyHaveSome) {
  Program whole = example();
  std::vector<bool> constant = constantNodes(whole);
  auto isKnown = [&](ValueId id) { return isConstant(whole, constant, id); };
  Program v = nodeAlone(whole, nodeOf(whole, "v"), isKnown);
  EXPECT_TRUE(v.inputs.empty());
  expectSame(evaluated(v), {floats({3}, {2, 3, 5})});
  Program s = nodeAlone(whole, nodeOf(whole, "s"), isKnown);
  ASSERT_EQ(s.inputs.size(), 1u);
  const Value &computed = s.value(valueOf(s, "v"));
  EXPECT_EQ(computed.kind, ValueKind::Constant);
  ASSERT_TRUE(computed.constant);
  EXPECT_EQ(computed.constant->identity(), "v");
}

TEST(Subprogram, CopiedNodesReadEachOther) {
  Program whole = example();
  Subprogram part(whole);
  part.copy(nodeOf(whole, "s"));
  ValueId s = part[valueOf(whole, "s")];
  part.addOutputs(part.copy(nodeOf(whole, "y")));
  ASSERT_TRUE(part.program.verify().ok());
  EXPECT_EQ(part.program.value(s).kind, ValueKind::Result);
  EXPECT_EQ(part.program.inputs.size(), 2u); // x once.
  expectSame(evaluated(part.program, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({3}, {2, 3, 5})}),
             {floats({2}, {25, 58})});
}

TEST(Subprogram, AValueMayStandInAnotherShape) {
  Program whole = example();
  Subprogram part(whole);
  part.addInput(valueOf(whole, "x"), {Extent(3), Extent(2)});
  auto sum = std::get<Definition>(whole.nodes[nodeOf(whole, "s")]);
  const Expr body = sum.bodies[0];
  sum.bodies[0] = rewrite(body, [](const Expr &e) {
    return e.kind() == ExprKind::Read && e.readIndices().size() == 2
               ? Expr::read(e.readValue(), e.type(), {e.readIndices()[1], e.readIndices()[0]})
               : e;
  });
  part.addOutputs(part.define(nodeOf(whole, "s"), sum));
  ASSERT_TRUE(part.program.verify().ok());
  expectSame(evaluated(part.program, {floats({3, 2}, {1, 4, 2, 5, 3, 6}), floats({3}, {2, 3, 5})}),
             {floats({2}, {23, 53})});
}

TEST(Subprogram, ScansAndCallsReadWhatStandsForTheirOperands) {
  Program whole = parsed("input x[4] f32\n"
                         "input h[4] f32\n"
                         "y[i:4] f32 = x[i] + h[i]\n"
                         "(values[2] f32, places[2] i64) = call TopK(y) {\"axis\":0,\"k\":2}\n"
                         "(last[4] f32, all[2, 4] f32) = scan[2] carry(h) capture(y) {\n"
                         "  input step[] i64\n"
                         "  input c[4] f32\n"
                         "  input a[4] f32\n"
                         "  next[i:4] f32 = c[i] * a[i]\n"
                         "  output next\n"
                         "  output next as \"stacked\"\n"
                         "}\n"
                         "output values\n"
                         "output last\n");
  Program call = nodeAlone(whole, 1), scan = nodeAlone(whole, 2);
  ASSERT_TRUE(call.verify().ok());
  ASSERT_TRUE(scan.verify().ok());
  expectSame(evaluated(call, {floats({4}, {5, 1, 7, 3})}),
             {floats({2}, {7, 5}), integers(ElementType::I64, {2}, {2, 0})});
  expectSame(evaluated(scan, {floats({4}, {1, 2, 3, 4}), floats({4}, {2, 3, 4, 5})}),
             {floats({4}, {4, 18, 48, 100}), floats({2, 4}, {2, 6, 12, 20, 4, 18, 48, 100})});
}

} // namespace
