//===- problem_test.cpp - The text form and check() -----------------------===//

#include "solve/problem.h"
#include "synthetic.h"

#include <gtest/gtest.h>

using namespace kintsugi;
using namespace kintsugi::solve;

namespace {

std::string parseError(std::string_view text) {
  auto problem = parseProblem(text, "p.txt");
  if (problem.ok())
    return "no error";
  EXPECT_EQ(problem.error().kind, ErrorKind::Input);
  return problem.error().message;
}

TEST(ProblemText, ReadsEveryStatement) {
  auto problem = parseProblem("# a comment\n"
                              "problem small\r\n"
                              "room 1e3\n"
                              "\n"
                              "item conv\n"
                              "input x   # always there\n"
                              "value y\n"
                              "derived y@nhwc\n"
                              "output y\n"
                              "column k cost 1.25e1 covers conv consumes x produces y y@nhwc\n"
                              "column free cost 0 takes 5 consumes y@nhwc produces y");
  ASSERT_TRUE(problem.ok()) << problem.error().message;
  EXPECT_EQ(problem->name, "small");
  EXPECT_EQ(problem->room, 1000);
  ASSERT_EQ(problem->items.size(), 1u);
  ASSERT_EQ(problem->resources.size(), 3u);
  EXPECT_EQ(problem->resources[0].kind, ResourceKind::Input);
  EXPECT_EQ(problem->resources[1].kind, ResourceKind::Value);
  EXPECT_EQ(problem->resources[2].kind, ResourceKind::Derived);
  EXPECT_TRUE(problem->resources[1].output);
  EXPECT_FALSE(problem->resources[2].output);
  ASSERT_EQ(problem->columns.size(), 2u);
  EXPECT_EQ(problem->columns[0].cost, 12.5);
  EXPECT_EQ(problem->columns[0].covers, std::vector<ItemId>{0});
  EXPECT_EQ(problem->columns[0].consumes, std::vector<ResourceId>{0});
  EXPECT_EQ(problem->columns[0].produces, (std::vector<ResourceId>{1, 2}));
  EXPECT_TRUE(problem->columns[1].covers.empty());
  EXPECT_EQ(problem->columns[0].takes, 0);
  EXPECT_EQ(problem->columns[1].takes, 5);
}

TEST(ProblemText, RoundTripsOddNames) {
  Problem problem;
  problem.name = "";
  for (const char *name : {"covers", "a b", "q\"uote", "back\\slash", "line\nbreak", "tab\tcr\r",
                           "#hash", "plain/name:0", "\x01\x7f", "ünïcode"}) {
    problem.addItem(name);
    ResourceId resource = problem.addResource(name);
    problem.setOutput(resource);
    problem.addColumn({name, 0.1, {problem.addItem(std::string(name) + "2")}, {}, {resource}});
  }
  auto again = parseProblem(problem.print());
  ASSERT_TRUE(again.ok()) << again.error().message << "\n" << problem.print();
  EXPECT_TRUE(*again == problem);
  EXPECT_EQ(again->print(), problem.print());
}

TEST(ProblemText, RoundTripsCostsExactly) {
  Problem problem;
  for (double cost : {0.1, 1.0 / 3, 1e-300, 4.9e-324, 1e300, 123456789.123456789})
    problem.addColumn({"k" + std::to_string(problem.columns.size()),
                       cost,
                       {problem.addItem("i" + std::to_string(problem.items.size()))},
                       {},
                       {}});
  auto again = parseProblem(problem.print());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(*again == problem);
}

TEST(ProblemText, RoundTripsSyntheticSpaces) {
  Problem problem = makeSyntheticSpace({7, 60, 400, 4, true});
  problem.room = 0.1;
  problem.columns[3].takes = 1.0 / 3;
  auto again = parseProblem(problem.print());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(*again == problem);
}

TEST(ProblemText, ErrorsNameFileLineAndReason) {
  EXPECT_EQ(parseError("problem a\nthing b\n"),
            "p.txt:2: unknown statement 'thing'; known: problem, room, item, input, value, "
            "derived, output, column");
  EXPECT_EQ(parseError("problem a\n\nproblem b\n"), "p.txt:3: a second 'problem' line");
  EXPECT_EQ(parseError("item"), "p.txt:1: 'item' needs a name");
  EXPECT_EQ(parseError("item a b"), "p.txt:1: 'item' takes one name, here are 2");
  EXPECT_EQ(parseError("item a\nitem a"), "p.txt:2: item 'a' is declared twice");
  EXPECT_EQ(parseError("input a\nvalue a"), "p.txt:2: resource 'a' is declared twice");
  EXPECT_EQ(parseError("item \"\""), "p.txt:1: a name is empty");
  EXPECT_EQ(parseError("output y"), "p.txt:1: resource 'y' is not declared above");
  EXPECT_EQ(parseError("item \"a"), "p.txt:1: a quoted name has no closing quote on its line");
  EXPECT_EQ(parseError("item \"a\\x\""),
            "p.txt:1: a backslash in a quoted name is followed by none of n t r \" \\");
  EXPECT_EQ(parseError("item \"a\\"),
            "p.txt:1: a backslash in a quoted name is followed by none of n t r \" \\");
  EXPECT_EQ(parseError("\"item\" a"), "p.txt:1: a line starts with a word, not a quoted name");
}

TEST(ProblemText, ErrorsInColumns) {
  const std::string head = "item a\ninput x\nvalue y\n";
  auto error = [&](const std::string &line) { return parseError(head + line); };
  EXPECT_EQ(error("column k"), "p.txt:4: a column needs 'cost' and a number after its name");
  EXPECT_EQ(error("column k covers a"),
            "p.txt:4: a column needs 'cost' and a number after its name");
  for (const char *cost : {"-1", "nan", "inf", "1e999", "1x", "x", "+1"})
    EXPECT_EQ(error(std::string("column k cost ") + cost + " covers a"),
              std::string("p.txt:4: the cost '") + cost + "' is not a finite number of at least 0");
  EXPECT_EQ(error("column k cost 1 a"),
            "p.txt:4: 'a' stands where covers, consumes or produces should");
  EXPECT_EQ(error("column k cost 1 covers b"), "p.txt:4: item 'b' is not declared above");
  EXPECT_EQ(error("column k cost 1 covers a consumes z"),
            "p.txt:4: resource 'z' is not declared above");
  EXPECT_EQ(error("column k cost 1 produces y covers a"),
            "p.txt:4: 'covers' is out of place: the order is cost, takes, covers, consumes, "
            "produces, each at most once");
  EXPECT_EQ(error("column k cost 1 covers a covers a"),
            "p.txt:4: 'covers' is out of place: the order is cost, takes, covers, consumes, "
            "produces, each at most once");
  EXPECT_EQ(error("column k cost 1 covers a a"), "p.txt:4: column 'k' covers the same thing twice");
  EXPECT_EQ(error("column k cost 1 covers a produces x"),
            "p.txt:4: column 'k' produces the input 'x'");
  EXPECT_EQ(error("column k cost 1 covers a consumes y produces y"),
            "p.txt:4: column 'k' consumes 'y', which it produces");
  EXPECT_EQ(error("column k cost 1"), "p.txt:4: column 'k' covers and produces nothing");
  EXPECT_EQ(error("column k cost 1 covers a\ncolumn k cost 2 covers a"),
            "p.txt:5: column 'k' is declared twice");
  EXPECT_EQ(error("column k cost 1e308 covers a\ncolumn l cost 1e308 covers a"),
            "p.txt: what all columns cost or take adds up to more than a double holds");
  EXPECT_EQ(error("column k cost 1 takes"), "p.txt:4: 'takes' needs a number");
  EXPECT_EQ(error("column k cost 1 takes x covers a"),
            "p.txt:4: what it takes 'x' is not a finite number of at least 0");
  EXPECT_EQ(error("column k cost 1 covers a takes 1"),
            "p.txt:4: 'takes' is out of place: the order is cost, takes, covers, consumes, "
            "produces, each at most once");
  EXPECT_EQ(parseError("room -1"), "p.txt:1: the room '-1' is not a finite number of at least 0");
  EXPECT_EQ(parseError("room 1\nroom 1"), "p.txt:2: a second 'room' line");
}

TEST(ProblemText, SurvivesTruncationAnywhere) {
  std::string text = makeSyntheticSpace({3, 6, 20, 2, true}).print();
  for (size_t length = 0; length < text.size(); ++length) {
    auto problem = parseProblem(std::string_view(text).substr(0, length));
    if (problem.ok()) {
      EXPECT_TRUE(problem->check().ok());
    }
  }
}

TEST(ProblemCheck, CatchesBadData) {
  Problem good;
  good.addItem("a");
  good.addResource("x", ResourceKind::Input);
  good.addResource("y");
  good.addColumn({"k", 1, {0}, {0}, {1}});
  ASSERT_TRUE(good.check().ok());
  auto broken = [&](auto change) {
    Problem problem = good;
    change(problem);
    Status status = problem.check();
    EXPECT_FALSE(status.ok());
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(broken([](Problem &p) { p.addItem("a"); }), "item 'a' is declared twice");
  EXPECT_EQ(broken([](Problem &p) { p.addItem(""); }), "an item has no name");
  EXPECT_EQ(broken([](Problem &p) { p.resources[1].name = "x"; }),
            "resource 'x' is declared twice");
  EXPECT_EQ(broken([](Problem &p) { p.addColumn(p.columns[0]); }), "column 'k' is declared twice");
  EXPECT_EQ(broken([](Problem &p) { p.columns[0].cost = -1; }),
            "column 'k' has a cost that is negative or not finite");
  EXPECT_EQ(broken([](Problem &p) { p.columns[0].cost = 0.0 / 0.0; }),
            "column 'k' has a cost that is negative or not finite");
  EXPECT_EQ(broken([](Problem &p) { p.columns[0].takes = -1; }),
            "column 'k' takes an amount that is negative or not finite");
  EXPECT_EQ(broken([](Problem &p) { p.room = -1; }), "the room is negative or not a number");
  EXPECT_EQ(broken([](Problem &p) { p.columns[0].covers = {1}; }),
            "column 'k' covers something undeclared");
  EXPECT_EQ(broken([](Problem &p) { p.columns[0].consumes = {-1}; }),
            "column 'k' consumes something undeclared");
  EXPECT_EQ(broken([](Problem &p) { p.columns[0].produces = {2}; }),
            "column 'k' produces something undeclared");
  EXPECT_EQ(broken([](Problem &p) { p.columns[0].produces = {1, 1}; }),
            "column 'k' produces the same thing twice");
}

} // namespace
