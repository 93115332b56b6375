// Texts that want to hurt: too deep, too long, or damaged by chance.

#include "random_program.h"
#include "te/expr_parser.h"
#include "te/printer.h"
#include "testing.h"

namespace kintsugi::te {
namespace {

std::string repeated(const std::string &text, unsigned times) {
  std::string result;
  for (unsigned i = 0; i < times; ++i)
    result += text;
  return result;
}

void expectError(const std::string &text, const std::string &part) {
  Expected<Program> program = parseProgram(text, "bad.te");
  ASSERT_FALSE(program.ok()) << part;
  EXPECT_NE(program.error().message.find(part), std::string::npos) << program.error().message;
}

TEST(HostileText, BracketsOfEveryKindAreLimited) {
  unsigned many = 100000;
  std::string y = "input x[4] f32\ninput t[4] i64\ny[i:4] f32 = ";
  for (const char *open :
       {"(", "exp(", "{(", "f32(", "-", "x[t[", "cases { true: ", "x[{t[{", "(x[i] | ", "max(1, "})
    expectError(y + repeated(open, many), "nested too deeply; expected at most");
  expectError(y + "x[" + repeated("(", many), "nested too deeply");
  expectError(repeated("y[] f32 = scan[1] carry() capture() { ", many), "nested too deeply");
  expectError("y[] f32 = call F() " + repeated("{\"a\":", many) + repeated("}", many), "bad.te:1:");
}

TEST(HostileText, WhatIsWithinTheLimitsParses) {
  unsigned deep = maxNesting - 2;
  Program program = parsed("y[i:4] f32 = " + repeated("(", deep) + "i" + repeated(")", deep));
  EXPECT_EQ(printNode(program, 0), "y[i:4] f32 = i");
  Program sum = parsed("y[i:4] f32 = 1" + repeated(" + i", maxExprDepth - 1));
  EXPECT_EQ(evaluated(sum).size(), 0u);
  EXPECT_EQ(parsed(printProgram(sum)).nodes.size(), 1u);
}

TEST(HostileText, LongChainsAreLimited) {
  expectError("y[i:4] f32 = 1" + repeated(" + i", 100000), "the expression is too deep");
  std::string cases = "y[i:4] f32 = cases { ";
  expectError(cases + repeated("i < 3: 1; ", 100000) + "else: 2 }", "the expression is too deep");
  std::string iterators = "j0:1", terms;
  for (int i = 1; i < 40; ++i)
    iterators += ", j" + std::to_string(i) + ":1";
  for (int i = 0; i < 40; ++i)
    terms += "+j" + std::to_string(i) + "+j" + std::to_string(i) + "//2";
  expectError("input x[] f32 y[" + iterators + "] f32 = {0" + terms + "}", "too many terms");
  expectError("input x[" + repeated("1, ", 100) + "1] f32", "too many dimensions");
}

/// One damage: a character, a piece of another place, or something missing.
std::string damaged(std::string text, Chance &chance) {
  for (int64_t count = chance.between(1, 4); count > 0 && !text.empty(); --count) {
    size_t at = chance.between(0, text.size() - 1);
    size_t from = chance.between(0, text.size() - 1);
    static const char signs[] = "[](){}:;,=<>+-*/%|@\"#\\ 0129azx.\n";
    switch (chance.between(0, 3)) {
    case 0:
      text[at] = signs[chance.between(0, sizeof(signs) - 2)];
      break;
    case 1:
      text[at] = static_cast<char>(chance.between(0, 255));
      break;
    case 2:
      text.insert(at, text.substr(from, chance.between(1, 30)));
      break;
    default:
      text.erase(at, chance.between(1, 30));
    }
  }
  return text;
}

TEST(HostileText, DamagedTextsGiveOneErrorOrAProgramThatRoundTrips) {
  unsigned accepted = 0, refused = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Chance chance(seed);
    std::string text = damaged(printProgram(randomProgram(seed % 50)), chance);
    Expected<Program> program = parseProgram(text, "bad.te");
    if (!program.ok()) {
      const std::string &message = program.error().message;
      EXPECT_EQ(message.rfind("bad.te:", 0), 0u);
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_EQ(program.error().kind, ErrorKind::Input);
      ++refused;
      continue;
    }
    std::string printed = printProgram(*program);
    EXPECT_EQ(printProgram(parsed(printed)), printed) << "seed " << seed;
    ++accepted;
  }
  EXPECT_GT(accepted, 50u);
  EXPECT_GT(refused, 1000u);
}

} // namespace
} // namespace kintsugi::te
