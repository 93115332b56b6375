//===- plain_runner.h - Executes a schedule point by point ------------------===//
//
// The meaning of a schedule, written as plainly as can be, with every operation of te: floats in
// double, integers exact (te/scalar.h). Generated code must agree with it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_TARGETS_PLAIN_RUNNER_H
#define KINTSUGI_TEST_TARGETS_PLAIN_RUNNER_H

#include "loops/schedule.h"

namespace kintsugi::test {

/// A number in one of te/scalar.h's two forms; its type tells which.
struct Number {
  double real = 0;
  int64_t integer = 0;
};

/// Memory by buffer number.
using Memory = std::vector<std::vector<Number>>;

/// Runs all tiles. Returns what is wrong (an access outside of a buffer), or "".
std::string runPlainly(const loops::Schedule &schedule, Memory &memory);

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_TARGETS_PLAIN_RUNNER_H
