// Composition of maps: inlining, rewriting and simplification against plain evaluation.

#include "random_program.h"
#include "te/constant.h"
#include "te/printer.h"
#include "testing.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {
namespace {

/// Inlines the producer of each read, as far as it is a definition without a reduction.
Expr inlineAll(const Program &program, const Expr &expr) {
  Expr result = expr;
  for (ValueId value : readsOf(expr))
    if (const Definition *producer = program.definitionOf(value))
      if (!producer->reduction)
        result = inlineInto(result, *producer, program.shape(value));
  return result;
}

/// The last node's only body.
Expr &lastBody(Program &program) { return std::get<Definition>(program.nodes.back()).bodies[0]; }

TEST(Maps, WhatNothingChangesStaysTheSameExpression) {
  Program program = parsed("input x[i:4, j:6] f32\n"
                           "y[i:4, j:6] f32 = f32(f16((x[i+1, j//2] | 0))) * 2 + f32(i) + "
                           "cases { j < 3: x[i, j]; else: 0 }\noutput y\n");
  const Expr &body = std::get<Definition>(program.nodes[0]).bodies[0];
  EXPECT_EQ(rewrite(body, [](const Expr &e) { return e; }).identity(), body.identity());
  EXPECT_NE(substitute(body, {Index::iterator(1), Index::iterator(0)}).identity(), body.identity());
  Expr first = substitute(body, {Index::iterator(0), Index::iterator(1)});
  EXPECT_TRUE(first == body);
}

TEST(Maps, ProducersMapIsAppliedAfterTheConsumers) {
  Program program = parsed("input x[8, 6] f32\n"
                           "a[i:8, j:6] f32 = max(x[i, j], 0)\n"
                           "c[i:4, j:6] f32 = a[2*i, j]\n"
                           "d[i:6, j:4] f32 = c[j, i]\n"
                           "output d");
  ExactTensor x = floats({8, 6}, {});
  for (int i = 0; i < 48; ++i)
    x.floats.push_back(i % 7 - 3 + 0.125 * i);
  std::vector<ExactTensor> expected = evaluated(program, x);

  Expr &body = lastBody(program);
  body = inlineAll(program, body);
  EXPECT_EQ(printNode(program, 2), "d[i:6, j:4] f32 = a[2*j, i]");
  body = inlineAll(program, body);
  EXPECT_EQ(printNode(program, 2), "d[i:6, j:4] f32 = max(x[2*j, i], 0)");
  expectSame(evaluated(program, x), expected);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(expected[0].floats[i * 4 + j], std::max(x.floats[2 * j * 6 + i], 0.0));
}

TEST(Maps, AFillBecomesASelectOnTheBounds) {
  Program program = parsed("input x[4] f32\n"
                           "a[i:4] f32 = x[3-i] + 1\n"
                           "b[i:6] f32 = (a[i-1] | -9)\n"
                           "output b");
  ExactTensor x = floats({4}, {10, 20, 30, 40});
  lastBody(program) = inlineAll(program, lastBody(program));
  expectSame(evaluated(program, x)[0], floats({6}, {-9, 41, 31, 21, 11, -9}));
}

TEST(Maps, AGatherIsInlinedOnBothSides) {
  Program program = parsed("input x[4] f32\ninput t[2] i64\n"
                           "u[i:2] i64 = t[1-i] + 1\n"
                           "a[i:4] f32 = x[i] * 2\n"
                           "b[i:2] f32 = a[u[i]]\n"
                           "output b");
  std::vector<ExactTensor> inputs = {floats({4}, {1, 2, 3, 4}),
                                     integers(ElementType::I64, {2}, {2, 0})};
  lastBody(program) = inlineAll(program, lastBody(program));
  EXPECT_EQ(readsOf(lastBody(program)).size(), 2u); // x and t
  ASSERT_TRUE(program.verify().ok());
  expectSame(evaluated(program, inputs)[0], floats({2}, {4, 8}));
}

/// Programs by chance before and after a change of all bodies must compute the same.
void expectUnchanged(
    llvm::function_ref<Expr(const Program &, const Definition &, const Expr &)> change) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program = randomProgram(seed);
    ASSERT_TRUE(program.verify().ok()) << program.verify().error().message;
    std::vector<ExactTensor> inputs = randomInputs(program, seed);
    std::vector<ExactTensor> expected = evaluated(program, inputs);
    for (Node &node : program.nodes)
      if (auto *definition = std::get_if<Definition>(&node))
        for (Expr &body : definition->bodies)
          body = change(program, *definition, body);
    ASSERT_TRUE(program.verify().ok()) << program.verify().error().message << "\n"
                                       << printProgram(program);
    expectSame(evaluated(program, inputs), expected);
    if (testing::Test::HasFailure())
      return;
  }
}

