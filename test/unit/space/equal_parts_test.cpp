// Values and nodes of equal programs have numbers that hold for all of them.

#include "space/equal_parts.h"

#include "../te/testing.h"
#include "te/constant.h"

namespace kintsugi::space {
namespace {

using namespace te;

ValueId named(const Program &program, const std::string &name) {
  for (uint32_t number = 0; number < program.numValues(); ++number)
    if (program.values[number].name == name)
      return {number};
  ADD_FAILURE() << "no value " << name;
  return {0};
}

TEST(EqualParts, AreFoundByWhatIsComputed) {
  Program a = parsed("input x[i:4] f32\ny[i:4] f32 = exp(x[i])\nz[i:4] f32 = y[i] + 1\noutput z\n");
  Program b = parsed("input v[i:4] f32\nu[k:4] f32 = exp(v[k])\nz[i:4] f32 = u[i] + 2\noutput z\n");
  EqualParts parts;
  parts.add(a);
  parts.add(b);
  EXPECT_EQ(parts.numPrograms(), 2u);
  EXPECT_EQ(parts.valueOf(0, named(a, "y")), parts.valueOf(1, named(b, "u")));
  EXPECT_NE(parts.valueOf(0, named(a, "z")), parts.valueOf(1, named(b, "z")));
  EXPECT_EQ(parts.nodeOf(0, 0), parts.nodeOf(1, 0));
  EXPECT_TRUE(parts.hasNode(1, parts.nodeOf(0, 0)));
  EXPECT_FALSE(parts.hasNode(1, parts.nodeOf(0, 1)));
}

TEST(EqualParts, AreFoundByWhatProgramsSay) {
  Program a = parsed("input x[i:4] f32\ny[i:4] f32 = x[i] * 2\noutput y\n"), b = a;
  b = parsed("input x[i:4] f32\nt[i:4] f32 = x[i] + x[i]\noutput t\n");
  ValueId y = named(a, "y"), t = named(b, "t");
  a.value(y).original = b.value(t).original = Original{7, {}};
  EqualParts parts;
  parts.add(a);
  parts.add(b);
  EXPECT_EQ(parts.valueOf(0, y), parts.valueOf(1, t));
  EXPECT_NE(parts.nodeOf(0, 0), parts.nodeOf(1, 0));
}

TEST(EqualParts, KnowOfAValueWhatAnyProgramSays) {
  Program a = parsed("input x[i:4] f32\ny[i:4] f32 = x[i] * 2\noutput y\n"), b = a;
  b.value(named(b, "y")).original = Original{7, {}};
  EqualParts parts;
  parts.add(a);
  EXPECT_FALSE(parts.originalOf(parts.valueOf(0, named(a, "y"))));
  parts.add(b);
  ASSERT_TRUE(parts.originalOf(parts.valueOf(0, named(a, "y"))));
  EXPECT_EQ(parts.originalOf(parts.valueOf(0, named(a, "y")))->value, 7u);
}

/// Its digest must not be asked for.
class LargeConstant : public ConstantSource {
public:
  Status load(std::byte *) const override { return internalError("loaded"); }
  std::string identity() const override {
    ADD_FAILURE() << "the digest of a large constant was asked for";
    return "";
  }
};

TEST(EqualParts, CompareSmallConstantsByWhatTheyHold) {
  auto text = [](const std::string &element) {
    return parsed("const c[k:2] f32 = [1, " + element + "]\ny[i:2] f32 = c[i]\noutput y\n");
  };
  Program a = text("2"), b = text("2"), c = text("3");
  EqualParts parts;
  for (const Program *program : {&a, &b, &c})
    parts.add(*program);
  EXPECT_EQ(parts.valueOf(0, named(a, "c")), parts.valueOf(1, named(b, "c")));
  EXPECT_NE(parts.valueOf(0, named(a, "c")), parts.valueOf(2, named(c, "c")));
}

TEST(EqualParts, KeepEqualConstantsOfOneProgramApart) {
  Program a = parsed("const c[k:2] f32 = [1, 2]\nconst d[k:2] f32 = [1, 2]\n"
                     "y[i:2] f32 = c[i]\nz[i:2] f32 = d[i]\noutput y\noutput z\n");
  Program b = a;
  EqualParts parts;
  for (const Program *program : {&a, &b})
    parts.add(*program);
  EXPECT_NE(parts.valueOf(0, named(a, "c")), parts.valueOf(0, named(a, "d")));
  EXPECT_NE(parts.nodeOf(0, 0), parts.nodeOf(0, 1));
  for (uint32_t number = 0; number < a.numValues(); ++number)
    EXPECT_EQ(parts.valueOf(0, {number}), parts.valueOf(1, {number}));
}

TEST(EqualParts, CompareLargeConstantsByTheirSource) {
  auto source = std::make_shared<LargeConstant>(), other = std::make_shared<LargeConstant>();
  auto with = [](std::shared_ptr<const ConstantSource> source) {
    Program program;
    program.addOutput("c", program.addConstant("c", ElementType::F32, {1 << 20}, source));
    return program;
  };
  Program a = with(source), b = with(source), c = with(other);
  EqualParts parts;
  for (const Program *program : {&a, &b, &c})
    parts.add(*program);
  EXPECT_EQ(parts.valueOf(0, {0}), parts.valueOf(1, {0}));
  EXPECT_NE(parts.valueOf(0, {0}), parts.valueOf(2, {0}));
}

} // namespace
} // namespace kintsugi::space
