//===- isolation_test.cpp - The caller outlives whatever happens while compiling ---===//
//
// This program is its own worker: where the environment asks for it, the worker fails at a phase of
// the compilation.
//
//===----------------------------------------------------------------------===//

#include "api/compiler/worker.h"
#include "api/compiler/worker_program.h"
#include "base/files.h"
#include "kintsugi/compiler.h"
#include "llvm/Support/ErrorHandling.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace kintsugi {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char *faultVariable = "KINTSUGI_TEST_FAULT"; ///< "FAULT PHASE"

/// Uses up the stack.
[[gnu::noinline]] int overflow(int depth) {
  volatile char room[4096];
  room[0] = 1;
  return room[0] == 0 ? depth : overflow(depth + 1) + room[0];
}

void allocateForEver() {
  for (;;)
    std::fill_n(new volatile char[1 << 20], 1 << 20, 1);
}

/// As C code does that looks at nothing.
void allocateUnchecked() {
  for (;;)
    static_cast<volatile char *>(std::malloc(1 << 20))[0] = 1;
}

void fail(std::string_view fault) {
  if (fault == "abort")
    std::abort();
  if (fault == "segfault")
    *reinterpret_cast<volatile int *>(8) = 1;
  if (fault == "overflow")
    overflow(0);
  if (fault == "throw")
    throw std::runtime_error("nobody handles this");
  if (fault == "llvm")
    llvm::report_fatal_error("llvm gives up");
  if (fault == "exit")
    std::exit(1);
  if (fault == "thread")
    std::thread([] { std::abort(); }).join();
  if (fault == "loop")
    for (;;)
      std::this_thread::sleep_for(1s);
  if (fault == "allocate")
    allocateForEver();
  if (fault == "malloc")
    allocateUnchecked();
  if (fault == "kill")
    ::raise(SIGKILL);
}

bool failIfAsked(std::string_view phase, uint64_t, uint64_t) {
  std::string wanted = std::getenv(faultVariable) ? std::getenv(faultVariable) : "";
  size_t space = wanted.find(' ');
  if (space != wanted.npos && wanted.substr(space + 1) == phase)
    fail(wanted.substr(0, space));
  return true;
}

int serveWithFaults() { return api::serveRequest(failIfAsked); }

struct Answer {
  KinStatus status;
  std::string message;
};

class Isolation : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("isolation_" + std::to_string(::getpid()));
    fs::create_directories(folder / "tmp");
    ::setenv("KINTSUGI_CACHE", (folder / "cache").c_str(), 1);
    ::setenv("TMPDIR", (folder / "tmp").c_str(), 1);
    model = (folder / "it's a model.te").string();
    ASSERT_TRUE(writeFileAtomic(model, std::string_view(
                                           "input x[4] f32\ny[i:4] f32 = max(x[i], 0)\noutput y\n"))
                    .ok());
  }
  void TearDown() override {
    ::unsetenv(faultVariable);
    ::unsetenv("TMPDIR");
    fs::remove_all(folder);
  }

  Answer compile(const char *fault, const char *options = "{}") {
    ::setenv(faultVariable, fault, 1);
    KinCompilerOptions with = {sizeof(with), options, nullptr, nullptr};
    KinError *error = nullptr;
    KinStatus status =
        kin_compile(model.c_str(), (folder / "out.kin").c_str(), &with, nullptr, &error);
    Answer answer{status, error ? kin_error_message(error) : ""};
    kin_error_free(error);
    EXPECT_EQ(answer.message.find('\n'), std::string::npos);
    return answer;
  }

  /// Of what is being written.
  void expectNothingLeft() {
    for (const auto &entry : fs::recursive_directory_iterator(folder))
      EXPECT_FALSE(isTemporaryName(entry.path().filename().string())) << entry.path();
    EXPECT_FALSE(fs::exists(folder / "out.kin"));
  }

  fs::path folder;
  std::string model;
};

