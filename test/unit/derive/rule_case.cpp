#include "rule_case.h"

#include "te/printer.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <gtest/gtest.h>

#include "../te/testing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace kintsugi::derive {

using namespace te;

static constexpr llvm::StringRef becomes = "--- becomes\n";

RuleCase RuleCase::of(const std::string &text) {
  RuleCase result;
  auto [head, after] = llvm::StringRef(text).split(becomes);
  result.head = head.str();
  result.after = after.str();
  llvm::SmallVector<llvm::StringRef> lines;
  head.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    if (line.consume_front("# machine: ")) {
      result.machine = line.str();
    } else if (line.consume_front("# vary ")) {
      auto [name, values] = line.split(": ");
      llvm::SmallVector<llvm::StringRef> words;
      values.split(words, ' ');
      for (llvm::StringRef word : words)
        result.variables[name.str()].push_back(std::stoll(word.str()));
    } else {
      result.before += line.str() + "\n";
    }
  }
  return result;
}

using Values = std::map<std::string, int64_t>;

/// "3*N", "H+4": products and sums from left to right.
static int64_t computed(llvm::StringRef text, const Values &values) {
  int64_t result = 0;
  char next = '+';
  while (!text.empty()) {
    llvm::StringRef word = text.take_until([](char c) { return c == '*' || c == '+'; });
    int64_t number = llvm::isDigit(word[0]) ? std::stoll(word.str()) : values.at(word.str());
    result = next == '*' ? result * number : result + number;
    text = text.drop_front(word.size());
    if (!text.empty())
      next = text[0];
    text = text.drop_front(!text.empty());
  }
  return result;
}

static std::string filledIn(llvm::StringRef text, const Values &values) {
  std::string result;
  while (true) {
    auto [plain, rest] = text.split('$');
    result += plain.str();
    if (rest.empty())
      return result;
    bool isComputed = rest.consume_front("[");
    llvm::StringRef name = isComputed ? rest.take_until([](char c) { return c == ']'; })
                                      : rest.take_while([](char c) { return llvm::isUpper(c); });
    result += std::to_string(computed(name, values));
    text = rest.drop_front(name.size() + isComputed);
  }
}

std::string RuleCase::plain() const {
  Values values;
  for (const auto &[name, all] : variables)
    values[name] = all[0];
  return filledIn(before, values);
}

namespace {

/// A value that a program's own inputs or outputs are, as it is written: "x[2, 3] f32".
struct Declared {
  std::string name, type;
  llvm::SmallVector<std::string> iterators, indices; ///< "a0:2", "a0".

  std::string defined() const { return name + "[" + llvm::join(iterators, ", ") + "] " + type; }
  std::string read(const std::string &of) const {
    return of + "[" + llvm::join(indices, ", ") + "]";
  }
};

Declared declaredAs(const Program &program, ValueId id) {
  const Value &value = program.value(id);
  Declared result{value.name, std::string(nameOf(value.type)), {}, {}};
  for (auto [d, extent] : llvm::enumerate(value.shape)) {
    result.indices.push_back("a" + std::to_string(d));
    result.iterators.push_back(result.indices.back() + ":" + std::to_string(extent.constant()));
  }
  return result;
}

/// The same values in the same types; whole numbers stay so.
std::string anything(Chance &chance, const std::string &read) {
  static const char *const forms[] = {"max($, 0)", "min($, 1)", "0 - $", "$ + $", "abs($)"};
  std::string result;
  for (char c : std::string(chance.pick(forms)))
    result += c == '$' ? read : std::string(1, c);
  return result;
}

} // namespace

std::string RuleCase::varied(Chance &chance) const {
  Values values;
  for (const auto &[name, all] : variables)
    values[name] = chance.pick(all);
  std::string text = filledIn(before, values);
  Program program = parsed(text);
  std::string rest = text;
  for (ValueId id : program.inputs) {
    Declared input = declaredAs(program, id);
    if (!chance.oneIn(3))
      continue;
    std::string head = "\ninput " + input.name + "[";
    size_t start = ("\n" + rest).find(head);
    size_t end = rest.find('\n', start);
    Declared raw = input;
    raw.name += ".raw";
    rest.replace(start, end - start,
                 "input " + raw.defined() + "\n" + input.defined() + " = " +
                     anything(chance, input.read(raw.name)));
  }
  for (const auto &output : program.outputs) {
    Declared own = declaredAs(program, output.value), further = own;
    further.name += ".further";
    if (chance.oneIn(2))
      rest += further.defined() + " = " + anything(chance, own.read(own.name)) + "\noutput " +
              further.name + "\n";
  }
  return rest;
}

te::Program applied(const Rule &rule, const RuleCase &known, const te::Program &before) {
  RuleContext context;
  context.margins = cost::Margins::none();
  search::ScheduleOptions &options = context.space.schedule;
  options.machine = *machine::Machine::forLevel(known.machine);
  if (options.machine.threads > 0) {
    options.scratchLimit = 96 << 10;
    options.ringLimit = 225 << 10;
    options.clusterBlocks = 8;
    options.copies = false;
  }
  EXPECT_TRUE(rule.helps(options.machine));
  Expected<te::Program> result = rule.apply(before, context);
  EXPECT_TRUE(result.ok()) << result.error().message;
  Status valid = result.ok() ? result->verify() : Status::success();
  EXPECT_TRUE(valid.ok()) << valid.error().message << te::printProgram(*result);
  return result.ok() ? std::move(*result) : te::Program();
}

void nameOriginals(te::Program &program) {
  for (uint32_t number = 0; number < program.numValues(); ++number)
    if (program.values[number].kind == te::ValueKind::Result)
      program.values[number].original = te::Original{number, {}};
}

void expectNear(const te::ExactTensor &one, const te::ExactTensor &other, bool isNarrow) {
  double tolerance = isNarrow ? 2e-3 : 1e-6, largest = 0;
  ASSERT_EQ(one.shape, other.shape);
  EXPECT_EQ(one.integers, other.integers);
  for (double each : one.floats)
    largest = std::isfinite(each) ? std::max(largest, std::abs(each)) : largest;
  for (auto [k, pair] : llvm::enumerate(llvm::zip_equal(one.floats, other.floats))) {
    auto [own, its] = pair;
    if (std::isfinite(own))
      EXPECT_NEAR(own, its, tolerance * std::max(largest, 1.0)) << "at " << k;
    else
      EXPECT_TRUE(own == its || (std::isnan(own) && std::isnan(its))) << "at " << k;
  }
}

} // namespace kintsugi::derive
