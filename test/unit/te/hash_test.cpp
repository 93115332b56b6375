#include "te/hash.h"

#include "random_program.h"
#include "te/printer.h"
#include "testing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

namespace kintsugi::te {
namespace {

GroupKey wholeKey(const Program &program, llvm::ArrayRef<ValueId> outputs = {}) {
  return keyOf(program, llvm::to_vector(llvm::seq<uint32_t>(program.nodes.size())), outputs);
}

GroupKey keyOfText(const std::string &text) { return wholeKey(parsed(text)); }

const std::string inputs = "input a[4, 4] f32\ninput b[4, 4] f32\ninput t[4] i64\n"
                           "input flag[] bool\n";

TEST(Hash, NamesDontMatter) {
  EXPECT_EQ(keyOfText(inputs + "y[i:4, j:4] f32 = a[j, i] * 2").text,
            keyOfText("input \"other name\"[4, 4] f32\n"
                      "z[row:4, column:4] f32 = \"other name\"[column, row] * 2")
                .text);
}

TEST(Hash, OrderOfCommutativeTermsDoesNotMatter) {
  for (auto [left, right] : std::vector<std::pair<std::string, std::string>>{
           {"a[i, j] + 2 * b[j, i]", "b[j, i] * 2 + a[i, j]"},
           {"max(a[i, j], exp(b[i, i]))", "max(exp(b[i, i]), a[i, j])"},
           {"a[i, j] * b[i, j]", "b[i, j] * a[i, j]"},
           {"a[{t[i] + t[j] + 1}, i] + 1", "1 + a[{1 + (t[j] + t[i])}, i]"},
           {"f32(a[i, j] == b[i, j] and t[i] != t[j])",
            "f32(t[j] != t[i] and b[i, j] == a[i, j])"}})
    EXPECT_EQ(keyOfText(inputs + "y[i:4, j:4] f32 = " + left).text,
              keyOfText(inputs + "y[i:4, j:4] f32 = " + right).text)
        << left;
}

TEST(Hash, DifferentGroupsDiffer) {
  std::vector<std::string> statements = {
      "y[i:4, j:4] f32 = a[i, j] - b[i, j]",
      "y[i:4, j:4] f32 = a[i, j] - a[i, j]",
      "y[i:4, j:4] f32 = a[j, i] - b[i, j]",
      "y[i:4, j:4] f64 = f64(a[i, j] - b[i, j])",
      "y[i:4, j:3] f32 = a[i, j] - b[i, j]",
      "y[i:4, j:4] f32 = a[i, j] + b[i, j]",
      "y[i:4, j:4] f32 = a[i, j] + 1",
      "y[i:4, j:4] f32 = a[i, j] + 1.5",
      "y[i:4, j:4] f32 = (a[i, j+1] | 0)",
      "y[i:4, j:4] f32 = (a[i, j+1] | 1)",
      "y[i:4, j:4] f32 = a[i, j//2]",
      "y[i:4, j:4] f32 = a[i, j%2]",
      "y[i:4, j:4] f32 = i",
      "y[i:4, j:4] f32 = j",
      "y[i:4] f32 = sum<f32>[k:4] a[i, k]",
      "y[i:4] f32 = sum<f64>[k:4] a[i, k]",
      "y[i:4] f32 = max<f32>[k:4] a[i, k]",
      "y[i:4] f32 = a[i, t[i]]",
      "y[i:4] f32 = a[i, {t[i] + 1}]",
      "(y[4, 2] f32, z[4, 2] i64) = call TopK(a) {\"k\":2}",
      "(y[4, 1] f32, z[4, 1] i64) = call TopK(a) {\"k\":1}",
      "(y[2, 4] f32, z[2, 4] i64) = call TopK(a) {\"k\":2, \"axis\":0}",
      "(y[1] i64, z[1] i64) = call TopK(t) {\"k\":1}",
      "(y[4, 4] f32) = scan[2] carry(a) capture() { input s[] i64 input h[4, 4] f32 output h }",
      "(y[4, 4] f32) = scan[3] carry(a) capture() { input s[] i64 input h[4, 4] f32 output h }",
      "(y[] bool) = scan[1] carry(flag) capture() { input s[] i64 input h[] bool output h }",
      "(y[] bool) = scan[1] while true carry(flag) capture() { input s[] i64 input h[] bool output "
      "h "
      "}",
      "(y[] bool) = scan[1] while false carry(flag) capture() { input s[] i64 input h[] bool "
      "output h "
      "}",
      "(y[4, 4] f32) = scan[2] carry(a) capture() { input s[] i64 input h[4, 4] f32 "
      "n[i:4, j:4] f32 = h[j, i] output n }"};
  std::map<std::string, std::string> seen;
  for (const std::string &statement : statements) {
    GroupKey key = keyOfText(inputs + statement);
    auto [other, isNew] = seen.try_emplace(key.text, statement);
    EXPECT_TRUE(isNew) << statement << "\nis taken for\n" << other->second;
    for (auto &[text, earlier] : seen)
      if (text != key.text)
        EXPECT_NE(hashOf(parsed(inputs + earlier)), hashOf(parsed(inputs + statement)));
  }
}

TEST(Hash, WhatIsKnownOfInputsMatters) {
  std::string y = "\ny[i:4] f32 = a[i]";
  std::vector<std::string> texts = {
      "input a[4] f32" + y, "input a[5] f32" + y, "const a[4] f32 = [1, 2, 3, 4]" + y,
      "input a[4] f32 facts(low=0)" + y, "input a[4] f32 facts(finite)" + y};
  for (size_t i = 0; i < texts.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(keyOfText(texts[i]).text, keyOfText(texts[j]).text) << texts[i] << "\n" << texts[j];
  EXPECT_EQ(keyOfText("const a[4] f32 = [1, 2, 3, 5]" + y).text, keyOfText(texts[2]).text);
}

TEST(Hash, EqualLayersHaveEqualKeysAndCorrespondingInputs) {
  std::string text = "input x[4, 4] f32\n";
  std::string layerInput = "x";
  std::vector<std::vector<uint32_t>> layers;
  for (int layer = 0; layer < 12; ++layer) {
    std::string n = std::to_string(layer);
    text += "const w" + n + "[4, 4] f32 = weights(\"w" + n + "\")\n";
    text += "const b" + n + "[4] f32 = weights(\"b" + n + "\")\n";
    std::string product = "p" + n + "[i:4, j:4] f32 = sum<f32>[k:4] ";
    std::string read = layerInput + "[i, k]", weight = "w" + n + "[k, j]";
    text += product + (layer % 2 ? read + " * " + weight : weight + " * " + read) + "\n";
    text += "y" + n + "[i:4, j:4] f32 = max(p" + n + "[i, j] + b" + n + "[j], 0)\n";
    layers.push_back({uint32_t(2 * layer), uint32_t(2 * layer + 1)});
    layerInput = "y" + n;
  }
  Program program = parsed(text);
  GroupKey first = keyOf(program, layers[0], program.resultsOf(1));
  ASSERT_EQ(first.inputs.size(), 3u);
  for (size_t layer = 1; layer < layers.size(); ++layer) {
    GroupKey key = keyOf(program, layers[layer], program.resultsOf(2 * layer + 1));
    EXPECT_EQ(key.text, first.text);
    EXPECT_EQ(key.hash, first.hash);
    for (size_t k = 0; k < 3; ++k) {
      std::string mine = program.value(key.inputs[k]).name;
      std::string theirs = program.value(first.inputs[k]).name;
      EXPECT_EQ(mine[0] == 'y' ? 'x' : mine[0], theirs[0]);
    }
  }
  EXPECT_NE(keyOf(program, layers[0], program.resultsOf(0)).text, first.text);
}

TEST(Hash, InputsAreToldApartByTheirUses) {
  // The product alone can't tell a from b; the difference can.
  GroupKey one = keyOfText(inputs + "p[i:4, j:4] f32 = a[i, j] * b[i, j]\n"
                                    "q[i:4, j:4] f32 = p[i, j] - a[i, j]");
  GroupKey two = keyOfText(inputs + "p[i:4, j:4] f32 = b[i, j] * a[i, j]\n"
                                    "q[i:4, j:4] f32 = p[i, j] - a[i, j]");
  GroupKey three = keyOfText(inputs + "p[i:4, j:4] f32 = a[i, j] * b[i, j]\n"
                                      "q[i:4, j:4] f32 = p[i, j] - b[i, j]");
  EXPECT_EQ(one.text, two.text);
  EXPECT_EQ(one.text, three.text);
  EXPECT_EQ(one.inputs, two.inputs);
  EXPECT_EQ(one.inputs, (llvm::SmallVector<ValueId>{three.inputs[1], three.inputs[0]}));
}

TEST(Hash, OrderOfIndependentNodesDoesNotMatter) {
  std::string first = "u[i:4] f32 = sum<f32>[k:4] a[i, k]\n", second = "v[i:4] f32 = b[i, t[i]]\n";
  std::string last = "y[i:4] f32 = u[i] / v[i]";
  GroupKey one = keyOfText(inputs + first + second + last);
  GroupKey two = keyOfText(inputs + second + first + last);
  EXPECT_EQ(one.text, two.text);
  EXPECT_EQ(one.nodes[2], 2u);
}

TEST(Hash, ProgramsAreToldByInputPositionsConstantsAndOutputs) {
  std::string body = "y[i:4] f32 = a[i] - b[i]\nz[i:4] f32 = -y[i]\n";
  std::string ab = "input a[4] f32\ninput b[4] f32\n", ba = "input b[4] f32\ninput a[4] f32\n";
  Program plain = parsed(ab + body + "output y\noutput z");
  EXPECT_TRUE(equivalent(plain, parsed(ab + body + "output y as one\noutput z as two")));
  EXPECT_FALSE(equivalent(plain, parsed(ba + body + "output y\noutput z")));
  EXPECT_FALSE(equivalent(plain, parsed(ab + body + "output z\noutput y")));
  EXPECT_FALSE(equivalent(plain, parsed(ab + body + "output y")));
  Program one = parsed("const k[2] f32 = [1, 2]\noutput k");
  EXPECT_FALSE(equivalent(one, parsed("const k[2] f32 = [1, 3]\noutput k")));
  EXPECT_TRUE(equivalent(one, parsed("const m[2] f32 = [1, 2]\noutput m")));
  EXPECT_EQ(hashOf(one), hashOf(parsed("const m[2] f32 = [1, 2]\noutput m")));
}

TEST(Hash, SharedExpressionsAreWrittenOnce) {
  Program program;
  ValueId x = program.addInput("x", ElementType::F32, {2});
  auto doubled = [&](int times) {
    Expr sum = Expr::read(x, ElementType::F32, {Index::iterator(0)});
    for (int i = 0; i < times; ++i)
      sum = sum + sum;
    return sum;
  };
  EXPECT_LT(canonicalText(doubled(60)).size(), 2000u);
  EXPECT_TRUE(equivalent(doubled(60), doubled(60)));
  EXPECT_FALSE(equivalent(doubled(60), doubled(59)));
  // Sharing is not part of what is compared.
  Expr once = doubled(0);
  EXPECT_TRUE(equivalent(doubled(0) + doubled(0), once + once));
}

/// Swaps the operands of commutative operations by chance.
Expr shuffled(const Expr &expr, Chance &chance) {
  return rewrite(expr, [&](const Expr &e) {
    if (e.kind() != ExprKind::Binary || chance.oneIn(2))
      return e;
    switch (e.binaryOp()) {
    case BinaryOp::Add:
    case BinaryOp::Mul:
    case BinaryOp::Max:
    case BinaryOp::And:
    case BinaryOp::Equal:
      return Expr::binary(e.binaryOp(), e.operand(1), e.operand(0));
    default:
      return e;
    }
  });
}

TEST(Hash, ShuffledRandomProgramsAreEquivalent) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Program program = randomProgram(seed), other = program;
    Chance chance(seed);
    bool changed = false;
    for (Node &node : other.nodes)
      if (auto *definition = std::get_if<Definition>(&node))
        for (Expr &body : definition->bodies) {
          Expr turned = shuffled(body, chance);
          EXPECT_EQ(hashOf(turned), hashOf(body));
          EXPECT_TRUE(equivalent(turned, body));
          changed |= !(turned == body);
          body = turned;
        }
    EXPECT_TRUE(equivalent(program, other)) << "seed " << seed;
    EXPECT_EQ(wholeKey(program).text, wholeKey(other).text) << "seed " << seed;
    EXPECT_EQ(changed, printProgram(program) != printProgram(other));
  }
}

TEST(Hash, RandomProgramsDiffer) {
  std::map<std::string, std::string> byCanonical, byText;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Program program = randomProgram(seed);
    byCanonical[hashOf(program).str()] = canonicalText(program);
    byText[canonicalText(program)] = printProgram(program);
  }
  EXPECT_EQ(byCanonical.size(), byText.size());
  EXPECT_GT(byText.size(), 450u);
}

TEST(Hash, NodesOfOneProgramByWhatTheyRead) {
  Program program = parsed(inputs + "x[i:4, j:4] f32 = a[i, j] + b[i, j]\n"
                                    "y[r:4, c:4] f32 = b[r, c] + a[r, c]\n"
                                    "z[i:4, j:4] f32 = a[i, j] + a[i, j]\n");
  EXPECT_EQ(canonicalText(program, 0), canonicalText(program, 1));
  EXPECT_NE(canonicalText(program, 0), canonicalText(program, 2));
  EXPECT_EQ(hashOf(program, 0), hashOf(program, 1));
}

} // namespace
} // namespace kintsugi::te
