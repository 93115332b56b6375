// How constant subexpressions are stored.

#include "layout/constant_orders.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "te/printer.h"

namespace kintsugi::layout {
namespace {

using namespace te;

/// A table of heads by places, which is read head by head. `more` reads it too.
Program withTable(const std::string &more = "", const std::string &read = "table[i1, i2, i0]") {
  return parsed("input x[3, 5, 7] f32\n"
                "table[i0:6, i1:7, i2:3] f32 = f32{(i0 + 3*i1 + 5*i2) % 11 - 4}\n"
                "y[i0:3, i1:5, i2:7] f32 = x[i0, i1, i2] * " +
                read + "\noutput y\n" + more);
}

/// The table's shape in the program that comes out, which computes the same.
Shape shapeOfTable(const Program &program) {
  Program result = constantsAsRead(program, nullptr).value_or(program);
  Status status = result.verify();
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  std::vector<ExactTensor> inputs = randomInputs(program, 1);
  expectSame(evaluated(result, inputs), evaluated(program, inputs));
  for (const Value &value : result.values)
    if (value.name == "table")
      return value.shape;
  ADD_FAILURE() << "no table in\n" << printProgram(result);
  return {};
}

const Shape asWritten = {6, 7, 3}, asRead = {3, 6, 7};

TEST(ConstantOrders, AreThoseOfTheReadersLoops) {
  EXPECT_EQ(shapeOfTable(withTable()), asRead);
  EXPECT_EQ(shapeOfTable(withTable("", "table[i1+1, i2, i0]")), asRead);
  EXPECT_EQ(shapeOfTable(withTable("o[i0:3, i1:6, i2:7] f32 = exp(table[i1, i2, i0])\n"
                                   "p[i0:3, i1:6, i2:7] f32 = o[i0, i1, i2] + x[i0, 0, 0]\n"
                                   "output p\n")),
            asRead)
      << "another constant reads in any order";
  EXPECT_EQ(
      shapeOfTable(withTable("o[i0:3, i1:5, i2:7] f32 = max(table[i1, i2, i0], x[i0, i1, i2])\n"
                             "output o\n")),
      asRead);
}

TEST(ConstantOrders, StayWhereReadersDisagree) {
  for (const char *more : {
           "o[i0:5, i1:7, i2:3] f32 = table[i0, i1, i2] + x[i2, i0, i1]\noutput o\n",
           "o[i0:5, i1:3] f32 = sum<f32>[r0:7] table[i0, r0, i1] * x[i1, i0, r0]\noutput o\n",
           "o[i0:3, i1:35] f32 = x[i0, i1//7, i1%7] + table[i1//7, i1%7, i0]\noutput o\n",
           "output table\n",
       })
    EXPECT_EQ(shapeOfTable(withTable(more)), asWritten) << more;
}

TEST(ConstantOrders, DimensionsOfOneElementLieAnywhere) {
  Program program = parsed("input x[4, 1, 7] f32\n"
                           "table[i0:1, i1:4, i2:7] f32 = f32{i1 + 3*i2}\n"
                           "y[i0:4, i1:1, i2:7] f32 = x[i0, i1, i2] * table[i1, i0, i2]\n"
                           "output y\n");
  EXPECT_FALSE(constantsAsRead(program, nullptr)) << "its elements lie as they are read";
}

TEST(ConstantOrders, TablesOfIndicesLieAsTheyAreRead) {
  Program program = parsed("input x[9] f32\n"
                           "table[i0:5, i1:4] i64 = {(3*i0 + 2*i1) % 9}\n"
                           "y[i0:4, i1:5] f32 = x[table[i1, i0]]\n"
                           "output y\n");
  EXPECT_EQ(shapeOfTable(program), (Shape{4, 5}));
}

} // namespace
} // namespace kintsugi::layout
