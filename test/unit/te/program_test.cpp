#include "te/program.h"

#include "testing.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {
namespace {

Definition copyOf(ValueId value, ElementType type, Extent extent) {
  Definition definition;
  definition.parallel = {{"i", extent}};
  definition.bodies = {Expr::read(value, type, {Index::iterator(0)})};
  return definition;
}

TEST(Program, NamesAreMadeUnique) {
  Program program;
  ValueId x = program.addInput("x", ElementType::F32, {4});
  ValueId again = program.define("x", ElementType::F32, copyOf(x, ElementType::F32, 4));
  ValueId third = program.define("x", ElementType::F32, copyOf(x, ElementType::F32, 4));
  ValueId unnamed = program.define("", ElementType::F32, copyOf(x, ElementType::F32, 4));
  std::set<std::string> names;
  for (ValueId id : {x, again, third, unnamed})
    names.insert(program.value(id).name);
  EXPECT_EQ(names.size(), 4u);
  EXPECT_TRUE(program.verify().ok());
}

TEST(Program, KnowsWhatNodesReadAndGive) {
  Program program = parsed("input x[4] f32\ninput t[4] i64\ninput s[] f32\n"
                           "y[i:4] f32 = (x[t[i]] | s[]) + x[i]\n"
                           "(m[] f32, d[] f32) = softmax_stats<f32>[i:4] y[i]\n"
                           "(v[1] f32, at[1] i64) = call TopK(y) {\"k\":1}\n"
                           "h[] f32 = scan[2] carry(m) capture(d) {\n"
                           "  input step[] i64\n  input h[] f32\n  input d[] f32\n"
                           "  n[] f32 = h[] + d[]\n  output n\n}");
  auto names = [&](llvm::ArrayRef<ValueId> ids) {
    std::vector<std::string> list;
    for (ValueId id : ids)
      list.push_back(program.value(id).name);
    return list;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(program.operandsOf(0)), (Names{"t", "s", "x"}));
  EXPECT_EQ(names(program.operandsOf(1)), (Names{"y"}));
  EXPECT_EQ(names(program.resultsOf(1)), (Names{"m", "d"}));
  EXPECT_EQ(names(program.operandsOf(2)), (Names{"y"}));
  EXPECT_EQ(names(program.resultsOf(2)), (Names{"v", "at"}));
  EXPECT_EQ(names(program.operandsOf(3)), (Names{"m", "d"}));
  ValueId d = program.resultsOf(1)[1];
  EXPECT_EQ(program.value(d).result, 1u);
  EXPECT_EQ(program.definitionOf(d), &std::get<Definition>(program.nodes[1]));
  EXPECT_EQ(program.definitionOf(program.inputs[0]), nullptr);
  EXPECT_EQ(program.definitionOf(program.resultsOf(2)[0]), nullptr);
}

/// A right program that each test breaks in one way.
class Verify : public testing::Test {
protected:
  Program program = parsed("input x[4] f32\ninput p[4] bool\n"
                           "y[i:4] f32 = x[i]\nz[i:4] f32 = sum<f32>[k:4] y[k]\noutput z");
  Definition &first() { return std::get<Definition>(program.nodes[0]); }
  Definition &second() { return std::get<Definition>(program.nodes[1]); }
  Expr read(unsigned value, Index index, ElementType type = ElementType::F32) {
    return Expr::read({value}, type, {index});
  }
  void expectError(const std::string &part) {
    Status status = program.verify();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::Internal);
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
  }
};

TEST_F(Verify, AcceptsWhatIsRight) { EXPECT_TRUE(program.verify().ok()); }

TEST_F(Verify, ReadsBeforeTheyAreDefined) {
  first().bodies = {read(3, Index::iterator(0))};
  expectError("'z' is read before it is defined");
}
TEST_F(Verify, ReadsOfNothing) {
  first().bodies = {read(99, Index::iterator(0))};
  expectError("does not exist");
}
TEST_F(Verify, ReadsOfAnotherType) {
  first().bodies = {Expr::cast(ElementType::F32, read(0, Index::iterator(0), ElementType::F16))};
  expectError("another element type");
}
TEST_F(Verify, ReadsOfAnotherRank) {
  first().bodies = {Expr::read({0}, ElementType::F32, {})};
  expectError("wrong number of indices");
}
TEST_F(Verify, ReadsOutside) {
  first().bodies = {read(0, Index::iterator(0) + 1)};
  expectError("outside of its extents");
  first().bodies = {read(0, Index::iterator(0) - 1)};
  expectError("outside of its extents");
}
TEST_F(Verify, ReadsOutsideAreFineWhereACaseGuards) {
  Expr inside = Expr::binary(BinaryOp::Less, Expr::index(Index::iterator(0), ElementType::I64),
                             Expr::literal(ElementType::I64, int64_t(3)));
  first().bodies = {
      Expr::select(inside, read(0, Index::iterator(0) + 1), Expr::literal(ElementType::F32, 0.0))};
  EXPECT_TRUE(program.verify().ok());
}
TEST_F(Verify, IteratorsThatDontExist) {
  first().bodies = {read(0, Index::iterator(1).mod(4))};
  expectError("iterator that does not exist");
}
TEST_F(Verify, GathersByWhatIsNoInteger) {
  first().bodies = {read(0, Index::data(read(0, Index::iterator(0))))};
  expectError("must be an integer");
}
TEST_F(Verify, OperationsOfAWrongType) {
  Expr p = read(1, Index::iterator(0), ElementType::Bool);
  first().bodies = {Expr::cast(ElementType::F32, p + p)};
  expectError("not defined for");
  first().bodies = {Expr::cast(ElementType::F32, Expr::unary(UnaryOp::Exp, p))};
  expectError("not defined for");
}
TEST_F(Verify, BodiesOfAWrongTypeOrNumber) {
  first().bodies = {Expr::literal(ElementType::F64, 1.0)};
  expectError("another element type than its body");
  first().bodies.clear();
  expectError("wrong number of bodies");
}
TEST_F(Verify, ResultsOfAnotherShape) {
  program.values[2].shape = {5};
  expectError("another shape than its iterators");
}
TEST_F(Verify, ReductionsInATypeWithoutTheirOperation) {
  second().reduction->accumulator = ElementType::Bool;
  expectError("combiner is not defined for");
  second().reduction->combiner = Combiner::And;
  EXPECT_TRUE(program.verify().ok());
  second().reduction->accumulator = ElementType::F32;
  expectError("combiner is not defined for");
}
TEST_F(Verify, OutputsAndOrigins) {
  program.outputs.push_back({"z", {3}});
  expectError("two outputs are named 'z'");
  program.outputs.back() = {"w", {99}};
  expectError("output 'w' does not exist");
  program.outputs.pop_back();
  program.origins.pop_back();
  expectError("one origin for each node");
}
TEST_F(Verify, ValuesOfOneName) {
  program.values[1].name = "x";
  expectError("two values are named 'x'");
}

} // namespace
} // namespace kintsugi::te
