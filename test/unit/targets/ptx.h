//===- ptx.h - The code of a schedule for an NVIDIA device, as tests see it -===//
#ifndef KINTSUGI_TEST_TARGETS_PTX_H
#define KINTSUGI_TEST_TARGETS_PTX_H

#include "targets/nvidia/nvidia.h"
#include "tile/build.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace kintsugi::test {

/// The PTX of a program with one launch, which is called `name`.
inline std::string textOf(const tile::TileProgram &program, const std::string &name,
                          const std::string &level) {
  targets::CompileOptions options;
  options.level = level;
  auto code = targets::createNvidiaTarget()->compile({&program}, options);
  EXPECT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(code->stages, std::vector<std::string>{name});
  EXPECT_EQ(code->bytes.back(), std::byte(0));
  return reinterpret_cast<const char *>(code->bytes.data());
}

/// The PTX of a schedule whose kernel is called "kernel".
inline std::string textOf(const schedule::Schedule &schedule, const std::string &level) {
  auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &schedule});
  EXPECT_TRUE(program.ok()) << program.error().message;
  return textOf(*program, "kernel", level);
}

/// By ptxas, without spills.
inline void expectTextAssembles(const std::string &text, const std::string &level,
                                const std::string &name) {
  std::string base = testing::TempDir() + name + "_" + level;
  std::ofstream(base + ".ptx") << text;
  std::string command =
      "ptxas -v -arch " + level + " " + base + ".ptx -o " + base + ".cubin >" + base + ".log 2>&1";
  int status = std::system(command.c_str());
  std::ifstream file(base + ".log");
  std::string log{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(status, 0) << log;
  EXPECT_EQ(log.find("C7510"), std::string::npos) << log; // Products that wait for each other.
  EXPECT_NE(log.find(" 0 bytes spill stores, 0 bytes spill loads"), std::string::npos) << log;
}

inline void expectAssembles(const schedule::Schedule &schedule, const std::string &level,
                            const std::string &name) {
  expectTextAssembles(textOf(schedule, level), level, name);
}

inline size_t countOf(const std::string &text, const std::string &what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

inline bool hasAssembler() { return std::system("ptxas --version >/dev/null 2>&1") == 0; }

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_TARGETS_PTX_H
