#include "machine/measurement.h"

#include <gtest/gtest.h>

namespace kintsugi::machine {
namespace {

Measurement sample() {
  Measurement measurement;
  measurement.stageSeconds = 3e-7;
  measurement.wakeSeconds = 2e-5;
  measurement.levels = {{"x86-64-v4", 2.5e11, 2.4e11, 1.2e11, {{"memory", 4e10, 6e10, 3e10, 5e10}}},
                        {"x86-64-v3", 1.3e11, 1.2e11, 6e10, {{"L2", 2e11, 4e11, 1e11, 2e11}}}};
  return measurement;
}

TEST(Measurement, roundTrips) {
  Expected<Measurement> read = Measurement::fromJson(sample().toJson());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, sample());
}

TEST(Measurement, standsInTheDescriptionOfItsLevel) {
  Machine assumed = *Machine::forLevel("x86-64-v4"), machine = sample().applyTo(assumed);
  EXPECT_EQ(machine.flopsPerSecond, 2.4e11);
  EXPECT_EQ(machine.stageSeconds, 3e-7);
  EXPECT_EQ(machine.memory().bytesPerSecond, 4e10);
  EXPECT_EQ(machine.memory().bytesPerSecondAll, 6e10);
  EXPECT_EQ(machine.memory().bytes, assumed.memory().bytes);
  EXPECT_EQ(machine.levels[1], assumed.levels[1]) << "what was not measured stays";

  machine = sample().applyTo(*Machine::forLevel("x86-64-v3"));
  EXPECT_EQ(machine.flopsPerSecond, 1.2e11);
  EXPECT_EQ(machine.levels[2].bytesPerSecondAll, 4e11);
  EXPECT_EQ(machine.vectorBits, 256);

  assumed.level = "x86-64-v2";
  EXPECT_EQ(sample().applyTo(assumed), assumed);
}

TEST(Measurement, refusesWhatNoMachineHas) {
  Json good = sample().toJson();
  for (const auto &item : good.items()) {
    Json changed = good;
    changed.erase(item.key());
    EXPECT_FALSE(Measurement::fromJson(changed).ok()) << item.key();
  }
  for (const Json &bad : {Json(0), Json(-1.0), Json(1e300), Json("fast"), Json()}) {
    for (const char *key : {"stageSeconds", "wakeSeconds"}) {
      Json changed = good;
      changed[key] = bad;
      EXPECT_FALSE(Measurement::fromJson(changed).ok()) << key << bad;
    }
    for (const char *key : {"flopsOne", "flopsAll", "flopsOneF64"}) {
      Json changed = good;
      changed["levels"][0][key] = bad;
      EXPECT_FALSE(Measurement::fromJson(changed).ok()) << key << bad;
    }
    for (const char *key : {"readOne", "readAll", "copyOne", "copyAll"}) {
      Json changed = good;
      changed["levels"][0]["memory"][0][key] = bad;
      EXPECT_FALSE(Measurement::fromJson(changed).ok()) << key << bad;
    }
  }
  for (const Json &bad : {Json(), Json(3), Json::array(), Json::object()})
    EXPECT_FALSE(Measurement::fromJson(bad).ok()) << bad;
}

} // namespace
} // namespace kintsugi::machine
