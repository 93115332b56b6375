//===- file_cache_test.cpp ------------------------------------------------===//

#include "base/file_cache.h"
#include "temporary_folder.h"

#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace kintsugi;
namespace fs = std::filesystem;

static std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

/// What the cache has under a key, or "-".
static std::string found(const FileCache &cache, const Digest &key) {
  auto entry = cache.get(key);
  EXPECT_TRUE(entry.ok());
  if (!entry.ok() || !*entry)
    return "-";
  auto bytes = (*entry)->bytes();
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

static void setLastUse(const FileCache &cache, const Digest &key, time_t seconds) {
  std::string hex = key.hex();
  std::string path = cache.folder() + "/" + hex.substr(0, 2) + "/" + hex.substr(2);
  timespec times[2] = {{seconds, 0}, {seconds, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

static fs::path onlyFile(const std::string &folder) {
  for (const auto &entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      return entry.path();
  return {};
}

class Cache : public testing::Test {
protected:
  TemporaryFolder folder;
  FileCache cache = *FileCache::open(folder / "a/b/cache");
  Digest one = blake3("one"), two = blake3("two"), three = blake3("three");
};

TEST_F(Cache, PutThenGet) {
  EXPECT_EQ(found(cache, one), "-");
  ASSERT_TRUE(cache.put(one, bytesOf("first")).ok());
  ASSERT_TRUE(cache.put(two, bytesOf("")).ok());
  EXPECT_EQ(found(cache, one), "first");
  EXPECT_EQ(found(cache, two), "");
  ASSERT_TRUE(cache.put(one, bytesOf("second")).ok());
  EXPECT_EQ(found(cache, one), "second");
  auto entry = cache.get(one);
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*entry)->bytes().data()) % 64, 0u);
}

TEST_F(Cache, AnotherObjectSeesTheSameEntries) {
  ASSERT_TRUE(cache.put(one, bytesOf("first")).ok());
  FileCache other = *FileCache::open(cache.folder());
  EXPECT_EQ(found(other, one), "first");
  auto listed = other.list();
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ((*listed)[0].key, one);
  EXPECT_EQ((*listed)[0].bytes, 64u + 5);
}

/// Whatever bit of an entry flips, wherever it is cut, it is gone and never wrong.
TEST_F(Cache, DamagedEntriesAreDropped) {
  ASSERT_TRUE(cache.put(one, bytesOf("some bytes")).ok());
  fs::path path = onlyFile(cache.folder());
  std::string good = *readTextFile(path);
  auto writeDamaged = [&](const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  };
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] ^= static_cast<char>(1 << bit % 8);
    writeDamaged(bad);
    ASSERT_EQ(found(cache, one), "-") << "bit " << bit;
    ASSERT_FALSE(fs::exists(path)) << "bit " << bit;
  }
  for (size_t length = 0; length < good.size(); ++length) {
    writeDamaged(good.substr(0, length));
    ASSERT_EQ(found(cache, one), "-") << "length " << length;
  }
  writeDamaged(good + "x");
  EXPECT_EQ(found(cache, one), "-");
  writeDamaged(good);
  EXPECT_EQ(found(cache, one), "some bytes");
}

TEST_F(Cache, AnEntryUnderAnotherKeyIsNotTakenForIt) {
  ASSERT_TRUE(cache.put(one, bytesOf("first")).ok());
  ASSERT_TRUE(cache.put(two, bytesOf("second")).ok());
  std::string hex = one.hex(), other = two.hex();
  fs::copy_file(cache.folder() + "/" + hex.substr(0, 2) + "/" + hex.substr(2),
                cache.folder() + "/" + other.substr(0, 2) + "/" + other.substr(2),
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(found(cache, two), "-");
  EXPECT_EQ(found(cache, one), "first");
}

TEST_F(Cache, GcRemovesWhatWasUsedLongestAgo) {
  for (auto &[key, time] : {std::pair(one, 3000), {two, 1000}, {three, 2000}}) {
    ASSERT_TRUE(cache.put(key, bytesOf(std::string(36, 'x'))).ok()); // 100 bytes each on disk.
    setLastUse(cache, key, time);
  }
  auto listed = cache.list();
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 3u);
  EXPECT_EQ((*listed)[0].key, two);
  EXPECT_EQ((*listed)[1].key, three);
  EXPECT_EQ((*listed)[2].key, one);
  EXPECT_EQ((*listed)[0].lastUsed, int64_t(1000) * 1'000'000'000);

  EXPECT_EQ(cache.gc(300)->entries, 0u);
  EXPECT_NE(found(cache, two), "-"); // Used just now.
  auto removed = cache.gc(299);
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed->entries, 1u);
  EXPECT_EQ(removed->bytes, 100u);
  EXPECT_EQ(found(cache, three), "-");
  EXPECT_NE(found(cache, one), "-");
  EXPECT_NE(found(cache, two), "-");
  EXPECT_EQ(cache.gc(100)->entries, 1u);
}

