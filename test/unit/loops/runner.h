//===- runner.h - Executes a Schedule point by point ------------------------===//
//
// The meaning of a Schedule, written as plainly as can be: every tile, every nest, every point, in
// double. What targets generate and what te::evaluate says must agree with it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_LOOPS_RUNNER_H
#define KINTSUGI_TEST_LOOPS_RUNNER_H

#include "loops/schedule.h"

namespace kintsugi::test {

/// Memory by buffer number; scratch buffers are made (and poisoned) for each tile.
using Memory = std::vector<std::vector<double>>;

/// Runs all tiles. Fails (returns a message) on an access outside of a buffer.
std::string runSchedule(const loops::Schedule &schedule, Memory &memory);

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_LOOPS_RUNNER_H
