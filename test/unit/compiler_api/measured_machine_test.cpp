//===- measured_machine_test.cpp - What is kept of a measurement ------------===//

#include "api/compiler/measured_machine.h"

#include "base/files.h"
#include "kintsugi/compiler.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace kintsugi::api {
namespace {

namespace fs = std::filesystem;
using machine::Machine;
using machine::Measurement;

class MeasuredMachine : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("measured_machine_" + std::to_string(::getpid()));
    fs::create_directories(folder);
    ::setenv("KINTSUGI_CACHE", folder.c_str(), 1);
    for (const Machine &machine : Machine::detectLevels())
      made.levels.push_back(
          {machine.level, 3e11, 2.5e11, 1e11, {{machine.memory().name, 4e10, 6e10, 3e10, 5e10}}});
    made.stageSeconds = 3e-7;
    made.wakeSeconds = 2e-5;
  }
  void TearDown() override { fs::remove_all(folder); }

  bool isAssumed() const {
    KnownMachine known = knownMachine();
    return !known.measured && known.inUse() == known.assumed;
  }

  fs::path folder;
  Measurement made;
};

TEST_F(MeasuredMachine, IsInUseUntilItIsForgotten) {
  EXPECT_TRUE(isAssumed());
  ASSERT_TRUE(keepMeasurement(made).ok());
  KnownMachine known = knownMachine();
  ASSERT_TRUE(known.measured);
  EXPECT_EQ(*known.measured, made);
  EXPECT_EQ(known.assumed, Machine::detect());
  EXPECT_EQ(known.inUse(), made.applyTo(known.assumed));
  EXPECT_NE(known.inUse(), known.assumed);
  ASSERT_TRUE(forgetMeasurement().ok());
  EXPECT_TRUE(isAssumed());
  EXPECT_TRUE(forgetMeasurement().ok()) << "there is nothing to forget";
}

TEST_F(MeasuredMachine, GoesWithTheCache) {
  ASSERT_TRUE(keepMeasurement(made).ok());
  KinText *text = nullptr;
  ASSERT_EQ(kin_cache("clear", 0, &text, nullptr), KIN_OK);
  kin_text_free(text);
  EXPECT_TRUE(isAssumed());
}

TEST_F(MeasuredMachine, WhatIsDamagedIsAsGoodAsAbsent) {
  ASSERT_TRUE(keepMeasurement(made).ok());
  int damaged = 0;
  for (const auto &entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file())
      continue;
    auto text = readTextFile(entry.path().string());
    ASSERT_TRUE(text.ok());
    std::string changed = *text;
    size_t place = changed.find("wakeSeconds");
    if (place == std::string::npos)
      continue;
    changed.replace(place, 4, "woke");
    ASSERT_TRUE(writeFileAtomic(entry.path().string(), changed).ok());
    ++damaged;
  }
  EXPECT_EQ(damaged, 1);
  EXPECT_TRUE(isAssumed());
}

} // namespace
} // namespace kintsugi::api
