//===- synthetic.h - Seeded spaces to test and time solvers on ------------===//
//
// A random operator graph (chains, residual edges, branches), candidates grown along its edges as a
// space grows them (connected and convex, with one or several outputs), and costs made of launch,
// traffic and arithmetic, so that fusing sometimes pays and sometimes does not. The same options
// give the same problem on every machine: no standard distribution is used.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_UNIT_SOLVE_SYNTHETIC_H
#define KINTSUGI_TEST_UNIT_SOLVE_SYNTHETIC_H

#include "solve/problem.h"

namespace kintsugi::solve {

/// SplitMix64 (Steele, Lea, Flood, 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  int below(int count) { return static_cast<int>(next() % static_cast<uint64_t>(count)); }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  bool chance(double probability) { return real(0, 1) < probability; }

private:
  uint64_t state;
};

struct SyntheticOptions {
  uint64_t seed = 1;
  int operators = 1000;
  int candidates = 8000;    ///< Columns that cover something; conversions come on top.
  int formats = 1;          ///< Formats of the values that have a choice (60 % of them).
  bool derivations = false; ///< A fifth of the heavy operators also go through derived values.
};

Problem makeSyntheticSpace(const SyntheticOptions &options);

/// A small problem without any structure, feasible or not: for holding solvers against each other.
Problem makeRandomProblem(uint64_t seed);

} // namespace kintsugi::solve

#endif // KINTSUGI_TEST_UNIT_SOLVE_SYNTHETIC_H
