//===- solvers_test.cpp - What each solver must get right -----------------===//

#include "solve/solvers.h"
#include "synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace kintsugi;
using namespace kintsugi::solve;

namespace {

Problem parsed(std::string_view text) {
  auto problem = parseProblem(text);
  EXPECT_TRUE(problem.ok()) << problem.error().message;
  return problem.ok() ? *problem : Problem();
}

Solution solved(Solver solver, const Problem &problem, const SolverOptions &options = {}) {
  auto solution = solver(problem, options);
  EXPECT_TRUE(solution.ok()) << solution.error().message;
  if (!solution.ok())
    return {};
  Status status = problem.verify(*solution);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return *solution;
}

std::string names(const Problem &problem, const Solution &solution) {
  std::string list;
  for (ColumnId id : solution.columns)
    list += (list.empty() ? "" : " ") + problem.columns[static_cast<size_t>(id)].name;
  return list;
}

/// Both exact solvers must find this.
void expectOptimum(const Problem &problem, double objective) {
  for (Solver solver : {solveCbc, solveDynamic}) {
    Solution solution = solved(solver, problem);
    EXPECT_EQ(solution.status, SolutionStatus::Optimal);
    EXPECT_DOUBLE_EQ(solution.objective, objective) << names(problem, solution);
    EXPECT_EQ(solution.gap, 0);
    EXPECT_FALSE(solution.outOfFuel);
  }
}

void expectInfeasible(const Problem &problem, const std::string &reason) {
  Solution solution = solved(solveCbc, problem);
  EXPECT_EQ(solution.status, SolutionStatus::Infeasible);
  EXPECT_EQ(solution.reason, reason);
  EXPECT_EQ(solved(solveDynamic, problem).status, SolutionStatus::Infeasible);
  EXPECT_EQ(solved(solveGreedy, problem).status, SolutionStatus::Unknown);
}

TEST(Solvers, TheEmptyProblemIsSolved) {
  for (Solver solver : {solveCbc, solveDynamic, solveGreedy, solveSeparate}) {
    Solution solution = solved(solver, Problem());
    EXPECT_EQ(solution.status, SolutionStatus::Optimal);
    EXPECT_TRUE(solution.columns.empty());
  }
}

TEST(Solvers, BadProblemsAreRejected) {
  Problem problem;
  problem.addColumn({"k", -1, {}, {}, {}});
  for (Solver solver : {solveCbc, solveDynamic, solveGreedy, solveSeparate}) {
    auto solution = solver(problem, {});
    ASSERT_FALSE(solution.ok());
    EXPECT_EQ(solution.error().kind, ErrorKind::Input);
  }
}

TEST(Solvers, FusionIsWeighedAgainstItsAlternatives) {
  Problem problem = parsed("item a\nitem b\nitem c\ninput x\nvalue ya\nvalue yb\nvalue yc\n"
                           "output yc\n"
                           "column a cost 3 covers a consumes x produces ya\n"
                           "column b cost 3 covers b consumes ya produces yb\n"
                           "column c cost 3 covers c consumes yb produces yc\n"
                           "column ab cost 4 covers a b consumes x produces yb\n"
                           "column bc cost 3.5 covers b c consumes ya produces yc\n"
                           "column abc cost 8 covers a b c consumes x produces yc\n");
  expectOptimum(problem, 6.5);
  EXPECT_EQ(names(problem, solved(solveCbc, problem)), "a bc");
  EXPECT_EQ(names(problem, solved(solveGreedy, problem)), "a bc");
  EXPECT_EQ(names(problem, solved(solveSeparate, problem)), "a b c");
  EXPECT_DOUBLE_EQ(solved(solveSeparate, problem).objective, 9);
}

/// A and B are cheap and each waits for the other's first half.
const char *twoThatWait = "item a1\nitem a2\nitem b1\nitem b2\ninput x\n"
                          "value va1\nvalue va2\nvalue vb1\nvalue vb2\noutput va2\noutput vb1\n"
                          "column a1 cost 5 covers a1 consumes x produces va1\n"
                          "column a2 cost 5 covers a2 consumes vb2 produces va2\n"
                          "column b1 cost 5 covers b1 consumes va1 produces vb1\n"
                          "column b2 cost 5 covers b2 consumes x produces vb2\n"
                          "column A cost 2 covers a1 a2 consumes x vb2 produces va1 va2\n"
                          "column B cost 3 covers b1 b2 consumes x va1 produces vb1 vb2\n";

TEST(Solvers, ColumnsThatWaitForEachOtherAreCutOff) {
  Problem problem = parsed(twoThatWait);
  expectOptimum(problem, 12);
  Solution solution = solved(solveCbc, problem);
  EXPECT_EQ(names(problem, solution), "b2 A b1");
  EXPECT_GT(solution.cuts, 0);
}

TEST(Solvers, GreedyTriesWhatARefusedColumnWasInTheWayOf) {
  // After x1x2 two columns are tried at a time. ac waits for itself; only ab shares an item with
  // it.
  Problem problem = parsed("item x1\nitem x2\nitem a\nitem b\nitem c\ninput i\n"
                           "value u\nvalue va\nvalue vb\nvalue w\noutput w\n"
                           "column x1 cost 10 covers x1 consumes i produces u\n"
                           "column x2 cost 10 covers x2 consumes u\n"
                           "column a cost 10 covers a consumes i produces va\n"
                           "column b cost 10 covers b consumes va produces vb\n"
                           "column c cost 10 covers c consumes vb produces w\n"
                           "column x1x2 cost 5 covers x1 x2 consumes i produces u\n"
                           "column ac cost 8 covers a c consumes i vb produces va w\n"
                           "column ab cost 10 covers a b consumes i produces va vb\n");
  EXPECT_EQ(names(problem, solved(solveGreedy, problem)), "x1x2 ab c");
}

TEST(Solvers, GreedyLeavesOutOnlyWhatNothingElseCovers) {
  // Without a there is no b; c, which needs what nobody makes, can be done without only.
  Problem problem =
      parsed("item a\nitem b\nitem c\ninput i\nvalue va\nvalue w\nvalue lost\noutput w\n"
             "column nothing cost 0 covers a\n"
             "column a cost 10 covers a consumes i produces va\n"
             "column b cost 10 covers b consumes va produces w\n"
             "column without cost 0 covers c\n"
             "column c cost 1 covers c consumes lost produces va\n");
  EXPECT_EQ(names(problem, solved(solveGreedy, problem)), "a b without");
  expectOptimum(problem, 20);
}

TEST(Solvers, GreedyRefusesACycle) {
  Problem problem = parsed(twoThatWait);
  Solution solution = solved(solveGreedy, problem);
  EXPECT_EQ(names(problem, solution), "b2 A b1");
}

TEST(Solvers, LongerCyclesAreCutOff) {
  Problem problem;
  ResourceId x = problem.addResource("x", ResourceKind::Input);
  const int size = 7; // Column i fuses the first half of i with the second half of i + 1.
  for (int i = 0; i < size; ++i) {
    std::string n = std::to_string(i);
    problem.addItem("first" + n);
    problem.addItem("second" + n);
    problem.addResource("p" + n);
    problem.setOutput(problem.addResource("q" + n));
  }
  auto p = [&](int i) { return x + 1 + 2 * (i % size); };
  for (int i = 0; i < size; ++i) {
    std::string n = std::to_string(i);
    int next = (i + 1) % size;
    problem.addColumn({"f" + n, 10, {2 * i}, {x}, {p(i)}});
    problem.addColumn({"s" + n, 10, {2 * i + 1}, {p(i)}, {p(i) + 1}});
    problem.addColumn({"fs" + n, 1, {2 * i, 2 * next + 1}, {x, p(next)}, {p(i), p(next) + 1}});
  }
  expectOptimum(problem, size - 1 + 20);
  EXPECT_GT(solved(solveCbc, problem).cuts, 0);
}

TEST(Solvers, FormatsAreChosenWithTheirConversions) {
  // Two convolutions like nhwc; the relu between takes either; input and output are nchw.
  std::string text = "item c1\nitem r\nitem c2\ninput x\n"
                     "derived x@h\nderived y\nderived y@h\nderived z\nderived z@h\nderived w\n"
                     "derived w@h\noutput w\n"
                     "column c1 cost 10 covers c1 consumes x produces y\n"
                     "column c1h cost 6 covers c1 consumes x@h produces y@h\n"
                     "column r cost 1 covers r consumes y produces z\n"
                     "column rh cost 1 covers r consumes y@h produces z@h\n"
                     "column c2 cost 10 covers c2 consumes z produces w\n"
                     "column c2h cost 6 covers c2 consumes z@h produces w@h\n";
  auto conversions = [](double cost) {
    std::string lines;
    for (const char *value : {"x", "y", "z", "w"}) {
      std::string name = value, price = std::to_string(cost);
      lines += "column to_" + name + " cost " + price + " consumes " + name + " produces " + name +
               "@h\n";
      if (name != "x")
        lines += "column from_" + name + " cost " + price + " consumes " + name + "@h produces " +
                 name + "\n";
    }
    return lines;
  };
  Problem cheap = parsed(text + conversions(2));
  expectOptimum(cheap, 17);
  EXPECT_EQ(names(cheap, solved(solveCbc, cheap)), "to_x c1h rh c2h from_w");
  Problem dear = parsed(text + conversions(5));
  expectOptimum(dear, 21);
  EXPECT_EQ(names(dear, solved(solveCbc, dear)), "c1 r c2");
}

TEST(Solvers, ConversionsDoNotFeedEachOther) {
  // y@1, y@2 and y@3 could each be made from another: none comes from nothing.
  Problem problem = parsed("item a\nitem b\ninput x\n"
                           "derived y\nderived y@1\nderived y@2\nderived y@3\nvalue z\noutput z\n"
                           "column a cost 1 covers a consumes x produces y\n"
                           "column b cost 1 covers b consumes y@1 produces z\n"
                           "column t12 cost 1 consumes y@1 produces y@2\n"
                           "column t23 cost 1 consumes y@2 produces y@3\n"
                           "column t31 cost 1 consumes y@3 produces y@1\n"
                           "column t01 cost 50 consumes y produces y@1\n");
  expectOptimum(problem, 52);
  EXPECT_GT(solved(solveCbc, problem).cuts, 0);
}

TEST(Solvers, DerivedIntermediatesAreSharedAndPaidOnce) {
  Problem problem = parsed("item a\nitem b\ninput x\nderived d\nvalue y\nvalue z\n"
                           "output y\noutput z\n"
                           "column a cost 5 covers a consumes x produces y\n"
                           "column b cost 5 covers b consumes x produces z\n"
                           "column d cost 6 consumes x produces d\n"
                           "column ad cost 1 covers a consumes d produces y\n"
                           "column bd cost 1 covers b consumes d produces z\n");
  expectOptimum(problem, 8);
  EXPECT_EQ(names(problem, solved(solveCbc, problem)), "d ad bd");
}

TEST(Solvers, AValueThatIsHiddenGetsItsRowLazily) {
  // Against the rule for plain values, ab hides y though c needs it: found out and repaired.
  Problem problem = parsed("item a\nitem b\nitem c\ninput x\nvalue y\nvalue z\nvalue w\noutput w\n"
                           "column a cost 5 covers a consumes x produces y\n"
                           "column b cost 5 covers b consumes y produces z\n"
                           "column c cost 5 covers c consumes y z produces w\n"
                           "column ab cost 1 covers a b consumes x produces z\n");
  expectOptimum(problem, 15);
  EXPECT_GT(solved(solveCbc, problem).cuts, 0);
}

TEST(Solvers, IdleOptionalColumnsAreLeftOut) {
  Problem problem = parsed("item a\ninput x\nvalue y\nderived d\n"
                           "column a cost 1 covers a consumes x produces y\n"
                           "column idle cost 0 consumes x produces d\n");
  for (Solver solver : {solveCbc, solveDynamic, solveGreedy, solveSeparate})
    EXPECT_EQ(names(problem, solved(solver, problem)), "a");
}

TEST(Solvers, InfeasibleProblemsSayWhy) {
  expectInfeasible(parsed("item a\ninput x\nitem b\nvalue y\n"
                          "column a cost 1 covers a consumes x produces y\n"),
                   "no column that can run covers item 'b'");
  expectInfeasible(parsed("item a\nvalue never\nvalue y\n"
                          "column a cost 1 covers a consumes never produces y\n"),
                   "no column that can run covers item 'a'");
  expectInfeasible(parsed("item a\ninput x\nvalue y\noutput y\n"
                          "column a cost 1 covers a consumes x\n"),
                   "no column that can run produces output 'y'");
  expectInfeasible(parsed("item a\nitem b\nitem c\ninput x\n"
                          "column ab cost 1 covers a b\ncolumn bc cost 1 covers b c\n"
                          "column ac cost 1 covers a c\n"),
                   "no columns that cover each item once can be put in an order");
  expectInfeasible(parsed("item a1\nitem a2\nitem b1\nitem b2\nvalue p\nvalue q\n"
                          "column A cost 1 covers a1 a2 consumes q produces p\n"
                          "column B cost 1 covers b1 b2 consumes p produces q\n"
                          "column a1 cost 1 covers a1 produces p\n"
                          "column b1 cost 1 covers b1 produces q\n"),
                   "no columns that cover each item once can be put in an order");
}

TEST(Solvers, TinyAndHugeCostsAreToldApart) {
  // Seconds and nanoseconds alike: tolerances inside a solver must not see the unit.
  for (double unit : {1e-12, 1e-6, 1.0, 1e9}) {
    Problem problem = makeSyntheticSpace({11, 12, 60, 2, true});
    double plain = solved(solveDynamic, problem).objective;
    for (Column &column : problem.columns)
      column.cost *= unit;
    Solution solution = solved(solveCbc, problem);
    EXPECT_EQ(solution.status, SolutionStatus::Optimal);
    EXPECT_NEAR(solution.objective / unit, plain, 1e-9 * plain);
  }
}

TEST(Solvers, FreeColumnsAreFine) {
  Problem problem = makeSyntheticSpace({5, 10, 40, 1, false});
  for (Column &column : problem.columns)
    column.cost = 0;
  expectOptimum(problem, 0);
}

TEST(Solvers, RunningOutOfFuelIsSaidAndAPlanIsStillGiven) {
  Problem problem = makeSyntheticSpace({2, 300, 2400, 4, true});
  SolverOptions little;
  little.nodes = 0;
  little.iterations = 20;
  for (Solver solver : {solveCbc, solveDynamic}) {
    Solution solution = solved(solver, problem, little);
    EXPECT_TRUE(solution.outOfFuel);
    EXPECT_EQ(solution.status, SolutionStatus::Feasible);
    EXPECT_GT(solution.gap, 0);
    EXPECT_GT(solution.bound, 0);
  }
}

TEST(Solvers, TheGapAskedForIsKept) {
  Problem problem = makeSyntheticSpace({3, 200, 1600, 4, true});
  double best = solved(solveCbc, problem).objective;
  SolverOptions coarse;
  coarse.relativeGap = 0.05;
  Solution solution = solved(solveCbc, problem, coarse);
  EXPECT_LE(solution.gap, 0.05 + 1e-9);
  EXPECT_LE(solution.bound, best * (1 + 1e-9));
  EXPECT_GE(solution.objective, best * (1 - 1e-9));
}

TEST(Solvers, EqualProblemsHaveEqualSolutions) {
  Problem problem = makeSyntheticSpace({4, 200, 1600, 4, true});
  for (Solver solver : {solveCbc, solveGreedy, solveSeparate}) {
    Solution first = solved(solver, problem), second = solved(solver, problem);
    EXPECT_EQ(first.columns, second.columns);
    EXPECT_EQ(first.objective, second.objective);
    EXPECT_EQ(first.bound, second.bound);
    EXPECT_EQ(first.nodes, second.nodes);
    EXPECT_EQ(first.iterations, second.iterations);
  }
}

TEST(Solvers, NothingIsPrinted) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (uint64_t seed = 1; seed <= 3; ++seed)
    solved(solveCbc, makeSyntheticSpace({seed, 150, 1200, 4, true}));
  SolverOptions little;
  little.iterations = 20;
  solved(solveCbc, makeSyntheticSpace({2, 150, 1200, 4, true}), little);
  solved(solveCbc, parsed("item a\nitem b\nitem c\ncolumn ab cost 1 covers a b\n"
                          "column bc cost 1 covers b c\ncolumn ac cost 1 covers a c\n"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

} // namespace
