// What growth offers: convex connected groups with what they must store, and one kernel for equal
// groups.

#include "cost/cost.h"
#include "search/point_text.h"
#include "space/growth.h"
#include "space/space.h"
#include "space/space_text.h"

#include "../orchestrate/programs.h"
#include "../te/random_program.h"
#include "definitions.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace kintsugi::space {
namespace {

using orchestrate::programOf;
using orchestrate::smallOptions;

/// reaches[a][b]: a path of at least one edge leads from node a to node b.
std::vector<std::vector<bool>> reachability(const te::Program &program) {
  size_t count = program.nodes.size();
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count, false));
  for (uint32_t node = 0; node < count; ++node)
    for (te::ValueId operand : program.operandsOf(node)) {
      const te::Value &value = program.value(operand);
      if (value.kind != te::ValueKind::Result)
        continue;
      reaches[value.node][node] = true;
      for (size_t from = 0; from < count; ++from)
        if (reaches[from][value.node])
          reaches[from][node] = true;
    }
  return reaches;
}

void checkGroup(const te::Program &program, const loops::Group &group,
                const std::vector<std::vector<bool>> &reaches) {
  std::set<uint32_t> members(group.nodes.begin(), group.nodes.end());
  ASSERT_EQ(members.size(), group.nodes.size());
  EXPECT_TRUE(llvm::is_sorted(group.nodes));
  for (uint32_t outside = 0; outside < program.nodes.size(); ++outside) {
    if (members.contains(outside))
      continue;
    bool below = llvm::any_of(members, [&](uint32_t m) { return reaches[m][outside]; });
    bool above = llvm::any_of(members, [&](uint32_t m) { return reaches[outside][m]; });
    EXPECT_FALSE(below && above) << "a path leaves the group through node " << outside;
  }
  // Whatever is read outside, by a node or as an output, must be stored.
  std::set<uint32_t> stored;
  for (te::ValueId output : group.outputs)
    stored.insert(output.number);
  auto mustStore = [&](te::ValueId id) {
    const te::Value &value = program.value(id);
    if (value.kind == te::ValueKind::Result && members.contains(value.node))
      EXPECT_TRUE(stored.contains(id.number)) << value.name;
  };
  for (const te::Program::Output &output : program.outputs)
    mustStore(output.value);
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    if (!members.contains(node))
      for (te::ValueId operand : program.operandsOf(node))
        mustStore(operand);
}

TEST(Growth, OffersConvexGroupsThatStoreWhatIsReadOutside) {
  te::RandomOptions random;
  random.definitions = 9;
  size_t larger = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    te::Program program = te::randomProgram(seed, random);
    auto reaches = reachability(program);
    SpaceOptions options = smallOptions().space;
    Growth growth(program, definitionsOf(program), options);
    std::set<std::vector<uint32_t>> seen;
    unsigned fuel = options.fuel;
    for (uint32_t node : definitionsOf(program))
      growth.from(node, fuel, [&](loops::Group group) -> std::optional<double> {
        checkGroup(program, group, reaches);
        EXPECT_EQ(group.nodes.back(), node);
        EXPECT_TRUE(seen.insert({group.nodes.begin(), group.nodes.end()}).second) << "met twice";
        EXPECT_LE(group.outputs.size(), options.caps.outputs);
        larger += group.nodes.size() > 2;
        return 0;
      });
  }
  EXPECT_GT(larger, 100u);
}

