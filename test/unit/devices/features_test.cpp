//===- features_test.cpp - What this processor can do ---------------------===//

#include "devices/cpu/features.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

using kintsugi::devices::cpuSupports;

/// The flags that the kernel reports for the first processor.
static std::set<std::string> kernelFlags() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("flags"))
      break;
  std::istringstream words(line.substr(line.find(':') + 1));
  return {std::istream_iterator<std::string>(words), {}};
}

TEST(Features, AgreeWithTheKernel) {
  std::set<std::string> flags = kernelFlags();
  ASSERT_FALSE(flags.empty());
  const std::pair<const char *, const char *> names[] = {
      {"sse2", "sse2"},
      {"ssse3", "ssse3"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"popcnt", "popcnt"},
      {"movbe", "movbe"},
      {"cx16", "cx16"},
      {"avx", "avx"},
      {"avx2", "avx2"},
      {"fma", "fma"},
      {"f16c", "f16c"},
      {"bmi", "bmi1"},
      {"bmi2", "bmi2"},
      {"lzcnt", "abm"},
      {"avx512f", "avx512f"},
      {"avx512bw", "avx512bw"},
      {"avx512vl", "avx512vl"},
      {"avx512dq", "avx512dq"},
      {"avx512cd", "avx512cd"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512bf16", "avx512_bf16"},
      {"avxvnni", "avx_vnni"},
      {"amx-tile", "amx_tile"},
      {"avx512fp16", "avx512_fp16"},
  };
  for (auto [ours, kernels] : names)
    EXPECT_EQ(cpuSupports(ours), flags.contains(kernels)) << ours;
}

TEST(Features, LevelsAreTheirFeatures) {
  EXPECT_TRUE(cpuSupports("x86-64"));
  EXPECT_EQ(cpuSupports("x86-64-v4"), cpuSupports("x86-64-v3") && cpuSupports("avx512f") &&
                                          cpuSupports("avx512bw") && cpuSupports("avx512cd") &&
                                          cpuSupports("avx512dq") && cpuSupports("avx512vl"));
  EXPECT_EQ(cpuSupports("x86-64-v3"),
            cpuSupports("x86-64-v2") && cpuSupports("avx") && cpuSupports("avx2") &&
                cpuSupports("bmi") && cpuSupports("bmi2") && cpuSupports("f16c") &&
                cpuSupports("fma") && cpuSupports("lzcnt") && cpuSupports("movbe"));
}

TEST(Features, UnknownOnesAreNotThere) {
  EXPECT_FALSE(cpuSupports(""));
  EXPECT_FALSE(cpuSupports("avx3"));
  EXPECT_FALSE(cpuSupports("x86-64-v5"));
}
