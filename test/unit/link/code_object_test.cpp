//===- code_object_test.cpp - What a manifest says of code ----------------===//

#include "link/code_object.h"
#include "gtest/gtest.h"

using namespace kintsugi;

TEST(CodeObject, NamesTheStagesThatTakeMaps) {
  targets::CodeObject code;
  code.stages = {"first", "second"};
  code.kernelsWait = true;
  runtime::CodeObject plain = link::describeCode(code, "sm_80", {"sm_80"});
  EXPECT_EQ(plain, (runtime::CodeObject{"sm_80", {"sm_80"}, true, {}}));

  KinTensorMap map{1, 2, 128, 64, {64, 24}, {2, 128}, {64, 9}, {1, 2}};
  code.maps = {{}, {map, map}};
  runtime::CodeObject described = link::describeCode(code, "sm_90a", {"sm_90a"});
  ASSERT_EQ(described.maps.size(), 1u);
  EXPECT_EQ(described.maps[0], (runtime::StageMaps{"second", {map, map}}));
}
