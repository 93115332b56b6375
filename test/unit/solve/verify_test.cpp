//===- verify_test.cpp - verify() rejects every kind of wrong solution ----===//

#include "solve/solvers.h"

#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::solve;

namespace {

/// a -> b, apart (columns 0 and 1) or as one (column 2), which hides y.
class Verify : public testing::Test {
protected:
  Verify() {
    auto parsed = parseProblem("problem two\nitem a\nitem b\ninput x\nvalue y\nvalue z\noutput z\n"
                               "column ka cost 2 covers a consumes x produces y\n"
                               "column kb cost 3 covers b consumes y produces z\n"
                               "column kab cost 4 covers a b consumes x produces z\n");
    EXPECT_TRUE(parsed.ok());
    problem = std::move(*parsed);
    right.status = SolutionStatus::Feasible;
    right.columns = {0, 1};
    right.objective = 5;
    right.bound = 4;
    right.gap = 0.2;
  }

  std::string complaint(const Solution &solution) {
    Status status = problem.verify(solution);
    if (status.ok())
      return "";
    EXPECT_EQ(status.error().kind, ErrorKind::Internal);
    return status.error().message;
  }

  Problem problem;
  Solution right;
};

TEST_F(Verify, AcceptsWhatHolds) {
  EXPECT_EQ(complaint(right), "");
  Solution none;
  none.status = SolutionStatus::Infeasible;
  EXPECT_EQ(complaint(none), "");
}

TEST_F(Verify, RejectsWrongChoices) {
  Solution wrong = right;
  wrong.columns = {0};
  EXPECT_EQ(complaint(wrong), "solution of 'two': item 'b' is covered 0 times");
  wrong.columns = {0, 2};
  EXPECT_EQ(complaint(wrong), "solution of 'two': item 'a' is covered 2 times");
  wrong.columns = {0, 0};
  EXPECT_EQ(complaint(wrong), "solution of 'two': column 'ka' is chosen twice");
  wrong.columns = {0, 3};
  EXPECT_EQ(complaint(wrong), "solution of 'two': it chooses column 3, which does not exist");
  wrong.columns = {-1, 1};
  EXPECT_EQ(complaint(wrong), "solution of 'two': it chooses column -1, which does not exist");
  wrong.columns = {1, 0};
  EXPECT_EQ(complaint(wrong), "solution of 'two': column 'kb' runs before 'y' is produced");
  problem.setOutput(1);
  wrong.columns = {2};
  EXPECT_EQ(complaint(wrong), "solution of 'two': output 'y' is not produced");
}

TEST_F(Verify, RejectsWhatTakesTooMuch) {
  for (Column &column : problem.columns)
    column.takes = 4;
  problem.room = 8;
  EXPECT_EQ(complaint(right), "");
  problem.room = 7;
  EXPECT_EQ(complaint(right), "solution of 'two': its columns take more than there is room for");
}

TEST_F(Verify, RejectsWrongNumbers) {
  Solution wrong = right;
  wrong.objective = 4.5;
  EXPECT_NE(complaint(wrong), "");
  wrong = right;
  wrong.bound = 5.5;
  EXPECT_EQ(complaint(wrong), "solution of 'two': the bound is negative or above the objective");
  wrong.bound = -1;
  EXPECT_EQ(complaint(wrong), "solution of 'two': the bound is negative or above the objective");
  wrong.bound = 0.0 / 0.0;
  EXPECT_NE(complaint(wrong), "");
  wrong = right;
  wrong.gap = 0.1;
  EXPECT_EQ(complaint(wrong),
            "solution of 'two': the gap does not follow from objective and bound");
  wrong = right;
  wrong.status = SolutionStatus::Optimal;
  EXPECT_EQ(complaint(wrong), "solution of 'two': it calls itself optimal with a gap");
  wrong = right;
  wrong.status = SolutionStatus::Infeasible;
  EXPECT_EQ(complaint(wrong), "solution of 'two': it has columns though it has no plan");
}

} // namespace
