// f32 values stored in fewer bits: what is, what is not, and what bodies then read.

#include "simplify/store_narrow.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "simplify/simplify.h"
#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <random>

namespace kintsugi::simplify {
namespace {

using namespace te;

class StoreNarrow : public testing::Test {
protected:
  /// The program that `text` becomes, as the pipeline has it. `seen`: the greatest magnitudes of
  /// some values.
  void store(const std::string &text, ElementType narrow = ElementType::F16,
             const std::map<std::string, double> &seen = {}) {
    Program before = simplify(parsed(text));
    std::vector<double> greatest(before.numValues());
    for (auto [magnitude, value] : llvm::zip(greatest, before.values))
      if (auto found = seen.find(value.name); found != seen.end())
        magnitude = found->second;
    program = simplify(storeNarrow(before, narrow, {greatest, {}}, &log));
    Status status = program.verify();
    ASSERT_TRUE(status.ok()) << status.error().message;
    std::string once = printProgram(program);
    EXPECT_EQ(once, printProgram(parsed(once)));
  }

  std::string definitionOf(const std::string &name) const {
    for (uint32_t node = 0; node < program.nodes.size(); ++node)
      if (program.value(program.resultsOf(node)[0]).name == name)
        return printNode(program, node);
    return "there is no '" + name + "'";
  }

  ElementType typeOf(const std::string &name) const {
    auto found =
        llvm::find_if(program.values, [&](const Value &value) { return value.name == name; });
    return found == program.values.end() ? ElementType::Invalid : found->type;
  }