TEST_F(Isolation, AFaultIsAnInternalErrorThatNamesWhatReproducesIt) {
  for (auto [fault, said] : {std::pair("abort", "signal 6"),
                             {"segfault", "signal 11"},
                             {"overflow", "signal 11"},
                             {"throw", "signal 6"},
                             {"llvm", "signal 6"},
                             {"exit", "ended in 1"},
                             {"thread", "signal 6"}}) {
    for (std::string phase : {"import", "link"}) {
      Answer answer = compile((std::string(fault) + " " + phase).c_str(), "{\"plan\": \"greedy\"}");
      EXPECT_EQ(answer.status, KIN_INTERNAL) << fault;
      EXPECT_NE(answer.message.find(said), std::string::npos) << answer.message;
      EXPECT_NE(answer.message.find("in phase '" + phase + "'"), std::string::npos)
          << answer.message;
      size_t name = answer.message.rfind(' ');
      fs::path report = fs::path(answer.message.substr(name + 1)) / "report.txt";
      Expected<std::string> text = readTextFile(report.string());
      ASSERT_TRUE(text.ok()) << answer.message;
      EXPECT_NE(text->find("it'\\''s a model.te' --plan 'greedy' -o out.kin"), std::string::npos)
          << *text;
      EXPECT_NE(text->find(kin_compiler_version()), std::string::npos);
      bool isTold = std::string_view(fault) != "throw" ||
                    text->find("nobody handles this") != std::string::npos;
      EXPECT_TRUE(isTold) << *text;
      EXPECT_EQ(fs::file_size(report.parent_path() / "model.te"), fs::file_size(model));
      expectNothingLeft();
    }
  }
  EXPECT_EQ(compile("").status, KIN_OK) << "the next compilation is none the worse";
}

TEST_F(Isolation, TheCommandThatReproducesAFaultHasItsSizes) {
  Answer answer = compile("abort import", "{\"dims\": {\"n\": 3, \"m\": [1, 8]}}");
  fs::path report = fs::path(answer.message.substr(answer.message.rfind(' ') + 1)) / "report.txt";
  Expected<std::string> text = readTextFile(report.string());
  ASSERT_TRUE(text.ok()) << answer.message;
  EXPECT_NE(text->find("--dim 'm=1..8' --dim 'n=3' -o out.kin"), std::string::npos) << *text;
}

TEST_F(Isolation, OfReportsOnlyTheNewestStay) {
  for (int i = 0; i < 18; ++i)
    EXPECT_EQ(compile("abort import").status, KIN_INTERNAL);
  auto all = fs::directory_iterator(folder / "tmp");
  EXPECT_EQ(std::distance(begin(all), end(all)), 16);
}

TEST_F(Isolation, MemoryThatRunsOutIsTheMachinesFault) {
  for (const char *fault : {"allocate simplify", "malloc orchestrate", "kill link"}) {
    Answer answer = compile(fault, "{\"max_memory\": 536870912}");
    EXPECT_EQ(answer.status, KIN_MACHINE) << answer.message;
    EXPECT_NE(answer.message.find("--max-memory is 512MiB"), std::string::npos) << answer.message;
    EXPECT_NE(answer.message.find("in phase"), std::string::npos) << answer.message;
    expectNothingLeft();
  }
  EXPECT_TRUE(fs::is_empty(folder / "tmp")) << "there is nothing to report";
}

TEST_F(Isolation, ACompilationMayTakeOnlySoLong) {
  auto start = std::chrono::steady_clock::now();
  Answer answer = compile("loop link", "{\"timeout\": 1.5}");
  EXPECT_EQ(answer.status, KIN_MACHINE);
  EXPECT_NE(answer.message.find("longer than the 1.5 s of --timeout in phase 'link'"),
            std::string::npos)
      << answer.message;
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  expectNothingLeft();
}

TEST_F(Isolation, LimitsAreChecked) {
  for (const char *options : {"{\"timeout\": 0}", "{\"timeout\": \"1\"}", "{\"max_memory\": 1000}",
                              "{\"max_memory\": -1}", "{\"max_memory\": 1e9}"})
    EXPECT_EQ(compile("", options).status, KIN_USAGE) << options;
}

