//===- code_cache_test.cpp - Code of a GPU is compiled once ---------------===//

#include "devices/cuda/code_cache.h"

#include "fake_driver.h"

#include <filesystem>
#include <fstream>
#include <thread>

namespace kintsugi::devices::cuda {
namespace {

namespace fs = std::filesystem;

class CodeCacheTest : public FakeDriverTest {
protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(FakeDriverTest::SetUp());
    driver = *Driver::load(FAKE_CUDA);
    folder = testing::TempDir() + "code_cache_" + std::to_string(::getpid());
    fs::remove_all(folder);
  }
  void TearDown() override {
    fs::remove_all(folder);
    driver.reset();
    FakeDriverTest::TearDown();
  }

  /// Loads a text through a cache of its own; the message of what went wrong.
  std::string load(std::string_view text = "a text", std::string architecture = "9.0") {
    CodeCache cache(*driver, folder, std::move(architecture));
    auto module = cache.load(std::as_bytes(std::span(text.data(), text.size() + 1)));
    if (!module.ok())
      return module.error().message;
    driver->unloadModule(*module);
    return "";
  }

  std::vector<fs::path> entries() const {
    std::vector<fs::path> files;
    for (const auto &file : fs::recursive_directory_iterator(folder))
      if (file.is_regular_file())
        files.push_back(file.path());
    return files;
  }

  std::shared_ptr<const Driver> driver;
  std::string folder;
};

TEST_F(CodeCacheTest, ATextIsCompiledOnceForAnArchitectureAndADriver) {
  for (int times = 0; times < 3; ++times) {
    EXPECT_EQ(load(), "");
    EXPECT_EQ(fake->linked, 1);
    EXPECT_EQ(fake->loadedText, "code of a text");
  }
  EXPECT_EQ(load("another"), "");
  EXPECT_EQ(load("a text", "10.0"), "");
  fake->version = 13010;
  EXPECT_EQ(load(), "");
  EXPECT_EQ(fake->linked, 4);
  EXPECT_EQ(fake->textsLoaded, 0);
  EXPECT_EQ(entries().size(), 4u);
}

TEST_F(CodeCacheTest, WhatIsDamagedIsCompiledAnew) {
  EXPECT_EQ(load(), "");
  ASSERT_EQ(entries().size(), 1u);
  fs::path entry = entries()[0];
  std::fstream(entry, std::ios::in | std::ios::out).seekp(70).put('?');
  EXPECT_EQ(load(), "");
  EXPECT_EQ(fake->linked, 2);
  fs::resize_file(entry, 10);
  EXPECT_EQ(load(), "");
  EXPECT_EQ(fake->linked, 3);
  EXPECT_EQ(load(), "");
  EXPECT_EQ(fake->linked, 3);
}

TEST_F(CodeCacheTest, WhatTheDriverDoesNotTakeIsCompiledAnew) {
  EXPECT_EQ(load(), "");
  fake->refusedCode = 1;
  EXPECT_EQ(load(), "");
  EXPECT_EQ(fake->linked, 2);
  fake->refusedCode = 2; // Nor what it just made.
  EXPECT_EQ(load(), "");
  EXPECT_EQ(fake->textsLoaded, 1);
}

TEST_F(CodeCacheTest, WithoutAFolderNothingIsKept) {
  std::ofstream(folder) << "a file where the folder would be";
  EXPECT_EQ(load(), "");
  fs::remove(folder);
  folder = "";
  EXPECT_EQ(load(), "");
  EXPECT_EQ(fake->linked, 0);
  EXPECT_EQ(fake->textsLoaded, 2);
}

TEST_F(CodeCacheTest, SaysWhatTheDriverSaysOfTheText) {
  EXPECT_NE(load("nonsense").find("line 1: a word that is none"), std::string::npos);
  EXPECT_TRUE(entries().empty());
}

TEST_F(CodeCacheTest, ManyLoadAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([this, i] {
      for (int times = 0; times < 20; ++times)
        EXPECT_EQ(load(i % 2 ? "one" : "other"), "");
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(entries().size(), 2u);
  EXPECT_EQ(fake->textsLoaded, 0);
}

} // namespace
} // namespace kintsugi::devices::cuda
