#include "store/store.h"

#include "temporary_folder.h"

#include <cmath>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace kintsugi::store {
namespace {

class StoreTest : public ::testing::Test {
protected:
  Expected<Store> open() { return Store::open(folder.file("times.db")); }
  TemporaryFolder folder;
};

TEST_F(StoreTest, keepsTimesByAllOfTheKey) {
  auto store = open();
  ASSERT_TRUE(store.ok()) << store.error().message;
  std::vector<Measurement> two = {timeFor(1, 1e-3), timeFor(2, 2e-3)};
  ASSERT_TRUE(store->put(two, "machine", "1.0").ok());
  ASSERT_TRUE(store->put(std::vector<Measurement>{timeFor(1, 5e-3)}, "other", "1.0").ok());
  EXPECT_EQ(**store->find(hashFor(1), "machine", "1.0"), two[0]);
  EXPECT_EQ(**store->find(hashFor(2), "machine", "1.0"), two[1]);
  EXPECT_EQ((*store->find(hashFor(1), "other", "1.0"))->seconds, 5e-3);
  EXPECT_FALSE((*store->find(hashFor(1), "machine", "1.1")).has_value());
  EXPECT_FALSE((*store->find(hashFor(3), "machine", "1.0")).has_value());
  EXPECT_EQ(*store->load("machine", "1.0"),
            (std::map<Hash128, Measurement>{{hashFor(1), two[0]}, {hashFor(2), two[1]}}));
  EXPECT_EQ(*store->size(), 3);
}

TEST_F(StoreTest, newerTimeReplaces) {
  auto store = open();
  ASSERT_TRUE(store.ok());
  for (double seconds : {1e-3, 7e-4})
    ASSERT_TRUE(store->put(std::vector<Measurement>{timeFor(1, seconds)}, "m", "c").ok());
  EXPECT_EQ((*store->find(hashFor(1), "m", "c"))->seconds, 7e-4);
  EXPECT_EQ(*store->size(), 1);
  ASSERT_TRUE(store->clear().ok());
  EXPECT_EQ(*store->size(), 0);
}

TEST_F(StoreTest, outlivesItsProcess) {
  {
    auto store = open();
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(store->put(std::vector<Measurement>{timeFor(9, 0.25)}, "m", "c").ok());
  }
  auto store = open();
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store->find(hashFor(9), "m", "c"))->seconds, 0.25);
}

TEST_F(StoreTest, refusesWhatIsNoTime) {
  auto store = open();
  ASSERT_TRUE(store.ok());
  for (double seconds : {0.0, -1.0, std::nan(""), static_cast<double>(INFINITY)}) {
    std::vector<Measurement> some = {timeFor(1, 1e-3), timeFor(2, seconds)};
    EXPECT_FALSE(store->put(some, "m", "c").ok()) << seconds;
  }
  EXPECT_EQ(*store->size(), 0);
}

TEST_F(StoreTest, removingAFileTakesItsCompanions) {
  ASSERT_TRUE(Store::remove(folder.file("times.db")).ok()) << "where there is none";
  auto store = open();
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(store->put(std::vector<Measurement>{timeFor(1, 1e-3)}, "m", "c").ok());
  ASSERT_TRUE(Store::remove(folder.file("times.db")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("")));
  auto fresh = open();
  ASSERT_TRUE(fresh.ok()) << fresh.error().message;
  EXPECT_EQ(*fresh->size(), 0);
}

TEST_F(StoreTest, threadsShareOne) {
  auto store = open();
  ASSERT_TRUE(store.ok());
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&store, t] {
      for (uint64_t i = 0; i < 50; ++i) {
        std::vector<Measurement> one = {timeFor(100 * t + i, 1e-3)};
        EXPECT_TRUE(store->put(one, "m", "c").ok());
        EXPECT_TRUE(store->find(one[0].structure, "m", "c")->has_value());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(*store->size(), 200);
}

/// Runs `work` in a child; its exit status is whether that returned true.
template <typename Work> pid_t inChild(const Work &work) {
  pid_t child = fork();
  if (child == 0)
    _exit(work() ? 0 : 1);
  return child;
}

TEST_F(StoreTest, processesWriteAtOnceFromTheFirstMoment) {
  constexpr uint64_t processes = 6, each = 40;
  std::string path = folder.file("times.db");
  std::vector<pid_t> children;
  for (uint64_t p = 0; p < processes; ++p)
    children.push_back(inChild([&path, p] {
      auto store = Store::open(path);
      for (uint64_t i = 0; store.ok() && i < each; ++i)
        if (!store->put(std::vector<Measurement>{timeFor(1000 * p + i, 1e-3)}, "m", "c").ok())
          return false;
      return store.ok();
    }));
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  auto store = open();
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ(*store->size(), int64_t(processes * each));
}

TEST_F(StoreTest, survivesAKilledWriter) {
  std::string path = folder.file("times.db");
  constexpr uint64_t batch = 20;
  int64_t before = 0;
  for (int round = 0; round < 8; ++round) {
    pid_t child = inChild([&path, round] {
      auto store = Store::open(path);
      for (uint64_t i = 0; store.ok(); ++i) {
        std::vector<Measurement> some;
        for (uint64_t k = 0; k < batch; ++k)
          some.push_back(timeFor((round * 1000000 + i) * batch + k, 1e-3));
        if (!store->put(some, "m", "c").ok())
          return false;
      }
      return false;
    });
    usleep(static_cast<useconds_t>(20000 + 7000 * round));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    auto store = open();
    ASSERT_TRUE(store.ok()) << store.error().message;
    int64_t now = *store->size();
    EXPECT_EQ(now % batch, 0) << "half a batch";
    EXPECT_GE(now, before) << "a committed batch was lost";
    before = now;
  }
  EXPECT_GT(before, 0);
}

} // namespace
} // namespace kintsugi::store