TEST(Growth, GoesThroughSharedInputsOfOneShape) {
  te::Program program = programOf("input x[i:8, j:4] f32\ninput w[i:8] f32\n"
                                  "a[i:8] f32 = sum<f32>[j:4] x[i, j]\n"
                                  "b[j:4] f32 = sum<f32>[i:8] x[i, j]\n"
                                  "c[i:8] f32 = max<f32>[j:4] x[i, j] + w[i]\n"
                                  "d[i:8] f32 = w[i] * 2\n"
                                  "output a\noutput b\noutput c\noutput d");
  SpaceOptions options = smallOptions().space;
  auto offeredOf = [&] {
    Growth growth(program, definitionsOf(program), options);
    std::set<std::vector<uint32_t>> offered;
    for (uint32_t node : definitionsOf(program)) {
      unsigned fuel = options.fuel;
      growth.from(node, fuel, [&](loops::Group group) -> std::optional<double> {
        offered.insert({group.nodes.begin(), group.nodes.end()});
        return 0;
      });
    }
    return offered;
  };
  using Offered = std::set<std::vector<uint32_t>>;
  EXPECT_EQ(offeredOf(), (Offered{{0, 2}, {2, 3}, {0, 2, 3}})) << "b has another shape";
  options.constants.assign(program.numValues(), false);
  options.constants[program.inputs[1].number] = true;
  EXPECT_EQ(offeredOf(), (Offered{{0, 2}})) << "constants are read by whom they may";
  options.caps.siblingsARoot = 0;
  EXPECT_EQ(offeredOf(), Offered());
}

TEST(Growth, APathThatLeavesAndComesBackIsNoGroup) {
  te::Program program = programOf("input x[i:8] f32\n"
                                  "a[i:8] f32 = exp(x[i])\n"
                                  "(v[2] f32, at[2] i64) = call TopK(a) {\"k\":2}\n"
                                  "c[i:8] f32 = a[i] + v[0]\n"
                                  "output c");
  Expected<Space> space = buildSpace(program, definitionsOf(program), smallOptions().space);
  ASSERT_TRUE(space.ok()) << space.error().message;
  EXPECT_EQ(space->candidates.size(), 2u) << space->print();
}

TEST(Growth, OffersAttentionWithoutTheTableOfAMaskThatIsMadeOnTheWay) {
  te::Program program =
      programOf("input q[i:8, d:4] f32\ninput k[j:8, d:4] f32\ninput v[j:8, d:4] f32\n"
                "input mask[i:8, j:8] bool\n"
                "open[a:2, b:2] bool = or<bool>[r:4, c:4] mask[4*a+r, 4*b+c]\n"
                "s[i:8, j:8] f32 = sum<f32>[d:4] q[i, d] * k[j, d]\n"
                "x[i:8, j:8] f32 = cases { open[i // 4, j // 4]: s[i, j]; else: -inf }\n"
                "(m[i:8] f32, z[i:8] f32) = softmax_stats<f32>[j:8] x[i, j]\n"
                "e[i:8, j:8] f32 = exp(x[i, j] - m[i])\n"
                "o[i:8, d:4] f32 = sum<f32>[j:8] e[i, j] * v[j, d]\n"
                "output o");
  SpaceOptions options = smallOptions().space;
  Growth growth(program, definitionsOf(program), options);
  std::set<std::vector<uint32_t>> offered;
  unsigned fuel = 3; // Ahead of all that grows step by step.
  growth.from(program.nodes.size() - 1, fuel, [&](loops::Group group) -> std::optional<double> {
    offered.insert({group.nodes.begin(), group.nodes.end()});
    return std::nullopt;
  });
  EXPECT_TRUE(offered.contains({0, 1, 2, 3, 4, 5})) << "all of it";
  EXPECT_TRUE(offered.contains({1, 2, 3, 4, 5})) << "what reads the table";
}

TEST(Growth, OffersGroupsOfAnotherSizesPlanAlone) {
  auto ofSize = [](const std::string &n) {
    std::string rows = "[i:" + n;
    std::string text = "input x" + rows + ", j:4] f32\na" + rows + ", j:4] f32 = exp(x[i, j])\n" +
                       "b" + rows + "] f32 = sum<f32>[j:4] a[i, j]\n" + "c" + rows +
                       ", j:4] f32 = a[i, j] / b[i]\noutput c";
    return programOf(text.c_str());
  };
  te::Program greatest = ofSize("16"), smaller = ofSize("8");
  GroupNames names;
  names.add(greatest, {0, 1});
  names.add(programOf("input x[8] f32\nz[i:8] f32 = x[i]\nc[i:8] f32 = z[i]\noutput c"), {0, 1});
  SpaceOptions options = smallOptions().space;
  options.likely = &names;
  Growth growth(smaller, definitionsOf(smaller), options);
  std::vector<loops::Group> offered;
  for (uint32_t node : definitionsOf(smaller)) {
    unsigned fuel = options.fuel;
    growth.from(node, fuel, [&](loops::Group group) -> std::optional<double> {
      offered.push_back(std::move(group));
      return 0;
    });
  }
  ASSERT_EQ(offered.size(), 1u) << "nothing has the name z here";
  EXPECT_EQ(offered[0].nodes, (llvm::SmallVector<uint32_t>{0, 1}));
  EXPECT_EQ(offered[0].outputs.size(), 2u);
}

