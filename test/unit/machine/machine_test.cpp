#include "machine/machine.h"

#include "base/json.h"
#include "machine/describe.h"

#include <gtest/gtest.h>

namespace kintsugi::machine {
namespace {

Machine parsed(const std::string &text) {
  auto machine = Machine::parse(text);
  EXPECT_TRUE(machine.ok()) << (machine.ok() ? "" : machine.error().message);
  return machine.ok() ? *machine : Machine();
}

TEST(Machine, detectedDescriptionIsUsableAndStable) {
  Machine machine = Machine::detect();
  EXPECT_FALSE(machine.name.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.vectorBits, 128);
  EXPECT_GT(machine.flopsPerSecond, 1e9);
  ASSERT_GE(machine.levels.size(), 2u);
  EXPECT_EQ(machine.memory().name, "memory");
  EXPECT_EQ(machine.levels.back().name, "L1");
  for (size_t i = 1; i < machine.levels.size(); ++i) {
    EXPECT_LT(machine.levels[i].bytes, machine.levels[i - 1].bytes);
    EXPECT_GE(machine.levels[i].bytesPerSecond, machine.levels[i - 1].bytesPerSecond / 2);
  }
  EXPECT_EQ(machine, Machine::detect());
}

TEST(Machine, everyLevelThatTheMachineHas) {
  std::vector<Machine> levels = Machine::detectLevels();
  if (Machine::detect().level < "x86-64-v3") {
    EXPECT_TRUE(levels.empty());
    return;
  }
  EXPECT_EQ(levels.front(), Machine::detect());
  EXPECT_EQ(levels.back().level, "x86-64-v3");
  EXPECT_EQ(levels.back().vectorBits, 256);
  EXPECT_EQ(levels.back().cores, levels.front().cores);
}

TEST(Machine, identityNamesTheProcessor) {
  EXPECT_EQ(Machine::identity(), Machine::identity());
  EXPECT_NE(Machine::identity().find(Machine::detect().name), std::string::npos);
}

TEST(Machine, roundTrips) {
  for (const Machine &machine : {Machine::detect(), *Machine::forLevel("x86-64-v3"),
                                 *Machine::forLevel("x86-64-v4"), *Machine::forLevel("sm_90a")})
    EXPECT_EQ(parsed(machine.print()), machine);
}

TEST(Machine, textsHaveEveryNumberOfACore) {
  Machine machine = *Machine::forLevel("sm_90a");
  Json text = *parseJson(machine.print());
  ASSERT_TRUE(text.contains("core"));
  EXPECT_EQ(text["core"].size(), 15u);
  for (const auto &item : text["core"].items()) {
    Json changed = text;
    changed["core"][item.key()] = 2 * item.value().get<double>() <= 64
                                      ? Json(2 * item.value().get<int>())
                                      : Json(item.value().get<int>() / 2);
    Machine other = parsed(printJson(changed));
    EXPECT_NE(other, machine) << item.key();
    EXPECT_EQ(parsed(other.print()), other) << item.key();
    changed["core"].erase(item.key()); // As the level has it.
    EXPECT_EQ(parsed(printJson(changed)), machine) << item.key();
    changed["core"][item.key()] = -1;
    auto refused = Machine::parse(printJson(changed));
    ASSERT_FALSE(refused.ok()) << item.key();
    EXPECT_NE(refused.error().message.find(item.key()), std::string::npos)
        << refused.error().message;
  }
  text["core"]["subgroup"] = 24;
  EXPECT_FALSE(Machine::parse(printJson(text)).ok());
  text.erase("core");
  EXPECT_EQ(parsed(printJson(text)), machine);
  EXPECT_FALSE(parseJson(Machine::forLevel("x86-64-v4")->print())->contains("core"));
}

TEST(Machine, coresOfALevelHaveWhatItsCodeMayUse) {
  BlockCore every = BlockCore::of("sm_80"), hopper = BlockCore::of("sm_90a");
  EXPECT_EQ(every.ringBytes, 0);
  EXPECT_EQ(every.clusterBlocks, 1);
  EXPECT_GT(hopper.ringBytes, hopper.scratchBytes);
  EXPECT_EQ(hopper.clusterBlocks, 8);
  EXPECT_EQ(every.scratchBytes, hopper.scratchBytes); // Its code runs beside the other's.
}

TEST(Machine, levels) {
  Machine v3 = *Machine::forLevel("x86-64-v3"), v4 = *Machine::forLevel("x86-64-v4");
  EXPECT_EQ(v3.vectorBits, 256);
  EXPECT_EQ(v3.vectorRegisters, 16);
  EXPECT_EQ(v4.vectorBits, 512);
  EXPECT_EQ(v4.vectorRegisters, 32);
  EXPECT_DOUBLE_EQ(v4.flopsPerSecond, 2 * v3.flopsPerSecond);
  EXPECT_EQ(v4.nearBytes(), v4.levels[2].bytes);
  EXPECT_EQ(v4.levels[2].name, "L2");

  auto unknown = Machine::forLevel("x86-64-v9");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::Usage);
  EXPECT_NE(unknown.error().message.find("x86-64-v9"), std::string::npos);
}

TEST(Machine, aLevelRunsOnMachinesThatHaveIt) {
  EXPECT_TRUE(checkRuns(Level::V4, Level::V3).ok());
  EXPECT_TRUE(checkRuns(Level::V3, Level::V3).ok());
  Status status = checkRuns(Level::V3, Level::V4);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::Machine);
  EXPECT_EQ(status.error().message,
            "this processor has the instructions of x86-64-v3; what is asked "
            "for needs those of x86-64-v4 (AVX-512)");
  EXPECT_NE(checkRuns(Level::V2, Level::V3).error().message.find("x86-64-v3 (AVX2)"),
            std::string::npos);
}

