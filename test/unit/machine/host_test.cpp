#include "machine/host.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <unistd.h>

namespace kintsugi::machine {
namespace {

/// A folder that stands for the root of a file system.
class HostTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "kintsugi-host-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void put(const std::string &path, const std::string &text) {
    std::filesystem::path full = root + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void putCpu(int cpu, const std::string &path, const std::string &text) {
    put("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + path, text);
  }
  void putCache(int number, const char *type, const char *level, const char *size,
                const char *shared) {
    std::string folder = "cache/index" + std::to_string(number) + "/";
    putCpu(0, folder + "type", type);
    putCpu(0, folder + "level", level);
    putCpu(0, folder + "size", size);
    putCpu(0, folder + "shared_cpu_list", shared);
  }
  Host read(std::vector<int> cpus) { return readHost(root, cpus); }

  std::string root;
};

TEST_F(HostTest, nothingIsKnown) {
  Host host = read({0, 1, 2});
  EXPECT_EQ(host.processor, "");
  EXPECT_EQ(host.hertz, 0);
  EXPECT_EQ(host.memoryBytes, 0);
  EXPECT_EQ(host.cores, 3);
  EXPECT_TRUE(host.caches.empty());
}

TEST_F(HostTest, processorMemoryAndFrequency) {
  put("/proc/cpuinfo",
      "processor\t: 0\nmodel name\t: Some   Xeon  @ 2.50GHz\ncpu MHz\t\t: 1200.3\n");
  put("/proc/meminfo", "MemFree: 5 kB\nMemTotal:       2048 kB\n");
  Host host = read({0});
  EXPECT_EQ(host.processor, "Some Xeon @ 2.50GHz");
  EXPECT_DOUBLE_EQ(host.hertz, 1.25 * 2.5e9);
  EXPECT_EQ(host.memoryBytes, 2048 * 1024);
  putCpu(0, "cpufreq/cpuinfo_max_freq", "3700000\n");
  EXPECT_DOUBLE_EQ(read({0}).hertz, 3.7e9);
}

TEST_F(HostTest, momentaryFrequencyIsRounded) {
  put("/proc/cpuinfo", "model name : Plain\ncpu MHz : 3412.7\n");
  EXPECT_DOUBLE_EQ(read({0}).hertz, 3.5e9);
  put("/proc/cpuinfo", "model name : Plain\ncpu MHz : 2600.1\nflags : fpu hypervisor avx\n");
  EXPECT_DOUBLE_EQ(read({0}).hertz, 1.25 * 2.6e9) << "the nominal one";
  put("/proc/cpuinfo", "vendor_id : AuthenticAMD\nmodel name : Plain\ncpu MHz : 2600.1\n"
                       "flags : fpu hypervisor avx\n");
  EXPECT_DOUBLE_EQ(read({0}).hertz, 1.4 * 2.6e9) << "that of a processor that goes higher";
  put("/proc/cpuinfo", "model name : Plain\ncpu MHz : nonsense\n");
  EXPECT_EQ(read({0}).hertz, 0);
}

TEST_F(HostTest, hardwareThreadsAreOneCore) {
  for (int cpu = 0; cpu < 4; ++cpu)
    putCpu(cpu, "topology/thread_siblings_list", cpu % 2 == 0 ? "0,2\n" : "1,3\n");
  EXPECT_EQ(read({0, 1, 2, 3}).cores, 2);
  EXPECT_EQ(read({0, 2}).cores, 1);
  EXPECT_EQ(read({1, 2}).cores, 2);
}

TEST_F(HostTest, caches) {
  putCpu(0, "topology/core_cpus_list", "0,4\n");
  putCache(0, "Data\n", "1\n", "48K\n", "0,4\n");
  putCache(1, "Instruction\n", "1\n", "32K\n", "0,4\n");
  putCache(2, "Unified\n", "3\n", "32M\n", "0-7\n");
  putCache(3, "Unified\n", "2\n", "nonsense\n", "0,4\n");
  Host host = read({0});
  ASSERT_EQ(host.caches.size(), 2u);
  EXPECT_EQ(host.caches[0].level, 1);
  EXPECT_EQ(host.caches[0].bytes, 48 * 1024);
  EXPECT_EQ(host.caches[0].sharedBy, 1);
  EXPECT_EQ(host.caches[1].level, 3);
  EXPECT_EQ(host.caches[1].bytes, 32 << 20);
  EXPECT_EQ(host.caches[1].sharedBy, 4);
}

/// Two sockets of eight cores, each of two hardware threads; four cores share a second level cache.
TEST_F(HostTest, socketsWithSharedCachesAndHardwareThreads) {
  auto threadsOf = [](int first, int cores) {
    return std::to_string(first) + "-" + std::to_string(first + cores - 1) + "," +
           std::to_string(first + 16) + "-" + std::to_string(first + cores + 15) + "\n";
  };
  for (int cpu = 0; cpu < 32; ++cpu)
    putCpu(cpu, "topology/core_cpus_list",
           std::to_string(cpu % 16) + "," + std::to_string(cpu % 16 + 16) + "\n");
  putCache(0, "Data\n", "1\n", "32K\n", "0,16\n");
  putCache(1, "Unified\n", "2\n", "2M\n", threadsOf(0, 4).c_str());
  putCache(2, "Unified\n", "3\n", "32M\n", threadsOf(0, 8).c_str());
  std::vector<int> everything(32);
  std::iota(everything.begin(), everything.end(), 0);
  Host host = read(everything);
  EXPECT_EQ(host.cores, 16);
  ASSERT_EQ(host.caches.size(), 3u);
  EXPECT_EQ(host.caches[0].sharedBy, 1);
  EXPECT_EQ(host.caches[1].sharedBy, 4);
  EXPECT_EQ(host.caches[2].sharedBy, 8) << "each socket has one of its own";
  // One socket alone, and both threads of two cores: what shares a cache stays the same.
  EXPECT_EQ(read({0, 1, 2, 3, 4, 5, 6, 7}).cores, 8);
  Host few = read({0, 1, 16, 17});
  EXPECT_EQ(few.cores, 2);
  EXPECT_EQ(few.caches[1].sharedBy, 4);
}

TEST_F(HostTest, controlGroupsOfVersion2LimitAtEveryDepth) {
  put("/proc/meminfo", "MemTotal: 1000000 kB\n");
  put("/proc/self/cgroup", "0::/outer/inner\n");
  put("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(read({0, 1, 2, 3}).cores, 4);
  put("/sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
  put("/sys/fs/cgroup/outer/memory.max", "4096000\n");
  EXPECT_EQ(read({0, 1, 2, 3}).cores, 2);
  EXPECT_EQ(read({0}).cores, 1);
  EXPECT_EQ(read({0}).memoryBytes, 4096000);
  put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(read({0, 1, 2, 3}).cores, 1);
}

TEST_F(HostTest, controlGroupsOfVersion1) {
  put("/proc/meminfo", "MemTotal: 1000000 kB\n");
  put("/proc/self/cgroup", "4:memory:/a\n3:cpu,cpuacct:/a\n");
  put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "300000\n");
  put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "8192000\n");
  Host host = read({0, 1, 2, 3, 4});
  EXPECT_EQ(host.cores, 3);
  EXPECT_EQ(host.memoryBytes, 8192000);
  put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(read({0, 1, 2, 3, 4}).cores, 5);
}

TEST(CpuList, parses) {
  EXPECT_EQ(parseCpuList("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parseCpuList("5"), (std::vector<int>{5}));
  EXPECT_EQ(parseCpuList(""), (std::vector<int>{}));
  for (const char *bad : {"3-1", "a", "1-", "-1", "0-99999999", "1,,2", "0-65535,0-65535"})
    EXPECT_FALSE(parseCpuList(bad).has_value()) << bad;
}

TEST(CacheSize, parses) {
  EXPECT_EQ(parseCacheSize("32K"), 32 * 1024);
  EXPECT_EQ(parseCacheSize("2M"), 2 << 20);
  EXPECT_EQ(parseCacheSize("64"), 64);
  for (const char *bad : {"", "K", "-1K", "9999999999999999M", "1G2"})
    EXPECT_FALSE(parseCacheSize(bad).has_value()) << bad;
}

} // namespace
} // namespace kintsugi::machine