TEST_F(Isolation, TheCallerMayStopIt) {
  ::setenv(faultVariable, "", 1);
  KinCompilerOptions with = {sizeof(with), nullptr,
                             [](void *, const char *phase, uint64_t, uint64_t) {
                               return int(std::string_view(phase) != "orchestrate");
                             },
                             nullptr};
  KinError *error = nullptr;
  EXPECT_EQ(kin_compile(model.c_str(), (folder / "out.kin").c_str(), &with, nullptr, &error),
            KIN_USAGE);
  EXPECT_STREQ(kin_error_message(error), "stopped before 'orchestrate'");
  kin_error_free(error);
  expectNothingLeft();
}

TEST_F(Isolation, TheCallerMayStopAStepThatTakesLong) {
  ::setenv(faultVariable, "loop orchestrate", 1);
  int told = 0;
  KinCompilerOptions with = {sizeof(with), nullptr,
                             [](void *told, const char *phase, uint64_t, uint64_t) {
                               *static_cast<int *>(told) +=
                                   std::string_view(phase) == "orchestrate";
                               return int(*static_cast<int *>(told) < 3);
                             },
                             &told};
  KinError *error = nullptr;
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(kin_compile(model.c_str(), (folder / "out.kin").c_str(), &with, nullptr, &error),
            KIN_USAGE);
  EXPECT_EQ(kin_error_message(error), model + ": compiling it was stopped in phase 'orchestrate'");
  kin_error_free(error);
  EXPECT_EQ(told, 3);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  expectNothingLeft();
}

TEST_F(Isolation, HostsWithThreadsAreIsolatedToo) {
  ::setenv(faultVariable, "abort link", 1);
  std::vector<Answer> answers(3);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < answers.size(); ++i)
    threads.emplace_back([&, i] {
      // Only the first gets as far as the phase that fails.
      const char *json = i == 0 ? "{}" : "{\"plan\": \"none\"}";
      KinCompilerOptions with = {sizeof(with), json, nullptr, nullptr};
      KinError *error = nullptr;
      std::string artifact = (folder / (std::to_string(i) + ".kin")).string();
      answers[i].status = kin_compile(model.c_str(), artifact.c_str(), &with, nullptr, &error);
      answers[i].message = kin_error_message(error);
      kin_error_free(error);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(answers[0].status, KIN_INTERNAL) << answers[0].message;
  EXPECT_NE(answers[0].message.find("signal 6"), std::string::npos) << answers[0].message;
  EXPECT_EQ(answers[1].status, KIN_USAGE) << answers[1].message;
  EXPECT_EQ(answers[2].status, KIN_USAGE) << answers[2].message;
}

/// Of this process, by their parent's number in /proc.
size_t countChildren() {
  std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  return std::distance(std::istream_iterator<int>(file), std::istream_iterator<int>());
}

TEST_F(Isolation, EveryVerbThatLooksAtAModelIsIsolated) {
  ::setenv(faultVariable, "abort import", 1);
  const char *path = model.c_str();
  EXPECT_EQ(kin_emit(path, "plan", nullptr, nullptr, nullptr), KIN_INTERNAL);
  EXPECT_EQ(kin_prepare(path, nullptr, nullptr, nullptr), KIN_INTERNAL);
  EXPECT_EQ(kin_run_file(path, nullptr, nullptr, nullptr, nullptr, nullptr), KIN_INTERNAL);
  EXPECT_EQ(kin_bench(path, nullptr, 0, nullptr, nullptr, nullptr), KIN_INTERNAL);
  EXPECT_EQ(kin_profile(path, nullptr, 0, nullptr, nullptr, nullptr, nullptr), KIN_INTERNAL);
  EXPECT_EQ(kin_explain(path, nullptr, nullptr, nullptr), KIN_INTERNAL);
  EXPECT_EQ(kin_compare(path, nullptr, nullptr, nullptr, nullptr, nullptr), KIN_INTERNAL);
  EXPECT_EQ(kin_compare_kernels(path, nullptr, nullptr, nullptr, nullptr), KIN_INTERNAL);
  EXPECT_EQ(countChildren(), 0u);
}

} // namespace
} // namespace kintsugi

int main(int argc, char **argv) {
  using namespace kintsugi;
  if (argc == 2 && std::string_view(argv[1]) == api::workerArgument)
    return serveWithFaults();
  api::useThisProgramAsWorker(serveWithFaults);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
