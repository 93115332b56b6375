#include "random_program.h"
#include "te/hash.h"
#include "te/printer.h"
#include "testing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace kintsugi::te {
namespace {

/// Structural equality with values by name: parsing renumbers them.
void expectSameStructure(const Program &a, const Program &b) {
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  EXPECT_EQ(a.origins, b.origins);
  llvm::StringMap<ValueId> numbers;
  for (auto [number, value] : llvm::enumerate(a.values))
    numbers[value.name] = {static_cast<uint32_t>(number)};
  for (uint32_t node = 0; node < a.nodes.size(); ++node) {
    const auto *left = std::get_if<Definition>(&a.nodes[node]);
    const auto *right = std::get_if<Definition>(&b.nodes[node]);
    ASSERT_EQ(left != nullptr, right != nullptr);
    if (!left)
      continue;
    ASSERT_EQ(left->bodies.size(), right->bodies.size());
    for (size_t i = 0; i < left->bodies.size(); ++i) {
      Expr renumbered = rewrite(right->bodies[i], [&](const Expr &e) {
        if (e.kind() != ExprKind::Read)
          return e;
        std::optional<Expr> fill;
        if (e.readFill())
          fill = *e.readFill();
        return Expr::read(numbers.lookup(b.value(e.readValue()).name), e.type(), e.readIndices(),
                          fill);
      });
      EXPECT_TRUE(left->bodies[i] == renumbered) << printNode(a, node) << "\nbecomes\n"
                                                 << printNode(b, node);
    }
  }
}

TEST(RoundTrip, RandomProgramsPrintAndParse) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    RandomOptions options;
    if (seed % 2)
      options.types = {ElementType::F16, ElementType::BF16, ElementType::U64,
                       ElementType::I8,  ElementType::I64,  ElementType::Bool};
    Program program = randomProgram(seed, options);
    std::string text = printProgram(program);
    Expected<Program> back = parseProgram(text, "random.te");
    ASSERT_TRUE(back.ok()) << "seed " << seed << ": " << back.error().message << "\n" << text;
    ASSERT_EQ(printProgram(*back), text) << "seed " << seed;
    expectSameStructure(program, *back);
    EXPECT_TRUE(equivalent(program, *back)) << "seed " << seed;
    if (HasFailure())
      return;
  }
}

TEST(RoundTrip, ParsedProgramsComputeTheSame) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Program program = randomProgram(seed);
    std::vector<ExactTensor> inputs = randomInputs(program, seed);
    auto resolve = [&](const std::string &name, ElementType,
                       llvm::ArrayRef<Extent>) -> Expected<std::shared_ptr<const ConstantSource>> {
      for (const Value &value : program.values)
        if (value.constant && value.constant->identity() == name)
          return value.constant;
      return inputError("no such weights");
    };
    Expected<Program> back = parseProgram(printProgram(program), "random.te", resolve);
    ASSERT_TRUE(back.ok()) << back.error().message;
    expectSame(evaluated(*back, inputs), evaluated(program, inputs));
  }
}

} // namespace
} // namespace kintsugi::te
