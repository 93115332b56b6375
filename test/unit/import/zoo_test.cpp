//===- zoo_test.cpp - Every model of the zoo imports -------------------------===//

#include "import/import.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace kintsugi::import {
namespace {

std::vector<std::string> zooModels() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(KINTSUGI_ZOO))
    if (entry.path().extension() == ".onnx")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Zoo : public testing::TestWithParam<std::string> {};

TEST_P(Zoo, ImportsWithRandomWeights) {
  ImportOptions options;
  options.randomWeights = true;
  Diagnostics diagnostics;
  std::string path = std::string(KINTSUGI_ZOO) + "/" + GetParam() + ".onnx";
  Expected<te::Program> program = importOnnx(path, options, diagnostics);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_FALSE(program->outputs.empty());
  for (const auto &origin : program->origins)
    EXPECT_FALSE(origin.empty()) << "every definition comes from a node";
}

INSTANTIATE_TEST_SUITE_P(Import, Zoo, testing::ValuesIn(zooModels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace kintsugi::import