TEST_F(Cache, ClearLeavesWhatIsNoEntry) {
  ASSERT_TRUE(cache.put(one, bytesOf("first")).ok());
  std::ofstream(cache.folder() + "/notes.txt") << "mine";
  fs::create_directories(cache.folder() + "/ab");
  std::ofstream(cache.folder() + "/ab/notes.txt") << "mine";
  auto removed = cache.clear();
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed->entries, 1u);
  EXPECT_EQ(found(cache, one), "-");
  EXPECT_TRUE(fs::exists(cache.folder() + "/notes.txt"));
  EXPECT_TRUE(fs::exists(cache.folder() + "/ab/notes.txt"));
  EXPECT_TRUE(cache.list()->empty());
}

TEST_F(Cache, GcRemovesTemporaryFilesWithoutAWriter) {
  fs::create_directories(cache.folder() + "/ab");
  auto written = AtomicFile::create(cache.folder() + "/ab/entry");
  ASSERT_TRUE(written.ok());
  fs::path held = onlyFile(cache.folder());
  std::string left = cache.folder() + "/ab/.kintsugi-2.tmp";
  std::ofstream(left) << "x";
  ASSERT_TRUE(cache.gc(UINT64_MAX).ok());
  EXPECT_TRUE(fs::exists(held));
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(Cache, EntriesStayReadableAfterTheyAreRemoved) {
  ASSERT_TRUE(cache.put(one, bytesOf("first")).ok());
  auto entry = cache.get(one);
  ASSERT_TRUE(entry.ok() && *entry);
  ASSERT_TRUE(cache.clear().ok());
  EXPECT_EQ((*entry)->bytes().size(), 5u);
  EXPECT_EQ((*entry)->bytes()[0], std::byte('f'));
}

static std::string contentFor(int key) { return std::string(100 + key * 300, char('a' + key)); }

/// Reads, writes and collects at random; whatever is found must be what its key stands for.
static bool hammer(const FileCache &cache, unsigned seed, int rounds) {
  std::mt19937 random(seed);
  for (int i = 0; i < rounds; ++i) {
    int key = static_cast<int>(random() % 8);
    Digest digest = blake3(std::to_string(key));
    unsigned action = random() % 16;
    if (action < 7) {
      if (!cache.put(digest, bytesOf(contentFor(key))).ok())
        return false;
    } else if (action < 14) {
      std::string content = found(cache, digest);
      if (content != "-" && content != contentFor(key))
        return false;
    } else if (!(action == 14 ? cache.gc(2000) : cache.clear()).ok()) {
      return false;
    }
  }
  return true;
}

TEST_F(Cache, ThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (unsigned seed = 0; seed < 6; ++seed)
    threads.emplace_back([&, seed] { good += hammer(cache, seed, 400); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 6);
  ASSERT_TRUE(cache.put(one, bytesOf("first")).ok());
  EXPECT_EQ(found(cache, one), "first");
}

TEST_F(Cache, ProcessesAtOnce) {
  std::vector<pid_t> children;
  for (unsigned seed = 0; seed < 4; ++seed) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      ::_exit(hammer(cache, 100 + seed, 400) ? 0 : 1);
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (const auto &entry : fs::recursive_directory_iterator(cache.folder()))
    EXPECT_FALSE(isTemporaryName(entry.path().filename().string())) << entry.path();
}

TEST(CacheFolder, FollowsTheEnvironment) {
  auto saved = [](const char *name) { return std::string(::getenv(name) ? ::getenv(name) : ""); };
  std::string kintsugi = saved("KINTSUGI_CACHE"), xdg = saved("XDG_CACHE_HOME"),
              home = saved("HOME");
  ::setenv("KINTSUGI_CACHE", "/k", 1);
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  ::setenv("HOME", "/h", 1);
  EXPECT_EQ(*FileCache::defaultFolder(), "/k");
  ::unsetenv("KINTSUGI_CACHE");
  EXPECT_EQ(*FileCache::defaultFolder(), "/x/kintsugi");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(*FileCache::defaultFolder(), "/h/.cache/kintsugi");
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(*FileCache::defaultFolder(), "/h/.cache/kintsugi");
  ::unsetenv("HOME");
  EXPECT_EQ(FileCache::defaultFolder().error().kind, ErrorKind::Usage);
  ::setenv("HOME", home.c_str(), 1);
  if (!kintsugi.empty())
    ::setenv("KINTSUGI_CACHE", kintsugi.c_str(), 1);
  if (!xdg.empty())
    ::setenv("XDG_CACHE_HOME", xdg.c_str(), 1);
}

TEST(CacheFolder, AFileInItsPlaceIsAnError) {
  TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_FALSE(FileCache::open(folder / "file").ok());
  EXPECT_FALSE(FileCache::open(folder / "file/below").ok());
  EXPECT_FALSE(FileCache::open("").ok());
}
