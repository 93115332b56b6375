// A space is the same whatever the number of threads that schedule, and what they find does not
// depend on where in a program a group stands.

#include "base/parallel.h"
#include "space/lone_group.h"
#include "space/space.h"

#include "../orchestrate/programs.h"
#include "../te/random_program.h"
#include "definitions.h"

namespace kintsugi::space {
namespace {

using orchestrate::programOf;
using orchestrate::smallOptions;

std::string spaceOf(const te::Program &program, unsigned threads) {
  SpaceOptions options = smallOptions().space;
  options.threads = threads;
  Expected<Space> space = buildSpace(program, definitionsOf(program), options);
  return space.ok() ? space->print() : space.error().message;
}

TEST(ScheduleAhead, ChangesNoSpace) {
  te::RandomOptions options;
  options.definitions = 12;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    te::Program program = te::randomProgram(seed, options);
    EXPECT_EQ(spaceOf(program, 4), spaceOf(program, 1)) << "seed " << seed;
  }
}

TEST(ScheduleAhead, MeetsEqualLayersAtTheSameTime) {
  std::string text = "input x0[i:48, j:48] f32\ninput w[i:48, j:48] f32\n";
  for (int layer = 0; layer < 8; ++layer) {
    std::string number = std::to_string(layer), in = "x" + number, sum = "s" + number;
    text += sum + "[i:48, j:48] f32 = sum<f32>[k:48] " + in + "[i, k] * w[k, j]\n";
    text += "x" + std::to_string(layer + 1) + "[i:48, j:48] f32 = exp(" + sum + "[i, j]) + " + in +
            "[i, j]\n";
  }
  te::Program program = programOf((text + "output x8").c_str());
  for (int time = 0; time < 5; ++time)
    EXPECT_EQ(spaceOf(program, 8), spaceOf(program, 1));
}

TEST(ScheduleAhead, ChangesNoSpaceOfProgramsThatShareAMemo) {
  te::RandomOptions options;
  options.definitions = 12;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    te::Program program = te::randomProgram(seed, options);
    ScheduleMemo memo;
    std::vector<std::string> spaces = makeInParallel(3, 3, [&](size_t) {
      SpaceOptions shared = smallOptions().space;
      shared.memo = &memo;
      Expected<Space> space = buildSpace(program, definitionsOf(program), shared);
      return space.ok() ? space->print() : space.error().message;
    });
    for (const std::string &space : spaces)
      EXPECT_EQ(space, spaceOf(program, 1)) << "seed " << seed;
  }
}

TEST(LoneGroup, DependsOnTheKeyAlone) {
  te::Program program = programOf("input unused[i:2] f32\ninput y[i:6] f32\ninput x[i:6] f32\n"
                                  "a[i:6] f32 = x[i] - y[i]\n"
                                  "b[i:6] f32 = y[i] - a[i]\n"
                                  "output b");
  auto aloneOf = [&](uint32_t node) {
    loops::Group group{{node}, {program.resultsOf(node)[0]}, {}};
    return loneGroupOf(program, group, keyOf(program, group));
  };
  LoneGroup first = aloneOf(0), second = aloneOf(1);
  EXPECT_EQ(first.key.text, second.key.text);
  EXPECT_EQ(keyOf(first.program, first.group).text, first.key.text);
  EXPECT_EQ(keyOf(first.program, first.group).values, first.key.values);
  for (const LoneGroup *group : {&first, &second}) {
    const auto &body = std::get<te::Definition>(group->program.nodes[0]).bodies[0];
    EXPECT_EQ(body.operand(0).readValue().number, 0u); // In the order in which they are read.
    EXPECT_EQ(body.operand(1).readValue().number, 1u);
    EXPECT_EQ(group->group.outputs[0].number, 2u);
  }
}

} // namespace
} // namespace kintsugi::space