TEST(Growth, FuelEndsIt) {
  te::Program program = programOf(orchestrate::smallPrograms[2].text);
  SpaceOptions options = smallOptions().space;
  options.fuel = 2;
  Expected<Space> space = buildSpace(program, definitionsOf(program), options);
  ASSERT_TRUE(space.ok()) << space.error().message;
  EXPECT_TRUE(space->outOfFuel);
  EXPECT_LE(space->candidates.size(), program.nodes.size() + 2);
  EXPECT_NE(space->print().find("fuel spent"), std::string::npos);
}

TEST(Space, EqualLayersShareOneKernel) {
  te::Program program = programOf(orchestrate::smallPrograms[3].text);
  Expected<Space> space = buildSpace(program, definitionsOf(program), smallOptions().space);
  ASSERT_TRUE(space.ok()) << space.error().message;
  auto kernelOf = [&](std::vector<uint32_t> nodes) -> const KernelShape * {
    for (const Candidate &candidate : space->candidates)
      if (llvm::equal(candidate.group.nodes, nodes))
        return candidate.kernel.get();
    return nullptr;
  };
  for (auto [first, second] : {std::pair<std::vector<uint32_t>, std::vector<uint32_t>>{{0}, {2}},
                               {{1}, {3}},
                               {{0, 1}, {2, 3}}}) {
    ASSERT_NE(kernelOf(first), nullptr) << space->print();
    EXPECT_EQ(kernelOf(first), kernelOf(second)) << space->print();
  }
  EXPECT_NE(kernelOf({0}), kernelOf({1}));
  // Their operands differ: each candidate names its own.
  for (const Candidate &candidate : space->candidates)
    for (te::ValueId output : candidate.group.outputs)
      EXPECT_TRUE(llvm::is_contained(candidate.operands, output));
}

TEST(Space, WhatIsStoredIsPartOfAKernel) {
  // The same two definitions, but in one place the first is read elsewhere as well.
  te::Program program = programOf("input x[i:8] f32\ninput y[i:8] f32\n"
                                  "a[i:8] f32 = exp(x[i])\nb[] f32 = sum<f32>[i:8] a[i]\n"
                                  "c[i:8] f32 = exp(y[i])\nd[] f32 = sum<f32>[i:8] c[i]\n"
                                  "output b\noutput d\noutput c");
  Expected<Space> space = buildSpace(program, definitionsOf(program), smallOptions().space);
  ASSERT_TRUE(space.ok()) << space.error().message;
  std::set<const KernelShape *> pairs;
  for (const Candidate &candidate : space->candidates)
    if (candidate.group.nodes.size() == 2)
      pairs.insert(candidate.kernel.get());
  EXPECT_EQ(pairs.size(), 2u) << space->print();
}

