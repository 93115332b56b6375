//===- testing.h - What the tests of the expression language share ----------===//
#ifndef KINTSUGI_TEST_UNIT_TE_TESTING_H
#define KINTSUGI_TEST_UNIT_TE_TESTING_H

#include "te/interpreter.h"
#include "te/parser.h"

#include <cmath>
#include <gtest/gtest.h>

namespace kintsugi::te {

/// Parses a text that must be right.
inline Program parsed(llvm::StringRef text) {
  Expected<Program> program = parseProgram(text, "test.te");
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message) << "\nin\n"
                            << text.str();
  return program.ok() ? std::move(*program) : Program();
}

/// Evaluates a program that must not fail.
inline std::vector<ExactTensor> evaluated(const Program &program,
                                          llvm::ArrayRef<ExactTensor> inputs = {}) {
  Expected<std::vector<ExactTensor>> outputs = evaluate(program, inputs);
  EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : outputs.error().message);
  return outputs.ok() ? std::move(*outputs) : std::vector<ExactTensor>();
}

inline ExactTensor floats(std::vector<int64_t> shape, std::vector<double> elements) {
  return {ElementType::F32, std::move(shape), std::move(elements), {}};
}

inline ExactTensor integers(ElementType type, std::vector<int64_t> shape,
                            std::vector<int64_t> elements) {
  return {type, std::move(shape), {}, std::move(elements)};
}

/// Bit for bit, but any NaN equals any other.
inline void expectSame(const ExactTensor &actual, const ExactTensor &expected) {
  EXPECT_EQ(actual.type, expected.type);
  EXPECT_EQ(actual.shape, expected.shape);
  EXPECT_EQ(actual.integers, expected.integers);
  ASSERT_EQ(actual.floats.size(), expected.floats.size());
  for (size_t i = 0; i < actual.floats.size(); ++i)
    if (!std::isnan(actual.floats[i]) || !std::isnan(expected.floats[i]))
      EXPECT_EQ(actual.floats[i], expected.floats[i]) << "at " << i;
}

inline void expectSame(llvm::ArrayRef<ExactTensor> actual, llvm::ArrayRef<ExactTensor> expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expectSame(actual[i], expected[i]);
  }
}

} // namespace kintsugi::te

#endif // KINTSUGI_TEST_UNIT_TE_TESTING_H