TEST(Machine, everyLevelCanBeDescribed) {
  for (Level level : {Level::V3, Level::V4}) {
    Machine machine = Machine::detectAt(level);
    EXPECT_EQ(machine.level, nameOf(level));
    EXPECT_EQ(levelOf(machine.level), level);
    EXPECT_EQ(machine.cores, Machine::detect().cores);
    EXPECT_EQ(parsed(machine.print()), machine);
  }
  EXPECT_EQ(levelOf("x86-64-v9"), std::nullopt);
}

TEST(Machine, peakFollowsUnitsAndFrequency) {
  Host host;
  host.hertz = 3.7e9;
  // Zen 4's one 512-bit multiply-add a cycle.
  EXPECT_DOUBLE_EQ(describe(host, Level::V4, 1).flopsPerSecond, 118.4e9);
  EXPECT_DOUBLE_EQ(describe(host, Level::V3, 2).flopsPerSecond, 118.4e9);
  EXPECT_DOUBLE_EQ(describe(host, Level::V2, 2).flopsPerSecond, 29.6e9);
}

TEST(Machine, sharingIsCountedInUsableCores) {
  Host host;
  host.cores = 2;
  host.caches = {{1, 32768, 1}, {3, 1 << 25, 16}};
  Machine machine = describe(host, Level::V3, 2);
  ASSERT_EQ(machine.levels.size(), 3u);
  EXPECT_EQ(machine.levels[1].sharedBy, 2);
  EXPECT_EQ(machine.levels[2].sharedBy, 1);
  EXPECT_EQ(parsed(machine.print()), machine);
}

/// The description of a level with one member changed, and what the error must name.
struct BadCase {
  const char *key;
  Json value;
  const char *named;
};

TEST(Machine, refusesWrongDescriptions) {
  Json good = *parseJson(Machine::forLevel("x86-64-v4")->print());
  std::vector<BadCase> cases = {
      {"name", "", "name"},
      {"name", 3, "name"},
      {"cores", 0, "cores"},
      {"cores", 1 << 20, "cores"},
      {"vectorBits", 96, "vector"},
      {"vectorBits", 16, "vector"},
      {"vectorRegisters", -1, "Reg"},
      {"flopsPerSecond", 0, "flops"},
      {"flopsPerSecond", "fast", "flops"},
      {"stageSeconds", -1e-6, "stageSeconds"},
      {"levels", Json::array(), "levels"},
      {"levels", Json::array({3}), "level 0"},
  };
  for (const BadCase &bad : cases) {
    Json changed = good;
    changed[bad.key] = bad.value;
    auto machine = Machine::parse(printJson(changed));
    ASSERT_FALSE(machine.ok()) << bad.key << " " << bad.value;
    EXPECT_EQ(machine.error().kind, ErrorKind::Input);
    EXPECT_NE(machine.error().message.find(bad.named), std::string::npos)
        << machine.error().message;
  }
  for (const auto &item : good.items()) {
    Json changed = good;
    changed.erase(item.key());
    EXPECT_FALSE(Machine::parse(printJson(changed)).ok()) << item.key();
  }
  Json changed = good;
  changed["levels"][1]["bytes"] = -5;
  EXPECT_FALSE(Machine::parse(printJson(changed)).ok());
  for (const char *text : {"", "{", "[]", "null", "{\"name\": \"x\"}"})
    EXPECT_FALSE(Machine::parse(text).ok()) << text;
}

} // namespace
} // namespace kintsugi::machine
