//===- cases_test.cpp - Operators against ONNX Runtime -----------------------===//
//
// Every archive in cases/ (made by make_cases.py) is imported and interpreted.
//
//===----------------------------------------------------------------------===//

#include "run_case.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace kintsugi::import {
namespace {

std::vector<std::string> caseNames() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(KINTSUGI_TEST_CASES))
    if (entry.path().extension() == ".npz")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Cases : public testing::TestWithParam<std::string> {};

TEST_P(Cases, AgreesWithOnnxRuntime) {
  Status status = runCase(std::string(KINTSUGI_TEST_CASES) + "/" + GetParam() + ".npz");
  EXPECT_TRUE(status.ok()) << status.error().message;
}

INSTANTIATE_TEST_SUITE_P(Import, Cases, testing::ValuesIn(caseNames()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace kintsugi::import