TEST(Maps, InliningKeepsValues) {
  expectUnchanged([](const Program &program, const Definition &, const Expr &body) {
    return inlineAll(program, body);
  });
}

TEST(Maps, SimplifyingIndicesKeepsValues) {
  expectUnchanged([](const Program &program, const Definition &definition, const Expr &body) {
    return simplifyIndices(body, definition.ranges(),
                           [&](ValueId value) { return program.shape(value); });
  });
}

TEST(Maps, InliningThenSimplifyingKeepsValues) {
  expectUnchanged([](const Program &program, const Definition &definition, const Expr &body) {
    return simplifyIndices(inlineAll(program, body), definition.ranges(),
                           [&](ValueId value) { return program.shape(value); });
  });
}

TEST(Maps, RewritingByNothingIsTheSame) {
  expectUnchanged([](const Program &, const Definition &, const Expr &body) {
    Expr same = rewrite(body, [](const Expr &expr) { return expr; });
    EXPECT_TRUE(same == body);
    return same;
  });
}

TEST(Maps, RewritingReachesFillsAndGathers) {
  Program program = parsed("input x[4] f32\ninput t[4] i64\n"
                           "y[i:4] f32 = (x[t[i]] | x[i]) + x[0]\noutput y");
  unsigned reads = 0;
  rewrite(lastBody(program), [&](const Expr &expr) {
    reads += expr.kind() == ExprKind::Read;
    return expr;
  });
  EXPECT_EQ(reads, 4u);
}

TEST(Maps, WhatIsSharedStaysShared) {
  Expr sum = Expr::read({0}, ElementType::F32, {Index::iterator(0)});
  for (int i = 0; i < 60; ++i)
    sum = sum + sum;
  auto countNodes = [](const Expr &expr) {
    unsigned count = 0;
    expr.walk([&](const Expr &) { ++count; });
    return count;
  };
  EXPECT_EQ(countNodes(sum), 61u);
  EXPECT_EQ(countNodes(substitute(sum, {Index::iterator(0) * 2})), 61u);
  EXPECT_EQ(countNodes(simplifyIndices(sum, {Interval{0, 3}}, nullptr)), 61u);
  Expr negated = rewrite(sum, [](const Expr &e) {
    return e.kind() == ExprKind::Read ? Expr::unary(UnaryOp::Neg, e) : e;
  });
  EXPECT_EQ(countNodes(negated), 62u);
  EXPECT_TRUE(negated.uses(0));
  EXPECT_FALSE(negated.uses(1));
}

TEST(Maps, SubstitutingPermutedIteratorsTransposes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program = randomProgram(seed);
    auto *definition = std::get_if<Definition>(&program.nodes.back());
    if (!definition || definition->reduction || definition->parallel.size() != 2)
      continue;
    program.outputs = {{"y", definition->results[0]}};
    std::vector<ExactTensor> inputs = randomInputs(program, seed);
    ExactTensor plain = evaluated(program, inputs)[0];
    Definition transposed = *definition;
    std::swap(transposed.parallel[0], transposed.parallel[1]);
    transposed.bodies[0] =
        substitute(transposed.bodies[0], {Index::iterator(1), Index::iterator(0)});
    ValueId result = program.define("transposed", plain.type, transposed);
    program.outputs = {{"y", result}};
    ExactTensor turned = evaluated(program, inputs)[0];
    int64_t rows = plain.shape[0], columns = plain.shape[1];
    for (int64_t i = 0; i < rows * columns; ++i) {
      int64_t from = (i % rows) * columns + i / rows;
      if (isFloat(plain.type) && !std::isnan(plain.floats[from]))
        ASSERT_EQ(turned.floats[i], plain.floats[from]);
      if (!isFloat(plain.type))
        ASSERT_EQ(turned.integers[i], plain.integers[from]);
    }
  }
}

TEST(Maps, SimplifyingDropsAFillThatIsNeverReached) {
  Program program = parsed("input x[12] f32\ny[i:3, j:4] f32 = (x[4*i+j] | 0)\n"
                           "z[i:3, j:4] f32 = (x[4*i+j+1] | 0)\n");
  auto simplified = [&](uint32_t node) {
    const auto &definition = std::get<Definition>(program.nodes[node]);
    return simplifyIndices(definition.bodies[0], definition.ranges(),
                           [&](ValueId value) { return program.shape(value); });
  };
  EXPECT_EQ(simplified(0).readFill(), nullptr);
  EXPECT_NE(simplified(1).readFill(), nullptr);
}

} // namespace
} // namespace kintsugi::te
