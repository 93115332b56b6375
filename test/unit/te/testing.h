//===- testing.h - What the tests of the expression language share ----------===//
#ifndef KINTSUGI_TEST_UNIT_TE_TESTING_H
#define KINTSUGI_TEST_UNIT_TE_TESTING_H

#include "te/parser.h"

#include <gtest/gtest.h>

namespace kintsugi::te {

/// Parses a text that must be right.
inline Program parsed(llvm::StringRef text) {
  Expected<Program> program = parseProgram(text, "test.te");
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message) << "\nin\n"
                            << text.str();
  return program.ok() ? std::move(*program) : Program();
}

} // namespace kintsugi::te

#endif // KINTSUGI_TEST_UNIT_TE_TESTING_H
