//===- assembler_test.cpp - Machine code by NVIDIA's assembler ------------===//

#include "targets/nvidia/assembler.h"

#include "devices/cuda/machine_code.h"
#include "matrix_products.h"
#include "ptx.h"

namespace kintsugi::test {

class Assembler : public testing::Test {
protected:
  void SetUp() override {
    auto found = targets::findAssembler();
    if (!found.ok())
      GTEST_SKIP() << found.error().message;
    path = *found;
  }

  std::string path;
};

TEST_F(Assembler, MakesTheSameCodeEachTimeWhichDevicesTake) {
  ScheduleMaker maker =
      onMatrixUnits(ElementType::F16, true, ElementType::F16, inBulk(byFourWarps()));
  auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &maker.schedule});
  ASSERT_TRUE(program.ok()) << program.error().message;
  for (const char *level : {"sm_80", "sm_90a"}) {
    targets::CompileOptions options;
    options.level = level;
    auto compile = [&] { return targets::createNvidiaTarget()->compile({&*program}, options); };
    auto plain = compile();
    ASSERT_TRUE(plain.ok()) << plain.error().message;
    EXPECT_TRUE(plain->machineCode.empty());
    options.assembler = path;
    auto one = compile(), other = compile();
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_EQ(one->bytes, plain->bytes);
    EXPECT_EQ(one->machineCode, other->machineCode);
    Status whole = devices::cuda::checkMachineCode(one->machineCode);
    EXPECT_TRUE(whole.ok()) << level << ": " << whole.error().message;
  }
}

TEST_F(Assembler, SaysWhatIsWrongWithTheText) {
  auto code = targets::assemble(path, ".version 7.0\n.target sm_80\nnonsense\n", "sm_80");
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().kind, ErrorKind::Machine);
  EXPECT_NE(code.error().message.find("line 3"), std::string::npos) << code.error().message;
  EXPECT_EQ(code.error().message.find('\n'), std::string::npos);
}

} // namespace kintsugi::test
