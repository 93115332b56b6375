#include "store/store.h"

#include "temporary_folder.h"

#include <fstream>
#include <random>
#include <sqlite3.h>

namespace kintsugi::store {
namespace {

std::string readAll(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void writeAll(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void execute(const std::string &path, const std::string &sql) {
  sqlite3 *connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  char *message = nullptr;
  sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &message);
  EXPECT_EQ(message, nullptr) << message;
  sqlite3_close(connection);
}

class StoreDamage : public ::testing::Test {
protected:
  void SetUp() override {
    path = folder.file("times.db");
    auto store = Store::open(path);
    ASSERT_TRUE(store.ok()) << store.error().message;
    std::vector<Measurement> many;
    for (uint64_t i = 0; i < 500; ++i)
      many.push_back(timeFor(i, 1e-6 * static_cast<double>(i + 1)));
    ASSERT_TRUE(store->put(many, "machine", "compiler").ok());
  }

  /// Opening must fail with one line that names the file.
  void expectRefused() {
    auto store = Store::open(path);
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().kind, ErrorKind::Input);
    EXPECT_EQ(store.error().message.find(path + ": "), 0u) << store.error().message;
    EXPECT_EQ(store.error().message.find('\n'), std::string::npos);
    EXPECT_NE(store.error().message.find("delete it"), std::string::npos);
  }

  TemporaryFolder folder;
  std::string path;
};

TEST_F(StoreDamage, textIsRefusedAndLeftAlone) {
  const std::string text = "these are my notes\n" + std::string(5000, 'x');
  writeAll(path, text);
  expectRefused();
  EXPECT_EQ(readAll(path), text);
}

TEST_F(StoreDamage, databaseOfAnotherProgramIsRefused) {
  std::filesystem::remove(path);
  execute(path, "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
  expectRefused();
}

TEST_F(StoreDamage, anotherVersionIsRefused) {
  execute(path, "PRAGMA user_version = 7");
  expectRefused();
}

TEST_F(StoreDamage, schemaWithMoreInItIsRefused) {
  execute(path, "CREATE TABLE more(x)");
  expectRefused();
}

TEST_F(StoreDamage, implausibleTimesAreNotReturned) {
  execute(path, "UPDATE measurements SET seconds = -1");
  auto store = Store::open(path);
  ASSERT_TRUE(store.ok());
  EXPECT_FALSE(store->load("machine", "compiler").ok());
  EXPECT_FALSE(store->find(hashFor(3), "machine", "compiler").ok());
}

TEST_F(StoreDamage, endlessSchedulesAreNotReturned) {
  execute(path, "UPDATE measurements SET schedule = hex(zeroblob(100000))");
  auto store = Store::open(path);
  ASSERT_TRUE(store.ok());
  EXPECT_FALSE(store->load("machine", "compiler").ok());
}

TEST_F(StoreDamage, missingFolderAndDirectoryAreMachineErrors) {
  for (const std::string &bad : {folder.file("absent/times.db"), folder.file("")}) {
    auto store = Store::open(bad);
    ASSERT_FALSE(store.ok()) << bad;
    EXPECT_EQ(store.error().kind, ErrorKind::Machine);
    EXPECT_NE(store.error().message.find(bad), std::string::npos);
  }
}

/// Whatever is done to the bytes, the outcome is an error or a plausible time, and never a crash.
TEST_F(StoreDamage, flippedAndCutBytes) {
  const std::string good = readAll(path);
  ASSERT_GT(good.size(), 8192u);
  std::mt19937_64 random(17);
  int refused = 0;
  for (int round = 0; round < 100; ++round) {
    std::string bytes = good;
    for (uint64_t flips = 1 + random() % 40; flips > 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 3 == 0)
      bytes.resize(random() % bytes.size());
    writeAll(path, bytes);
    auto store = Store::open(path);
    if (!store.ok()) {
      ++refused;
      continue;
    }
    auto times = store->load("machine", "compiler");
    if (!times.ok())
      ++refused;
    else
      for (const auto &[hash, measurement] : *times)
        EXPECT_GT(measurement.seconds, 0);
    (void)store->put(std::vector<Measurement>{timeFor(1, 1e-3)}, "machine", "compiler");
  }
  EXPECT_GT(refused, 20);
}

} // namespace
} // namespace kintsugi::store
