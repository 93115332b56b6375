// Other formats, the same outputs to the last bit.

#include "layout/reorder.h"

#include "../te/random_program.h"
#include "../te/testing.h"
#include "te/printer.h"

#include <algorithm>

namespace kintsugi::layout {
namespace {

using namespace te;

/// Values that may have a format of their own.
std::vector<bool> freeValues(const Program &program) {
  std::vector<bool> free(program.numValues(), false);
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    if (std::holds_alternative<Definition>(program.nodes[node]))
      for (ValueId result : program.resultsOf(node))
        free[result.number] = true;
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    if (!std::holds_alternative<Definition>(program.nodes[node]))
      for (ValueId operand : program.operandsOf(node))
        free[operand.number] = false;
  for (const Program::Output &output : program.outputs)
    free[output.value.number] = false;
  return free;
}

Order anyOrder(Chance &chance, size_t rank) {
  Order order;
  for (unsigned d = 0; d < rank; ++d)
    order.insert(order.begin() + chance.between(0, order.size()), d);
  return order;
}

/// An order for each definition whose results are all free.
std::vector<Order> anyOrders(const Program &program, Chance &chance) {
  std::vector<bool> free = freeValues(program);
  std::vector<Order> orders(program.numValues());
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    llvm::ArrayRef<ValueId> results = program.resultsOf(node);
    if (!std::all_of(results.begin(), results.end(), [&](ValueId id) { return free[id.number]; }))
      continue;
    Order order = anyOrder(chance, program.shape(results[0]).size());
    for (ValueId result : results)
      orders[result.number] = order;
  }
  return orders;
}

TEST(Reorder, RandomProgramsComputeTheSame) {
  unsigned moved = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomOptions options;
    options.definitions = 10;
    Program program = randomProgram(seed, options);
    Chance chance(seed);
    std::vector<Order> orders = anyOrders(program, chance);
    Program changed = reorder(program, orders);
    Status status = changed.verify();
    ASSERT_TRUE(status.ok()) << status.error().message << "\n" << printProgram(changed);
    std::vector<ExactTensor> inputs = randomInputs(program, seed);
    expectSame(evaluated(changed, inputs), evaluated(program, inputs));
    ASSERT_EQ(changed.nodes.size(), program.nodes.size());
    EXPECT_EQ(changed.origins, program.origins);
    for (uint32_t node = 0; node < program.nodes.size(); ++node) {
      const Value &before = program.value(program.resultsOf(node)[0]);
      const Value &after = changed.value(changed.resultsOf(node)[0]);
      EXPECT_EQ(after.name, before.name);
      EXPECT_EQ(after.facts, before.facts);
      EXPECT_EQ(after.shape, permuted(before.shape, orders[program.resultsOf(node)[0].number]));
      moved += after.shape != before.shape;
    }
    if (HasFailure())
      FAIL() << printProgram(program) << "\nbecame\n" << printProgram(changed);
  }
  EXPECT_GT(moved, 50u);
}

TEST(Reorder, PermutesTheDefinitionAndItsReads) {
  Program program = parsed("input x[2, 3, 4] f32\n"
                           "t[i:2, j:3, k:4] f32 = x[i, j, k] + 1\n"
                           "y[i:24] f32 = t[i // 12, i % 12 // 4, i % 4]\n"
                           "output y\n");
  std::vector<Order> orders(program.numValues());
  orders[program.definitionOf(program.outputs[0].value)->bodies[0].readValue().number] = {1, 2, 0};
  EXPECT_EQ(printProgram(reorder(program, orders)),
            printProgram(parsed("input x[2, 3, 4] f32\n"
                                "t[j:3, k:4, i:2] f32 = x[i, j, k] + 1\n"
                                "y[i:24] f32 = t[i % 12 // 4, i % 4, i // 12]\n"
                                "output y\n")));
}

TEST(Reorder, InnermostMovesOneDimension) {
  EXPECT_EQ(innermost({1, 8, 6, 5}, 1), (Order{0, 2, 3, 1}));
  EXPECT_EQ(innermost({1, 8, 6, 5}, 3), Order{});
  EXPECT_EQ(innermost({1, 8, 6, 5}, 0), Order{}) << "one element";
  EXPECT_EQ(innermost({4, 8, 1, 1}, 1), Order{}) << "only dimensions of one element come after it";
  EXPECT_EQ(innermost({4, 8, 1, 1}, 0), (Order{1, 2, 3, 0}));
}

} // namespace
} // namespace kintsugi::layout
