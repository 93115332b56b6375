//===- child_process_test.cpp ---------------------------------------------===//

#include "base/child_process.h"
#include "temporary_folder.h"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kintsugi;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

static std::string failureOf(std::vector<std::string> command,
                             std::chrono::milliseconds limit = 60s) {
  Status status = runProgram(command, limit);
  if (status.ok())
    return "";
  EXPECT_EQ(status.error().kind, ErrorKind::Machine);
  return status.error().message;
}

static std::string failureOfScript(const std::string &script,
                                   std::chrono::milliseconds limit = 60s) {
  return failureOf({"/bin/sh", "-c", script}, limit);
}

TEST(ChildProcess, GetsItsArgumentsAsTheyAre) {
  TemporaryFolder folder;
  std::string odd = folder / "a $(name) 'with' \"marks\"; *";
  EXPECT_EQ(failureOf({"/usr/bin/env", "touch", odd}), "");
  EXPECT_TRUE(std::filesystem::exists(odd));
  EXPECT_EQ(folder.size(), 1u);
}

TEST(ChildProcess, FailsInOneLineWithWhatItSaid) {
  EXPECT_EQ(failureOfScript("echo one; echo two >&2; exit 3"), "/bin/sh: failed with 3: one two");
  EXPECT_EQ(failureOfScript("exit 1"), "/bin/sh: failed with 1");
  EXPECT_EQ(failureOfScript("kill -9 $$"), "/bin/sh: was ended by signal 9");
  EXPECT_EQ(failureOf({"/no/such/program"}),
            "/no/such/program: failed with 127: No such file or directory");
}

TEST(ChildProcess, MaySayMoreThanIsKept) {
  std::string said =
      failureOfScript("i=0; while [ $i -lt 3000 ]; do echo a line of some length as programs say "
                      "it when they fail $i; i=$((i+1)); done; exit 1");
  EXPECT_NE(said.find("fail 0"), std::string::npos);
  EXPECT_LT(said.size(), 2100u);
}

TEST(ChildProcess, ReadsNothing) { EXPECT_EQ(failureOfScript("read line && exit 1; true"), ""); }

TEST(ChildProcess, HasOnlySoMuchTime) {
  auto start = Clock::now();
  EXPECT_EQ(failureOf({"/bin/sleep", "1000"}, 1000ms), "/bin/sleep: has not ended after 1 s");
  EXPECT_LT(Clock::now() - start, 30s);
  EXPECT_EQ(failureOfScript("exec >&- 2>&-; sleep 0.2"), "") << "silent, but not at its end";
}

TEST(ChildProcess, EndsWithWhoAskedForIt) {
  TemporaryFolder folder;
  std::string file = folder / "number";
  pid_t asker = ::fork();
  if (asker == 0) {
    (void)runProgram(
        {"/bin/sh", "-c",
         "echo $$ >" + file + ".new; mv " + file + ".new " + file + "; exec sleep 1000"},
        1h);
    ::_exit(0);
  }
  auto give = Clock::now() + 30s;
  while (!std::filesystem::exists(file) && Clock::now() < give)
    ::usleep(10000);
  pid_t child = 0;
  std::ifstream(file) >> child;
  ASSERT_GT(child, 0);
  ::kill(asker, SIGKILL);
  ::waitpid(asker, nullptr, 0);
  auto isAlive = [&] { // One that nobody has waited for yet is none.
    std::ifstream file("/proc/" + std::to_string(child) + "/stat");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    return !text.empty() && text.find(") Z ") == std::string::npos;
  };
  while (isAlive() && Clock::now() < give)
    ::usleep(10000);
  EXPECT_FALSE(isAlive());
}

TEST(FindProgram, LooksWherePathSaysAndThenElsewhere) {
  TemporaryFolder first, second;
  for (const TemporaryFolder *folder : {&first, &second})
    std::ofstream(*folder / "tool") << "#!/bin/sh\n";
  std::string old = ::getenv("PATH");
  ::setenv("PATH", ("relative::/nowhere:" + first.str()).c_str(), 1);
  EXPECT_EQ(findProgram("tool", {second.str()}), std::nullopt) << "nothing that can be run";
  std::filesystem::permissions(second / "tool", std::filesystem::perms::owner_all);
  EXPECT_EQ(findProgram("tool", {second.str()}), second / "tool");
  std::filesystem::permissions(first / "tool", std::filesystem::perms::owner_all);
  EXPECT_EQ(findProgram("tool", {second.str()}), first / "tool");
  ::unsetenv("PATH");
  EXPECT_EQ(findProgram("tool", {second.str()}), second / "tool");
  EXPECT_EQ(findProgram("no such tool", {second.str()}), std::nullopt);
  ::setenv("PATH", old.c_str(), 1);
}
