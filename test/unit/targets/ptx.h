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
inline std::string textOf(const loops::Schedule &schedule, const std::string &level) {
  auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &schedule});
  EXPECT_TRUE(program.ok()) << program.error().message;
  return textOf(*program, "kernel", level);
}

/// What the kernel of a schedule takes as boxes on sm_90a.
inline std::vector<KinTensorMap> mapsOf(const loops::Schedule &schedule) {
  auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &schedule});
  EXPECT_TRUE(program.ok()) << program.error().message;
  targets::CompileOptions options;
  options.level = "sm_90a";
  auto code = targets::createNvidiaTarget()->compile({&*program}, options);
  EXPECT_TRUE(code.ok()) << code.error().message;
  return code->maps.at(0);
}

/// Of a map in one dimension.
struct MappedDimension {
  uint64_t extent, stride;
  uint32_t box, step;
};

inline void expectMap(const KinTensorMap &map, unsigned operand,
                      std::initializer_list<MappedDimension> dimensions) {
  EXPECT_EQ(map.operand, operand);
  EXPECT_EQ(map.line_bytes, dimensions.begin()->box * 2);
  ASSERT_EQ(map.rank, dimensions.size());
  unsigned d = 0;
  for (const MappedDimension &dimension : dimensions) {
    EXPECT_EQ(map.extents[d], dimension.extent);
    EXPECT_EQ(map.strides[d], dimension.stride);
    EXPECT_EQ(map.box[d], dimension.box);
    EXPECT_EQ(map.steps[d], dimension.step);
    ++d;
  }
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

inline void expectAssembles(const loops::Schedule &schedule, const std::string &level,
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
