// What a sum of products picks is the same in whatever order the products are stored.

#include "derive/picked_products.h"

#include "on_gpu.h"
#include "simplify/rebuild.h"
#include "te/printer.h"

namespace kintsugi::derive {
namespace {

using namespace te;

/// The last node in two; nullopt where that can't be.
std::optional<Program> split(const Program &program, const Picking &picking) {
  uint32_t last = program.nodes.size() - 1;
  const auto &whole = std::get<Definition>(program.nodes[last]);
  std::optional<PickedProducts> parts = pickedProducts(program, whole, picking);
  if (!parts)
    return std::nullopt;
  simplify::Rebuilder out(program);
  for (uint32_t node = 0; node < last; ++node)
    out.copy(node);
  parts->products.bodies = {out.rename(parts->products.bodies[0])};
  ValueId products = out.fresh.define("t", whole.reduction->accumulator, parts->products);
  out.define(last, parts->sumOf(products));
  Program after = out.finish();
  Status status = after.verify();
  EXPECT_TRUE(status.ok()) << status.error().message << printProgram(after);
  return after;
}

const std::string text = "input x[2, 4, 9, 8] f32\n"
                         "k[g:2, o:3, c:4, h:3, w:2] f32 = f32(mod(i64(o+2*c+3*h+5*w+g), 7) - 3)\n"
                         "y[g:2, o:3, i:9, j:7] f32 = sum<f32>[c:4, h:3, w:2] "
                         "k[g, o, c, h, w] * (x[g, c, i+2*h-2, j+w] | 0)\noutput y\n";
constexpr unsigned channel = 4, alongH = 5, alongW = 6;

} // namespace

TEST(PickedProducts, AreTheSameInAnyOrder) {
  Program before = parsed(text);
  for (llvm::SmallVector<unsigned, 3> pickers :
       {llvm::SmallVector<unsigned, 3>{alongH}, {alongW}, {alongH, alongW}})
    for (PickedOrder order :
         {PickedOrder::RowsFirst, PickedOrder::ColumnsFirst, PickedOrder::LastRowLast}) {
      std::optional<Program> after = split(before, {pickers, 0, order});
      ASSERT_TRUE(after);
      SCOPED_TRACE(printProgram(*after));
      expectSameOfWholeNumbers(*after, before, 4, 5);
    }
}

TEST(PickedProducts, StandWhereTheyAreAskedFor) {
  auto shapeOf = [](PickedOrder order) {
    std::optional<Program> after = split(parsed(text), {{alongH, alongW}, 0, order});
    return after ? after->value(after->resultsOf(1)[0]).shape : Shape();
  };
  // Groups are in both factors; rows are those of x, and only as many as it has.
  EXPECT_EQ(shapeOf(PickedOrder::RowsFirst), (Shape{2, 9, 8, 3, 3, 2}));
  EXPECT_EQ(shapeOf(PickedOrder::ColumnsFirst), (Shape{3, 3, 2, 2, 9, 8}));
  EXPECT_EQ(shapeOf(PickedOrder::LastRowLast), (Shape{2, 9, 3, 3, 2, 8}));
}

TEST(PickedProducts, HaveSomethingToSum) {
  EXPECT_FALSE(split(parsed(text), {{channel, alongH, alongW}, 0}));
  EXPECT_FALSE(split(parsed("input x[4, 9] f32\ninput k[4, 3] f32\n"
                            "y[i:9] f32 = sum<f32>[c:4, h:3] "
                            "(x[c, i+h-1] | 0) * (k[c, h] + f32(i64(h)))\noutput y\n"),
                     {{2}, 1}))
      << "h is a number of its own";
}

} // namespace kintsugi::derive
