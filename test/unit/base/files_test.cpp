//===- files_test.cpp -----------------------------------------------------===//

#include "base/files.h"
#include "temporary_folder.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace kintsugi;
namespace fs = std::filesystem;

static void put(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(Files, WriteThenReadAndMap) {
  TemporaryFolder folder;
  std::string text = "some\0bytes";
  text += std::string(100000, 'x');
  ASSERT_TRUE(writeFileAtomic(folder / "a", text).ok());
  EXPECT_EQ(*readTextFile(folder / "a"), text);
  auto mapped = MappedFile::open(folder / "a");
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(mapped->text(), text);
  MappedFile moved = std::move(*mapped);
  ASSERT_TRUE(writeFileAtomic(folder / "a", "new").ok());
  EXPECT_EQ(moved.text(), text) << "a mapping keeps the file it was made of";
  moved.evict(moved.bytes().subspan(5000, 50000));
  EXPECT_EQ(moved.text(), text);
  EXPECT_EQ(*readTextFile(folder / "a"), "new");
  EXPECT_EQ(folder.size(), 1u) << "no temporary file is left";
}

TEST(Files, EmptyFiles) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeFileAtomic(folder / "empty", "").ok());
  EXPECT_EQ(*readTextFile(folder / "empty"), "");
  auto mapped = MappedFile::open(folder / "empty");
  ASSERT_TRUE(mapped.ok());
  EXPECT_TRUE(mapped->bytes().empty());
}

TEST(Files, ReadErrorsNameTheFileAndWhy) {
  TemporaryFolder folder;
  auto missing = MappedFile::open(folder / "missing");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::Input);
  EXPECT_EQ(missing.error().message,
            (folder / "missing") + ": can't read: No such file or directory");
  EXPECT_EQ(MappedFile::open(folder.str()).error().message, folder.str() + ": not a regular file");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(MappedFile::open(folder / "pipe").ok()) << "and it does not block";
  EXPECT_FALSE(readTextFile(folder / "pipe").ok());
}

TEST(Files, TextIsLimited) {
  TemporaryFolder folder;
  for (size_t size : {9, 10, 5000, 20000}) {
    put(folder / "text", std::string(size, 'x'));
    EXPECT_TRUE(readTextFile(folder / "text", size).ok()) << size;
    auto refused = readTextFile(folder / "text", size - 1);
    ASSERT_FALSE(refused.ok()) << size;
    EXPECT_EQ(refused.error().kind, ErrorKind::Input);
  }
  // A file that claims to be empty and is not.
  auto status = readTextFile("/proc/self/status");
  ASSERT_TRUE(status.ok());
  EXPECT_NE(status->find("Pid:"), std::string::npos);
}

TEST(AtomicFile, AppearsOnlyOnCommit) {
  TemporaryFolder folder;
  put(folder / "out", "old");
  {
    auto file = AtomicFile::create(folder / "out");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("half a new file").ok());
    EXPECT_EQ(*readTextFile(folder / "out"), "old");
    EXPECT_EQ(folder.size(), 2u);
  }
  EXPECT_EQ(*readTextFile(folder / "out"), "old");
  EXPECT_EQ(folder.size(), 1u) << "what was not committed is removed";

  auto file = AtomicFile::create(folder / "out");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("0123456789").ok());
  ASSERT_TRUE(file->rewrite(2, std::as_bytes(std::span("ab", 2))).ok());
  ASSERT_TRUE(file->write("!").ok());
  EXPECT_EQ(file->size(), 11u);
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(*readTextFile(folder / "out"), "01ab456789!");
}

TEST(AtomicFile, TheNextWriterRemovesWhatAKilledOneLeft) {
  TemporaryFolder folder;
  pid_t killed = ::fork();
  if (killed == 0) {
    auto file = AtomicFile::create(folder / "out");
    (void)file->write("half a file");
    ::raise(SIGKILL);
  }
  ::waitpid(killed, nullptr, 0);
  ASSERT_EQ(folder.size(), 1u) << "that is what kill -9 leaves";
  auto other = AtomicFile::create(folder / "other");
  ASSERT_TRUE(other.ok() && other->write("other").ok());
  EXPECT_EQ(folder.size(), 1u);
  ASSERT_TRUE(writeFileAtomic(folder / "out", "whole").ok());
  ASSERT_TRUE(other->commit().ok()) << "a file that is being written is not taken for abandoned";
  EXPECT_EQ(*readTextFile(folder / "out"), "whole");
  EXPECT_EQ(*readTextFile(folder / "other"), "other");
  EXPECT_EQ(folder.size(), 2u);
}

