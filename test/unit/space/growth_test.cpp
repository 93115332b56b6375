// What growth offers: convex connected groups with what they must store, and one kernel for equal
// groups.

#include "space/growth.h"
#include "space/space.h"

#include "../orchestrate/programs.h"
#include "../te/random_program.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace kintsugi::space {
namespace {

using orchestrate::programOf;
using orchestrate::smallOptions;

llvm::SmallVector<uint32_t> definitionsOf(const te::Program &program) {
  llvm::SmallVector<uint32_t> nodes;
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    if (std::holds_alternative<te::Definition>(program.nodes[node]))
      nodes.push_back(node);
  return nodes;
}

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

void checkGroup(const te::Program &program, const schedule::Group &group,
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
    for (uint32_t node : definitionsOf(program))
      growth.from(node, [&](schedule::Group group) -> std::optional<double> {
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

} // namespace
} // namespace kintsugi::space