TEST(MeasuredSeconds, TakeThePlaceOfPredictions) {
  te::Program program = programOf("input x[i:4096] f32\n"
                                  "y[i:4096] f32 = x[i] + 1\nz[i:4096] f32 = exp(y[i])\n"
                                  "output y\noutput z\n");
  SpaceOptions options = smallOptions().space;
  const machine::Machine &machine = options.schedule.machine;
  Expected<Space> plain = buildSpace(program, {0, 1}, options);
  ASSERT_TRUE(plain.ok());
  const KernelShape &usual = *plain->candidates[0].kernel;
  MeasuredKernels measured;
  measured.bias = 2;
  measured.seconds[timingKey(usual.key, options.schedule, usual.point)] = 0.125;
  options.measured = &measured;
  Expected<Space> space = buildSpace(program, {0, 1}, options);
  ASSERT_TRUE(space.ok());
  ASSERT_EQ(space->candidates.size(), plain->candidates.size());
  EXPECT_EQ(cost::predictSeconds(*space->candidates[0].kernel, machine), 0.125);
  EXPECT_DOUBLE_EQ(cost::predictAloneSeconds(*space->candidates[0].kernel, machine),
                   0.125 * cost::predictAloneSeconds(usual, machine) /
                       cost::predictSeconds(usual, machine));
  for (size_t other = 1; other < space->candidates.size(); ++other)
    EXPECT_DOUBLE_EQ(cost::predictSeconds(*space->candidates[other].kernel, machine),
                     2 * cost::predictSeconds(*plain->candidates[other].kernel, machine));
  Expected<Space> again = parseSpace(space->print(), "test.space", program);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->print(), space->print());
  EXPECT_EQ(cost::predictSeconds(*again->candidates[0].kernel, machine), 0.125);
}

TEST(TunedSchedules, TakeThePlaceOfWhatTheSearchFinds) {
  te::Program program = programOf("input a[m:32, k:40] f32\ninput b[k:40, n:48] f32\n"
                                  "y[m:32, n:48] f32 = sum<f32>[k:40] a[m, k] * b[k, n]\n"
                                  "output y\n");
  SpaceOptions options = smallOptions().space;
  Expected<Space> plain = buildSpace(program, {0}, options);
  ASSERT_TRUE(plain.ok());
  const KernelShape &usual = *plain->candidates[0].kernel;
  EXPECT_EQ(usual.untuned, nullptr);
  MeasuredKernels tuned;
  Hash128 key = tuningKey(usual.key, options.schedule);
  tuned.schedules[key] = {*search::parsePoint("- 5,48 -"), 0.75};
  options.measured = &tuned;
  Expected<Space> space = buildSpace(program, {0}, options);
  ASSERT_TRUE(space.ok());
  const KernelShape &kernel = *space->candidates[0].kernel;
  ASSERT_EQ(kernel.schedule.space.size(), 1u);
  EXPECT_EQ(kernel.schedule.space[0].size, 5);
  ASSERT_NE(kernel.untuned, nullptr);
  EXPECT_EQ(kernel.untuned->schedule.print(), usual.schedule.print());
  double usualCost = cost::predictSeconds(usual, options.schedule.machine);
  EXPECT_DOUBLE_EQ(cost::predictSeconds(kernel, options.schedule.machine), 0.75 * usualCost);
  Expected<Space> again = parseSpace(space->print(), "test.space", program);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->print(), space->print());
  EXPECT_DOUBLE_EQ(cost::predictSeconds(*again->candidates[0].kernel, options.schedule.machine),
                   0.75 * usualCost);

  ScheduleMemo memo;
  options.memo = &memo;
  for (int time = 0; time < 2; ++time) { // What is remembered is the untuned schedule.
    Expected<Space> remembered = buildSpace(program, {0}, options);
    ASSERT_TRUE(remembered.ok());
    EXPECT_EQ(remembered->print(), space->print());
    EXPECT_EQ(memo.size(), 1u);
    const Scheduled &kept = memo.at(usual.key.text, [] { return Scheduled(); });
    ASSERT_NE(kept.kernel, nullptr);
    EXPECT_EQ(kept.kernel->schedule.print(), usual.schedule.print());
  }

  tuned.schedules[key].point = *search::parsePoint("- 33,48 -");
  Expected<Space> without = buildSpace(program, {0}, options);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->candidates[0].kernel->schedule.print(), usual.schedule.print());

  search::ScheduleOptions other = options.schedule;
  other.packing = !other.packing;
  EXPECT_NE(tuningKey(usual.key, other), key);
}

} // namespace
} // namespace kintsugi::space