TEST(AtomicFile, HasThePermissionsThatAnyNewFileHas) {
  TemporaryFolder folder;
  mode_t mask = ::umask(027);
  ASSERT_TRUE(writeFileAtomic(folder / "out", "x").ok());
  ::umask(mask);
  struct stat info;
  ASSERT_EQ(::stat((folder / "out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(AtomicFile, ReplacesWhatALinkPointsTo) {
  TemporaryFolder folder;
  put(folder / "target", "old");
  fs::create_symlink("target", folder / "link");
  ASSERT_TRUE(writeFileAtomic(folder / "link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(*readTextFile(folder / "target"), "new");
}

TEST(AtomicFile, ErrorsSayWhatIsWrong) {
  TemporaryFolder folder;
  Status missing = writeFileAtomic(folder / "none/out", "x");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::Usage);
  EXPECT_EQ(missing.error().message,
            (folder / "none/out") + ": can't write: No such file or directory");
  EXPECT_EQ(writeFileAtomic(folder.str(), "x").error().kind, ErrorKind::Usage);
  EXPECT_FALSE(writeFileAtomic("/dev/null", "x").ok()) << "a device is not replaced by a file";
}

/// A disk that is full looks like a limit on the size of files that is reached.
TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
  TemporaryFolder folder;
  put(folder / "out", "old");
  rlimit saved;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &saved), 0);
  auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit small = saved;
  small.rlim_cur = 100000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = writeFileAtomic(folder / "out", std::string(1 << 20, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &saved);
  ::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::Machine);
  EXPECT_EQ(*readTextFile(folder / "out"), "old");
  EXPECT_EQ(folder.size(), 1u);
}

TEST(AtomicFile, WritersInParallelNeverMix) {
  TemporaryFolder folder;
  std::vector<std::thread> writers;
  std::atomic<bool> failed = false;
  for (char letter : {'a', 'b', 'c', 'd'})
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 25; ++i)
        if (!writeFileAtomic(folder / "out", std::string(50000, letter)).ok())
          failed = true;
    });
  for (int i = 0; i < 100; ++i) {
    auto text = readTextFile(folder / "out");
    if (text.ok()) {
      EXPECT_EQ(*text, std::string(50000, text->at(0)));
    }
  }
  for (std::thread &writer : writers)
    writer.join();
  EXPECT_FALSE(failed);
  EXPECT_EQ(folder.size(), 1u);
}

class OpenBeneath : public testing::Test {
protected:
  OpenBeneath() {
    fs::create_directories(folder / "model/data/deep");
    put(folder / "secret", "secret");
    put(folder / "model/weights", "weights");
    put(folder / "model/data/deep/w.bin", "deep");
    fs::create_symlink("weights", folder / "model/link");
    fs::create_symlink("..", folder / "model/up");
    fs::create_symlink("data", folder / "model/inside");
    fs::create_symlink("/nowhere", folder / "model/dangling");
    ::mkfifo((folder / "model/pipe").c_str(), 0600);
    put(folder / "elsewhere", "elsewhere");
    fs::create_hard_link(folder / "elsewhere", folder / "model/hard");
  }

  /// The file's text, or "error: " and the message.
  std::string read(std::string_view path) {
    auto file = openBeneath(folder / "model", path);
    if (!file.ok()) {
      EXPECT_EQ(file.error().kind, ErrorKind::Input);
      return "error: " + file.error().message;
    }
    auto mapped = MappedFile::map(*file, "name");
    return mapped.ok() ? std::string(mapped->text()) : "error: can't map";
  }

  void expectRefused(std::string_view path, const std::string &why) {
    std::string result = read(path);
    EXPECT_TRUE(result.starts_with("error: ")) << path << " gave " << result;
    EXPECT_NE(result.find(why), std::string::npos) << result;
  }

  TemporaryFolder folder;
};

TEST_F(OpenBeneath, FilesBelowTheFolder) {
  EXPECT_EQ(read("weights"), "weights");
  EXPECT_EQ(read("./weights"), "weights");
  EXPECT_EQ(read("data/deep/w.bin"), "deep");
  EXPECT_EQ(read("data//deep/./w.bin"), "deep");
  fs::create_directory_symlink("model", folder / "alias");
  EXPECT_TRUE(openBeneath(folder / "alias", "weights").ok()) << "the folder itself may be a link";
}

TEST_F(OpenBeneath, EverythingElseIsRefused) {
  expectRefused("", "not a relative path");
  expectRefused(folder / "secret", "not a relative path");
  expectRefused("/etc/passwd", "not a relative path");
  expectRefused(std::string_view("weights\0x", 9), "not a relative path");
  expectRefused("../secret", "\"..\"");
  expectRefused("data/../../secret", "\"..\"");
  expectRefused("data/../weights", "\"..\"");
  expectRefused("..", "\"..\"");
  expectRefused("hard", "the file has another name (a hard link)");
  fs::remove(folder / "elsewhere");
  EXPECT_EQ(read("hard"), "elsewhere");
  expectRefused("link", "symbolic link");
  expectRefused("up/secret", "symbolic link");
  expectRefused("inside/deep/w.bin", "symbolic link");
  expectRefused("dangling", "symbolic link");
  expectRefused("pipe", "not a regular file");
  expectRefused("data", "not a regular file");
  expectRefused(".", "not a regular file");
  expectRefused("none", "No such file");
  expectRefused("weights/x", "Not a directory");
  expectRefused(std::string(5000, 'x'), "too long");
}
