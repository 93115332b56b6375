// Operators that kernels have as a whole or not at all, and plans of those.

#include "space/space.h"

#include "../orchestrate/programs.h"
#include "../te/random_program.h"
#include "definitions.h"
#include "llvm/ADT/STLExtras.h"

#include <random>
#include <set>

namespace kintsugi::space {
namespace {

using orchestrate::PlanMode;
using orchestrate::programOf;
using orchestrate::smallOptions;
using Groups = std::set<std::vector<uint32_t>>;

orchestrate::OrchestrateOptions keeping(PlanMode mode = PlanMode::Search) {
  orchestrate::OrchestrateOptions options = smallOptions(mode);
  options.space.keepsOperators = true;
  return options;
}

Groups groupsOf(const te::Program &program, SpaceOptions options) {
  Expected<Space> space = buildSpace(program, definitionsOf(program), options);
  EXPECT_TRUE(space.ok()) << (space.ok() ? "" : space.error().message);
  Groups groups;
  if (space.ok())
    for (const Candidate &candidate : space->candidates)
      groups.insert({candidate.group.nodes.begin(), candidate.group.nodes.end()});
  return groups;
}

/// What is a kernel where nothing is fused.
Groups partsOf(const te::Program &program) {
  SpaceOptions options = keeping().space;
  options.fuse = false;
  return groupsOf(program, options);
}

void expectPlans(const te::Program &program) {
  for (PlanMode mode :
       {PlanMode::Search, PlanMode::Greedy, PlanMode::Separate, PlanMode::Exhaustive}) {
    Expected<orchestrate::Plan> plan = orchestrate::orchestrate(program, keeping(mode));
    EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  }
}

TEST(WholeOperators, AreSharedWholeOrNotAtAll) {
  te::Program program = programOf("input x[i:64, j:32] f32\n"
                                  "r[i:64, j:32] f32 = max(x[i, j], 0) @\"relu\"\n"
                                  "m[i:64] f32 = max<f32>[j:32] r[i, j] @\"softmax\"\n"
                                  "e[i:64, j:32] f32 = exp(r[i, j] - m[i]) @\"softmax\"\n"
                                  "s[i:64] f32 = sum<f32>[j:32] e[i, j] @\"softmax\"\n"
                                  "p[i:64, j:32] f32 = e[i, j] / s[i] @\"softmax\"\n"
                                  "y[i:64, j:32] f32 = p[i, j] * 2\n"
                                  "z[i:64, j:32] f32 = y[i, j] + 1\n"
                                  "output z");
  EXPECT_EQ(partsOf(program), (Groups{{0}, {1, 2, 3, 4}, {5}, {6}}));
  Groups groups = groupsOf(program, keeping().space);
  for (const std::vector<uint32_t> &group : groups)
    EXPECT_TRUE(llvm::count_if(group, [](uint32_t n) { return n >= 1 && n <= 4; }) % 4 == 0);
  EXPECT_TRUE(groups.contains({0, 1, 2, 3, 4}) && groups.contains({1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(groupsOf(program, smallOptions().space).contains({0, 1}));
  expectPlans(program);
}

TEST(WholeOperators, WithOneOriginInCommonAreOne) {
  te::Program program =
      programOf("input x[i:8, j:8] f32\ninput w[j:8, k:16] f32\n"
                "p[i:8, k:16] f32 = sum<f32>[j:8] x[i, j] * w[j, k] @\"q\", \"k\"\n"
                "a[i:8, k:8] f32 = p[i, k] + 1 @\"q\"\n"
                "b[i:8, k:8] f32 = p[i, k+8] + 2 @\"k\"\n"
                "c[i:8, k:8] f32 = a[i, k] * b[i, k] @\"other\"\n"
                "output c\noutput a");
  EXPECT_EQ(partsOf(program), (Groups{{0, 1, 2}, {3}}));
  expectPlans(program);
}

TEST(WholeOperators, ThatNoKernelComputesComeApartFromTheirEnd) {
  // Nothing stores results of different shapes in the same tiles.
  te::Program program = programOf("input x[i:64, j:32] f32\n"
                                  "a[i:64, j:32] f32 = exp(x[i, j]) @\"both\"\n"
                                  "b[i:64] f32 = sum<f32>[j:32] a[i, j] @\"both\"\n"
                                  "c[j:32] f32 = sum<f32>[i:64] x[i, j] @\"both\"\n"
                                  "d[j:32] f32 = c[j] * 2 @\"both\"\n"
                                  "output b\noutput d");
  EXPECT_EQ(partsOf(program), (Groups{{0, 1}, {2, 3}}));
  expectPlans(program);
}

TEST(WholeOperators, ThatAreSlowerInOneKernelComeApart) {
  // Each tile of y needs all of r, which two cores would share otherwise.
  te::Program program = programOf("input x[i:512, j:512] f32\ninput w[i:512, j:64] f32\n"
                                  "r[i:512] f32 = sum<f32>[j:512] exp(tanh(x[i, j])) @\"mix\"\n"
                                  "y[j:64] f32 = sum<f32>[i:512] r[i] * w[i, j] @\"mix\"\n"
                                  "output y");
  EXPECT_TRUE(groupsOf(program, smallOptions().space).contains({0, 1})) << "there is a kernel";
  EXPECT_EQ(partsOf(program), (Groups{{0}, {1}}));
}

TEST(WholeOperators, ThatWaitForEachOtherComeApart) {
  te::Program program = programOf("input x[i:8] f32\n"
                                  "a[i:8] f32 = x[i] + 1 @\"one\"\n"
                                  "b[i:8] f32 = x[i] * 2 @\"other\"\n"
                                  "c[i:8] f32 = a[i] * 3 @\"other\"\n"
                                  "d[i:8] f32 = b[i] + 4 @\"one\"\n"
                                  "e[i:8] f32 = c[i] - d[i] @\"last\"\n"
                                  "f[i:8] f32 = e[i] * e[i] @\"last\"\n"
                                  "output f");
  EXPECT_EQ(partsOf(program), (Groups{{0}, {1}, {2}, {3}, {4, 5}}));
  expectPlans(program);
  te::Program around = programOf("input x[i:8] f32\n"
                                 "a[i:8] f32 = exp(x[i]) @\"top\"\n"
                                 "(v[2] f32, at[2] i64) = call TopK(a) {\"k\":2} @\"top\"\n"
                                 "c[i:8] f32 = a[i] + v[0] @\"top\"\n"
                                 "output c");
  EXPECT_EQ(partsOf(around), (Groups{{0}, {2}}));
  expectPlans(around);
}

TEST(WholeOperators, HavePlansWhateverTheyAre) {
  te::RandomOptions random;
  random.definitions = 9;
  size_t larger = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    te::Program program = te::randomProgram(seed, random);
    std::minstd_rand chance(seed);
    for (std::vector<std::string> &origins : program.origins)
      origins = {"operator " + std::to_string(chance() % 4)};
    Groups parts = partsOf(program), groups = groupsOf(program, keeping().space);
    for (const std::vector<uint32_t> &part : parts) {
      larger += part.size() > 1;
      for (const std::vector<uint32_t> &group : groups) {
        auto held = llvm::count_if(part, [&](uint32_t n) { return llvm::is_contained(group, n); });
        EXPECT_TRUE(held == 0 || size_t(held) == part.size());
      }
    }
    for (PlanMode mode : {PlanMode::Search, PlanMode::Greedy, PlanMode::Separate}) {
      Expected<orchestrate::Plan> plan = orchestrate::orchestrate(program, keeping(mode));
      EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
    }
  }
  EXPECT_GT(larger, 20u);
}

TEST(WholeOperators, AreStepsOfGrowthWhereTheyComeApartToo) {
  te::RandomOptions random;
  random.definitions = 12;
  size_t farther = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    te::Program program = te::randomProgram(seed, random);
    for (auto [node, origins] : llvm::enumerate(program.origins))
      origins = {"operator " + std::to_string(node / 3)};
    SpaceOptions options = keeping().space;
    options.caps.candidatesARoot = 2;
    options.caps.siblingsARoot = 1;
    Groups wholes = groupsOf(program, options);
    options.keepsOperators = false;
    Groups all = groupsOf(program, options);
    for (const std::vector<uint32_t> &group : wholes)
      EXPECT_TRUE(all.contains(group));
    for (std::vector<std::string> &origins : program.origins)
      origins.clear();
    Groups byDefinitions = groupsOf(program, options);
    farther +=
        llvm::any_of(wholes, [&](const auto &group) { return !byDefinitions.contains(group); });
  }
  EXPECT_GT(farther, 5u);
}

TEST(WholeOperators, AreTheSameWithAnyNumberOfThreads) {
  te::RandomOptions random;
  random.definitions = 12;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    te::Program program = te::randomProgram(seed, random);
    for (auto [node, origins] : llvm::enumerate(program.origins))
      origins = {"operator " + std::to_string(node / 3)};
    auto textOf = [&](unsigned threads) {
      SpaceOptions options = keeping().space;
      options.threads = threads;
      Expected<Space> space = buildSpace(program, definitionsOf(program), options);
      return space.ok() ? space->print() : space.error().message;
    };
    EXPECT_EQ(textOf(4), textOf(1)) << "seed " << seed;
  }
}

} // namespace
} // namespace kintsugi::space
