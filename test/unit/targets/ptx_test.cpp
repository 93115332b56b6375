//===- ptx_test.cpp - The text of kernels for NVIDIA's devices ------------===//

#include "nests.h"
#include "targets/nvidia/nvidia.h"
#include "tile/build.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace kintsugi::test {

using namespace te;
using schedule::RegisterTile;

/// A product whose sums eight warps share, and what reads it back from scratch.
static ScheduleMaker twoNests() {
  ScheduleMaker maker;
  maker.schedule.threads = 256;
  unsigned a = maker.buffer(ElementType::F32, 64 * 128),
           b = maker.buffer(ElementType::F32, 128 * 48);
  unsigned y = maker.buffer(ElementType::F32, 64 * 48, true);
  unsigned t = maker.scratch(ElementType::F32, 16 * 48);
  maker.tile(64, 16);
  auto &product = maker.reduce({16, 48}, {128}, Combiner::Sum, t, it(0) * 48 + it(1),
                               maker.read(a, (it(0) + it(3)) * 128 + it(2)) *
                                   maker.read(b, it(2) * 48 + it(1)));
  product.registers = {2, 8, 1, 0, 2, 0};
  product.registers.apart = 32;
  maker.map({16, 48}, y, (it(0) + it(2)) * 48 + it(1), maker.read(t, it(0) * 48 + it(1)))
      .registers = {1, 1, 4, -1, 1, 0};
  return maker;
}

static std::string textOf(const ScheduleMaker &maker, const std::string &level) {
  auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &maker.schedule});
  EXPECT_TRUE(program.ok()) << program.error().message;
  targets::CompileOptions options;
  options.level = level;
  auto code = targets::createNvidiaTarget()->compile({&*program}, options);
  EXPECT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(code->stages, std::vector<std::string>{"kernel"});
  EXPECT_EQ(code->bytes.back(), std::byte(0));
  return reinterpret_cast<const char *>(code->bytes.data());
}

static size_t countOf(const std::string &text, const std::string &what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

TEST(Ptx, IsOfItsArchitecture) {
  ScheduleMaker maker = twoNests();
  for (const char *level : {"sm_80", "sm_90a"}) {
    std::string text = textOf(maker, level);
    EXPECT_EQ(countOf(text, std::string(".target ") + level + "\n"), 1u);
    EXPECT_EQ(countOf(text, ".visible .entry kernel("), 1u);
    EXPECT_EQ(countOf(text, ".maxntid 256"), 1u);
    EXPECT_EQ(countOf(text, ".extern .func"), 0u); // Nothing from outside.
  }
}

TEST(Ptx, HasWaitsAndWideMoves) {
  std::string text = textOf(twoNests(), "sm_80");
  EXPECT_EQ(countOf(text, "bar.sync"), 5u); // A wait for each half of eight lanes, ahead, between.
  EXPECT_GE(countOf(text, "st.global.v4.b32"), 1u);
  EXPECT_GE(countOf(text, "ld.shared.v4.b32"), 1u);
  EXPECT_GE(countOf(text, "ld.global.nc"), 1u);
  EXPECT_EQ(countOf(text, "ld.b32"), 0u); // Every move knows its memory.
}

TEST(Ptx, RefusesOtherLevelsAndUnknownFunctions) {
  ScheduleMaker maker = twoNests();
  auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &maker.schedule});
  targets::CompileOptions options;
  options.level = "sm_20";
  auto code = targets::createNvidiaTarget()->compile({&*program}, options);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().kind, ErrorKind::Usage);

  ScheduleMaker sine;
  sine.schedule.threads = 32;
  unsigned x = sine.buffer(ElementType::F64, 32), y = sine.buffer(ElementType::F64, 32, true);
  sine.map({32}, y, it(0), Expr::unary(UnaryOp::Sinh, sine.read(x, it(0))));
  auto other = tile::buildTileProgram(tile::NamedSchedule{"kernel", &sine.schedule});
  options.level = "sm_80";
  code = targets::createNvidiaTarget()->compile({&*other}, options);
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.error().message.find("kernel 'kernel' computes 'sinh'"), std::string::npos);
}

TEST(Ptx, Assembles) {
  if (std::system("ptxas --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "there is no ptxas on this machine";
  for (const char *level : {"sm_80", "sm_90a"}) {
    std::string base = testing::TempDir() + "kernel_" + level;
    std::ofstream(base + ".ptx") << textOf(twoNests(), level);
    std::string command = "ptxas -v -arch " + std::string(level) + " " + base + ".ptx -o " + base +
                          ".cubin >" + base + ".log 2>&1";
    int status = std::system(command.c_str());
    std::ifstream file(base + ".log");
    std::string log{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(status, 0) << log;
    EXPECT_NE(log.find(" 0 bytes spill stores, 0 bytes spill loads"), std::string::npos) << log;
  }
}

} // namespace kintsugi::test