  Program program;
  explain::Log log;
};

TEST_F(StoreNarrow, CopiesAheadOfWhatRepeats) {
  store("input x[2, 70, 64] f32\ninput q[8, 64] f32\n"
        "c[g:2, j:71, r:64] = cases { j < 70: x[g, j, r]; else: 0 }\n"
        "k[h:8, j:71, r:64] = c[h//4, j, r]\n"
        "s[h:8, j:71] = sum[r:64] q[h, r] * k[h, j, r]\n"
        "output c\noutput s\n");
  EXPECT_EQ(typeOf("c"), ElementType::F32);
  EXPECT_EQ(definitionOf("c.f16"), "c.f16[i0:2, i1:71, i2:64] f16 = stored f16(c[i0, i1, i2])");
  EXPECT_EQ(definitionOf("k"), "k[h:8, j:71, r:64] f16 = c.f16[h//4, j, r]");
}

TEST_F(StoreNarrow, CopiesHaveNoMoreThanIsRead) {
  store("input x[3, 64] f32\nconst w[64, 40, 9] f32 = weights(\"w\")\n"
        "y[i:3, o:40] = sum[k:64, r:2] x[i, k] * w[k, o, r+4]\n"
        "z[i:3, o:40] = sum[k:64] x[i, k] * w[k, o, 6]\noutput y\noutput z\n");
  EXPECT_EQ(definitionOf("w.f16"), "w.f16[i0:64, i1:40, i2:3] f16 = stored f16(w[i0, i1, i2+4])");
  EXPECT_NE(definitionOf("y").find("w.f16[k, o, r]"), std::string::npos) << definitionOf("y");
  EXPECT_NE(definitionOf("z").find("w.f16[k, o, 2]"), std::string::npos) << definitionOf("z");
  // With more than half of it, or with data beyond it, the copy is whole.
  store("input x[3, 64] f32\nconst w[64, 40] f32 = weights(\"w\")\n"
        "const v[64, 40] f32 = weights(\"v\")\n"
        "y[i:3, o:24] = sum[k:64] x[i, k] * w[k, o+9]\n"
        "z[i:3, o:4] = sum[k:64] x[i, k] * (v[k, o-2] | 0)\noutput y\noutput z\n");
  EXPECT_EQ(definitionOf("w.f16"), "w.f16[i0:64, i1:40] f16 = stored f16(w[i0, i1])");
  EXPECT_EQ(definitionOf("v.f16"), "v.f16[i0:64, i1:40] f16 = stored f16(v[i0, i1])");
}

TEST_F(StoreNarrow, AChainOfProducts) {
  store("input x[2, 4] f32\n"
        "const k[3, 4] f32 = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n"
        "const b[3] f32 = [1, 2, 3]\n"
        "const l[3, 5] f32 = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]\n"
        "t[n:2, o:3] = sum[c:4] x[n, c] * k[o, c]\n"
        "y[n:2, o:3] = max(t[n, o] + b[o], 0)\n"
        "z[n:2, p:5] = sum[o:3] y[n, o] * l[o, p]\n"
        "output z\n");
  EXPECT_EQ(definitionOf("x.f16"), "x.f16[i0:2, i1:4] f16 = stored f16(x[i0, i1])");
  EXPECT_EQ(definitionOf("k.f16"), "k.f16[i0:3, i1:4] f16 = stored f16(k[i0, i1])");
  EXPECT_EQ(definitionOf("t"),
            "t[n:2, o:3] f32 = sum<f32>[c:4] f32(x.f16[n, c]) * f32(k.f16[o, c])");
  EXPECT_EQ(definitionOf("y"), "y[n:2, o:3] f16 = stored f16(max(t[n, o] + b[o], 0))");
  EXPECT_EQ(definitionOf("z"), "z[n:2, p:5] f32 = sum<f32>[o:3] f32(y[n, o]) * f32(l.f16[o, p])");
}

TEST_F(StoreNarrow, ASumThatSeveralReadIsRoundedAtItsEnd) {
  store("input x[2, 4] f32\ninput k[3, 4] f32\n"
        "t[n:2, o:3] = sum[c:4] x[n, c] * k[o, c]\n"
        "y[n:2, o:3] = tanh(t[n, o]) + t[n, 0]\n"
        "z[n:2, o:3] = t[n, o] + 1\n"
        "output y\noutput z\n");
  EXPECT_EQ(definitionOf("t"),
            "t[n:2, o:3] f16 = sum<f32>[c:4] f32(x.f16[n, c]) * f32(k.f16[o, c])");
  EXPECT_EQ(definitionOf("z"), "z[n:2, o:3] f32 = f32(t[n, o]) + 1");
}

TEST_F(StoreNarrow, StatisticsStay) {
  store("input x[4, 96] f32\n"
        "h[i:4, j:96] = tanh(x[i, j])\n"
        "s[i:4] = sum[j:96] h[i, j]\n"
        "m[i:4] = s[i] / 96\n"
        "d[i:4, j:96] = h[i, j] - m[i]\n"
        "q[i:4, j:96] = d[i, j] * d[i, j]\n"
        "v[i:4] = sum[j:96] q[i, j]\n"
        "r[i:4] = 1 / sqrt(v[i] / 96 + 1e-5)\n"
        "n[i:4, j:96] = d[i, j] * r[i]\n"
        "y[i:4, j:96] = n[i, j] + n[i, 0]\n"
        "output y\n");
  for (const char *name : {"s", "m", "q", "v", "r", "y"})
    EXPECT_EQ(typeOf(name), ElementType::F32) << name;
  for (const char *name : {"h", "d", "n"})
    EXPECT_EQ(typeOf(name), ElementType::F16) << name;
}

/// However few elements it is of: exp(x - m) overflows where x is not rounded as m is.
TEST_F(StoreNarrow, TheMaximumOfAWholeDimensionStays) {
  store("input x[4, 12] f32\n"
        "h[i:4, j:12] = tanh(x[i, j])\n"
        "m[i:4] = max[j:12] h[i, j]\n"
        "y[i:4, j:12] = exp(h[i, j] - m[i])\n"
        "output y\n");
  EXPECT_EQ(typeOf("m"), ElementType::F32);
}

TEST_F(StoreNarrow, ASoftmaxIsNarrowWhereItIsDone) {
  store("input x[4, 96] f32\ninput k[96, 8] f32\n"
        "a[i:4, j:96] = x[i, j] * 0.5\n"
        "m[i:4] = max[j:96] a[i, j]\n"
        "e[i:4, j:96] = exp(a[i, j] - m[i])\n"
        "s[i:4] = sum[j:96] e[i, j]\n"
        "p[i:4, j:96] = e[i, j] / s[i]\n"
        "y[i:4, d:8] = sum[j:96] p[i, j] * k[j, d]\n"
        "output y\n");
  EXPECT_EQ(typeOf("m"), ElementType::F32);
  EXPECT_EQ(typeOf("s"), ElementType::F32);
  EXPECT_EQ(definitionOf("p"), "p[i:4, j:96] f16 = stored f16(f32(e[i, j]) / s[i])");
  EXPECT_EQ(definitionOf("y"), "y[i:4, d:8] f32 = sum<f32>[j:96] f32(p[i, j]) * f32(k.f16[j, d])");
}

TEST_F(StoreNarrow, WhatMayLeaveTheRangeStays) {
  std::string text = "input x[4, 4] f32\n"
                     "const mask[4, 4] f32 = [0, -3e38, -3e38, -3e38, 0, 0, -3e38, -3e38, 0, 0, 0, "
                     "-3e38, 0, 0, 0, 0]\n"
                     "h[i:4, j:4] = tanh(x[i, j])\n"
                     "a[i:4, j:4] = h[i, j] + mask[i, j]\n"
                     "b[i:4, j:4] = cases { i < j: -1e9; else: h[i, j] }\n"
                     "c[i:4, j:4] = h[i, j] * h[i, j]\n"
                     "d[i:4, j:4] = exp(h[i, j] * 50)\n"
                     "e[i:4, j:4] = d[i, j] / (d[i, j] + 1)\n"
                     "f[i:4, j:4] = f32{5000*i} + h[i, j]\n"
                     "g[i:4, j:4] = f32{5*i} + h[i, j]\n"
                     "y[i:4, j:4] = a[i, j] + b[i, j] + c[i, j] + d[i, j] + e[i, j] + f[i, j] + "
                     "g[i, j]\n"
                     "z[i:4, j:4] = y[i, j] + a[i, 0] + b[i, 0] + c[i, 0] + d[i, 0] + e[i, 0] + "
                     "f[i, 0] + g[i, 0]\n"
                     "output z\n";
  store(text);
  for (const char *name : {"a", "b", "c", "d", "f", "y"})
    EXPECT_EQ(typeOf(name), ElementType::F32) << name;
  for (const char *name : {"h", "e", "g"})
    EXPECT_EQ(typeOf(name), ElementType::F16) << name;
  EXPECT_EQ(typeOf("mask.f16"), ElementType::Invalid);
  store(text, ElementType::BF16);
  for (const char *name : {"h", "e", "g", "a", "b"})
    EXPECT_EQ(typeOf(name), ElementType::BF16) << name << ": bf16 has the range of f32";
}

TEST_F(StoreNarrow, ScoresUnderAMaskThatIsAnInputStay) {
  std::string text = "input x[4, 8] f32\ninput mask[8] f32\n"
                     "h[i:4, j:8] = tanh(x[i, j])\n"
                     "a[i:4, j:8] = h[i, j] * 0.5 + mask[j]\n"
                     "b[i:4, j:8] = h[i, j] * mask[j]\n"
                     "m[i:4] = max<f32>[j:8] a[i, j]\n"
                     "n[i:4] = max<f32>[j:8] b[i, j]\n"
                     "e[i:4, j:8] = exp(a[i, j] - m[i]) + exp(b[i, j] - n[i])\n"
                     "y[i:4, j:8] = e[i, j] + e[i, 0] + a[i, 0] + b[i, 0]\n"
                     "output y\n";
  for (ElementType narrow : {ElementType::F16, ElementType::BF16}) {
    store(text, narrow);
    EXPECT_EQ(typeOf("a"), ElementType::F32);
    EXPECT_EQ(typeOf("b"), narrow) << "what is multiplied hides nothing";
    EXPECT_EQ(typeOf("h"), narrow);
  }
}

TEST_F(StoreNarrow, LinearAttentionStaysUntilItIsScaledBack) {
  store("input x[16, 8] f32\n"
        "q[i:16, c:8] = max(x[i, c], 0)\n"
        "k[c:8, d:8] = sum[i:16] q[i, c] * x[i, d]\n"
        "n[i:16, d:8] = sum[c:8] q[i, c] * k[c, d]\n"
        "y[i:16, d:8] = n[i, d] / (n[i, 0] + 1)\n"
        "z[i:16, d:8] = y[i, d] + y[i, 0]\n"
        "output z\n");
  EXPECT_EQ(typeOf("q"), ElementType::F16);
  EXPECT_EQ(typeOf("n"), ElementType::F32) << "a product of three values";
  EXPECT_EQ(typeOf("y"), ElementType::F16);
}

TEST_F(StoreNarrow, LongSumsOfProductsOfValuesStay) {
  for (auto [tokens, type] : {std::pair("200", ElementType::F16), {"2000", ElementType::F32}}) {
    std::string n = tokens;
    store("input x[" + n + ", 8] f32\n" + "q[i:" + n + ", c:8] = max(x[i, c], 0)\n" +
          "k[c:8, d:8] = sum[i:" + n + "] q[i, c] * x[i, d]\n" +
          "y[c:8, d:8] = k[c, d] + k[d, c]\n" + "output y\n");
    EXPECT_EQ(typeOf("k"), type) << tokens;
  }
}

TEST_F(StoreNarrow, WhatIntegersAreMadeFromStays) {
  store("input x[4, 8] f32\ninput table[9, 3] f32\n"
        "a[i:4, j:8] = abs(x[i, j]) * 2\n"
        "b[i:4, j:8] = a[i, j] + 1\n"
        "k[i:4] i64 = i64(b[i, 0])\n"
        "c[i:4, d:3] = table[{min(k[i], 8)}, d]\n"
        "t[i:4, j:8] = x[i, j] + 1\n"
        "m[i:4, j:8] bool = t[i, j] < 0\n"
        "y[i:4, d:3] = cases { m[i, 0]: c[i, d]; else: b[i, d] }\n"
        "output y\n");
  for (const char *name : {"a", "b", "t"})
    EXPECT_NE(typeOf(name), ElementType::F16) << name;
}

TEST_F(StoreNarrow, AnglesStay) {
  store("input x[2, 96] f32\n"
        "const k[64, 96] f32 = weights(\"k\")\n"
        "h[i:2, j:96] = tanh(x[i, j])\n"
        "a[i:2, j:96, f:8] = h[i, j] * 512\n"
        "s[i:2, j:96, f:8] = sin(a[i, j, f])\n"
        "p[i:2, j:64] = sum[r:96] s[i, r, 1] * k[j, r]\n"
        "output p\n");
  EXPECT_EQ(typeOf("h"), ElementType::F32);
  EXPECT_EQ(typeOf("a"), ElementType::F32);
  EXPECT_EQ(typeOf("s"), ElementType::F16);
}

TEST_F(StoreNarrow, WhatOnlyMovesElementsMovesThemAsTheyAre) {
  store("input x[4, 8] f32\n"
        "h[i:4, j:8] = tanh(x[i, j])\n"
        "p[i:6, j:8] = (h[i-1, j] | -inf)\n"
        "c[i:10, j:8] = cases { i < 6: p[i, j]; else: h[i-6, j] }\n"
        "s[i:4, j:8] = (h[i-1, j] | -1e9) + 1\n"
        "y[i:4, j:8] = c[i, j] + c[2*i, j] + s[i, j]\n"
        "output y\n");
  EXPECT_EQ(typeOf("h"), ElementType::F32) << "f16 has no -1e9";
  store("input x[4, 8] f32\n"
        "h[i:4, j:8] = x[i, j] + 1\n"
        "p[i:6, j:8] = (h[i-1, j] | -inf)\n"
        "c[i:10, j:8] = cases { i < 6: p[i, j]; else: h[i-6, j] }\n"
        "y[i:4, j:8] = c[i, j] + c[2*i, j]\n"
        "output y\n");
  EXPECT_EQ(definitionOf("p"), "p[i:6, j:8] f16 = (h[i-1, j] | -inf)");
  EXPECT_EQ(definitionOf("c"), "c[i:10, j:8] f16 = cases { i < 6: p[i, j]; else: h[i-6, j] }");
}

TEST_F(StoreNarrow, OtherTypesAndWhatTheModelRoundsItselfStay) {
  std::string text = "input x[4, 8] f64\ninput h[4, 8] f16\ninput n[4, 8] i32\n"
                     "a[i:4, j:8] f64 = tanh(x[i, j])\n"
                     "b[i:4, j:8] f16 = f16(f32(h[i, j]) * 3)\n"
                     "c[i:4, j:8] i32 = n[i, j] + 1\n"
                     "d[i:4, j:8] f64 = a[i, j] + f64(b[i, j]) + f64(c[i, j])\n"
                     "output d\n";
  store(text);
  EXPECT_EQ(printProgram(program), printProgram(simplify(parsed(text))));
}

TEST_F(StoreNarrow, ScansCarryF32AndReadWhatTheyCaptureAsItIsStored) {
  store("input x[6, 96] f32\ninput h0[96] f32\n"
        "const k[96, 96] f32 = weights(\"k\")\n"
        "t[i:6, j:96] = tanh(x[i, j])\n"
        "(last[96] f32, all[6, 96] f32) = scan[6] carry(h0) capture(t, k) {\n"
        "  input step[] i64\n"
        "  input h[96] f32\n"
        "  input x[6, 96] f32\n"
        "  input k[96, 96] f32\n"
        "  s[j:96] = sum[c:96] h[c] * k[j, c]\n"
        "  next[j:96] = tanh(s[j] + x[step[], j])\n"
        "  output next\n"
        "  output next as \"stacked\"\n"
        "}\n"
        "output last\noutput all\n");
  const Scan *scan = nullptr;
  for (const Node &node : program.nodes)
    if (const auto *found = std::get_if<Scan>(&node))
      scan = found;
  ASSERT_TRUE(scan);
  EXPECT_EQ(program.value(scan->captured[0]).type, ElementType::F16);
  EXPECT_EQ(program.value(scan->captured[1]).name, "k.f16");
  EXPECT_EQ(printNode(*scan->body, 0), "s[j:96] f32 = sum<f32>[c:96] h[c] * f32(k[j, c])");
  EXPECT_EQ(typeOf("last"), ElementType::F32);
}

TEST_F(StoreNarrow, TheLogSaysWhatBecameOfEachValue) {
  store("input x[2, 96] f32\n"
        "h[i:2, j:96] = tanh(x[i, j])\n"
        "s[i:2] = sum[j:96] h[i, j]\n"
        "y[i:2, j:96] = h[i, j] / s[i]\n"
        "output y\n");
  std::map<std::string, explain::Record> found;
  for (const explain::Record &record : log.records())
    found[record.subject] = record;
  EXPECT_EQ(found["value 'h'"].decision, "stored as f16");
  EXPECT_EQ(found["value 's'"].decision, "stays f32");
  EXPECT_EQ(found["value 's'"].reasons,
            std::vector<std::string>{"it is a statistic of other values"});
}

const std::string twoProducts = "input x[2, 64] f32\n"
                                "const k[96, 64] f32 = weights(\"k\")\n"
                                "const l[32, 96] f32 = weights(\"l\")\n"
                                "h[i:2, j:96] = sum[r:64] x[i, r] * k[j, r]\n"
                                "a[i:2, j:96] = max(0, h[i, j])\n"
                                "b[i:2, j:96] = a[i, j] + tanh(h[i, j])\n"
                                "y[i:2, j:32] = sum[r:96] b[i, r] * l[j, r]\n"
                                "z[i:2, j:32] = y[i, j] * 0.5 + 1\n"
                                "output z\n";

TEST_F(StoreNarrow, WhatStaysInTheRangeIsNotDivided) {
  store(twoProducts);
  std::string plain = printProgram(program);
  store(twoProducts, ElementType::F16, {{"h", 4000}, {"b", 4000}, {"y", 4000}});
  EXPECT_EQ(printProgram(program), plain);
  store(twoProducts, ElementType::BF16);
  plain = printProgram(program);
  store(twoProducts, ElementType::BF16, {{"h", 1e6}, {"b", 1e6}, {"y", 1e6}});
  EXPECT_EQ(printProgram(program), plain);
}

TEST_F(StoreNarrow, WhatLeavesTheRangeIsDividedAndProductsLeaveThePowerOut) {
  store(twoProducts, ElementType::F16, {{"h", 1e6}, {"a", 1e6}, {"b", 1e6}, {"y", 1e6}});
  // 2^12 is what brings a million to at most 256.
  EXPECT_EQ(definitionOf("h.sum"),
            "h.sum[i:2, j:96] f32 = sum<f32>[r:64] f32(x.f16[i, r]) * f32(k.f16[j, r])");
  EXPECT_EQ(definitionOf("h"), "h[i:2, j:96] f16 = stored f16(h.sum[i, j] * 0.00024414062)");
  EXPECT_EQ(typeOf("b"), ElementType::F16);
  EXPECT_EQ(definitionOf("y"), "y[i:2, j:32] f32 = sum<f32>[r:96] f32(b[i, r]) * f32(l.f16[j, r])");
  EXPECT_EQ(definitionOf("z"), "z[i:2, j:32] f32 = (y[i, j] * 0.5 + 0.00024414062) * 4096");
}

TEST_F(StoreNarrow, CopiesOfInputsAreDividedOrMultiplied) {
  store(twoProducts, ElementType::F16, {{"x", 1e6}});
  EXPECT_EQ(definitionOf("x.f16"),
            "x.f16[i0:2, i1:64] f16 = stored f16(x[i0, i1] * 0.00024414062)");
  store(twoProducts, ElementType::F16, {{"x", 0x1p-20}});
  EXPECT_EQ(definitionOf("x.f16"), "x.f16[i0:2, i1:64] f16 = stored f16(x[i0, i1] * 1048576)");
}

TEST_F(StoreNarrow, WhatIsTinyStays) {
  store(twoProducts, ElementType::F16, {{"h", 1}, {"a", 1}, {"b", 0x1p-12}, {"y", 1}});
  EXPECT_EQ(typeOf("b"), ElementType::F16);
  store(twoProducts, ElementType::F16, {{"h", 1}, {"a", 1}, {"b", 0x1p-14}, {"y", 1}});
  EXPECT_EQ(typeOf("b"), ElementType::F32);
  EXPECT_EQ(typeOf("b.f16"), ElementType::Invalid);
}

TEST_F(StoreNarrow, AScanReadsWhatItCapturesUndivided) {
  store("input x[64, 128] f32\n"
        "input h0[8, 64] f32\n"
        "const w[64, 128] f32 = weights(\"w\")\n"
        "m[i:64, j:64] = sum[k:128] x[i, k] * w[j, k]\n"
        "(last[8, 64] f32) = scan[3] carry(h0) capture(m) {\n"
        "  input step[] i64\n"
        "  input h[8, 64] f32\n"
        "  input m[64, 64] f32\n"
        "  n[i:8, j:64] = sum[k:64] h[i, k] * m[k, j]\n"
        "  output n\n"
        "}\n"
        "output last\n",
        ElementType::F16, {{"m", 1e6}});
  EXPECT_EQ(typeOf("m"), ElementType::F32);
  EXPECT_EQ(typeOf("m.f16"), ElementType::Invalid);
}

/// Of which many ask for a power of two, or for f32.
std::vector<double> someMagnitudes(const Program &program, uint64_t seed) {
  constexpr double choices[] = {0, 1e-9, 1, 1e5, 3e9, 1e20};
  std::mt19937_64 random(seed);
  std::vector<double> magnitudes(program.numValues());
  for (double &magnitude : magnitudes)
    magnitude = choices[random() % std::size(choices)];
  return magnitudes;
}

TEST_F(StoreNarrow, WhatIsKeptReadsAndStoresF32) {
  Program before = simplify(parsed("input x[8, 64] f32\n"
                                   "const w[96, 64] f32 = weights(\"w\")\n"
                                   "const v[96, 96] f32 = weights(\"v\")\n"
                                   "a[i:8, j:96] = sum[k:64] x[i, k] * w[j, k]\n"
                                   "b[i:8, j:96] = tanh(a[i, j])\n"
                                   "c[i:8, j:96] = sum[k:96] b[i, k] * v[j, k]\n"
                                   "d[i:8, j:96] = sum[k:96] b[i, k] * v[k, j]\n"
                                   "output c\noutput d\n"));
  auto kept = [&](llvm::ArrayRef<const char *> names) {
    std::vector<bool> nodes(before.nodes.size());
    for (uint32_t node = 0; node < nodes.size(); ++node)
      nodes[node] = llvm::is_contained(names, before.value(before.resultsOf(node)[0]).name);
    return nodes;
  };
  auto definitionsWith = [&](llvm::ArrayRef<const char *> names) {
    program = storeNarrow(before, ElementType::F16, {{}, kept(names)});
    return std::vector<std::string>{definitionOf("a"), definitionOf("b"), definitionOf("c"),
                                    definitionOf("d")};
  };
  std::vector<std::string> all = definitionsWith({});
  EXPECT_EQ(all[0], "a[i:8, j:96] f32 = sum<f32>[k:64] f32(x.f16[i, k]) * f32(w.f16[j, k])");
  EXPECT_EQ(all[1], "b[i:8, j:96] f16 = stored f16(tanh(a[i, j]))");
  EXPECT_EQ(all[2], "c[i:8, j:96] f32 = sum<f32>[k:96] f32(b[i, k]) * f32(v.f16[j, k])");
  // What is not kept reads the results of what is as copies.
  std::vector<std::string> first = definitionsWith({"a", "b"});
  EXPECT_EQ(first[0], "a[i:8, j:96] f32 = sum<f32>[k:64] x[i, k] * w[j, k]");
  EXPECT_EQ(first[1], "b[i:8, j:96] f32 = tanh(a[i, j])");
  EXPECT_EQ(first[2], "c[i:8, j:96] f32 = sum<f32>[k:96] f32(b.f16[i, k]) * f32(v.f16[j, k])");
  std::vector<std::string> one = definitionsWith({"c"});
  EXPECT_EQ(one[2], "c[i:8, j:96] f32 = sum<f32>[k:96] f32(b[i, k]) * v[j, k]");
  EXPECT_EQ(one[3], "d[i:8, j:96] f32 = sum<f32>[k:96] f32(b[i, k]) * f32(v.f16[k, j])");
}

TEST_F(StoreNarrow, WhatIsF32InAnyCaseGetsNoCopyWhereItIsKept) {
  Program before = simplify(parsed("input x[8, 96, 400] f32\n"
                                   "const w[64, 96] f32 = weights(\"w\")\n"
                                   "m[i:8, k:96] = sum[t:400] x[i, k, t]\n"
                                   "y[i:8, j:64] = sum[k:96] m[i, k] * w[j, k]\n"
                                   "p[i:8, k:96] = tanh(m[i, k])\n"
                                   "z[i:8, j:64] = sum[k:96] (p[i, k - 1] | 0.1) * w[j, k]\n"
                                   "output y\noutput z\n"));
  program = storeNarrow(before, ElementType::F16);
  std::string statistic = definitionOf("y"), filled = definitionOf("z");
  std::vector<bool> kept(before.nodes.size());
  for (uint32_t node = 0; node < kept.size(); ++node)
    kept[node] = llvm::is_contained({"m", "p"}, before.value(before.resultsOf(node)[0]).name);
  program = storeNarrow(before, ElementType::F16, {{}, kept});
  EXPECT_EQ(definitionOf("y"), statistic);
  EXPECT_EQ(definitionOf("z"), filled);
  EXPECT_TRUE(program.verify().ok());
}

/// The interpreter rounds nothing on the way, so what it computes must not change at all.
TEST_F(StoreNarrow, RandomProgramsComputeTheSame) {
  unsigned narrowed = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program before = randomProgram(seed);
    std::vector<ExactTensor> inputs = randomInputs(before, seed);
    for (ElementType type : {ElementType::F16, ElementType::BF16}) {
      std::vector<bool> kept(before.nodes.size());
      for (uint32_t node = 0; node < kept.size() && seed % 2; ++node)
        kept[node] = (seed * 31 + node * 7) % 5 < 2;
      Program after = storeNarrow(before, type, {someMagnitudes(before, seed), kept});
      Status status = after.verify();
      ASSERT_TRUE(status.ok()) << status.error().message << "\n" << printProgram(before);
      expectSame(evaluated(after, inputs), evaluated(before, inputs));
      narrowed += printProgram(after).find("stored") != std::string::npos;
    }
  }
  EXPECT_GT(narrowed, 50u);
}

} // namespace
} // namespace kintsugi::simplify
