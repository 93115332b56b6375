//===- bench_main.cpp - solve_bench: solvers on synthetic spaces, a table -===//
//
//   solve_bench [--seeds N] [--operators N] [--candidates N] [--formats N] [--derivations]
//               [--solver cbc|dynamic|greedy|separate] [--print SEED]
//
// A line per seed: columns, status, objective, gap, seconds by the clock and of the processor,
// nodes, iterations, cuts. `--print`
// writes one problem's text instead.
//
//===----------------------------------------------------------------------===//

#include "solve/solvers.h"
#include "synthetic.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>

using namespace kintsugi;
using namespace kintsugi::solve;

namespace {

struct Arguments {
  SyntheticOptions space;
  int seeds = 10;
  int printed = -1;
  std::string_view solver = "cbc";
};

bool readNumber(const char *text, int &into) {
  const char *end = text + std::strlen(text);
  auto [stop, failure] = std::from_chars(text, end, into);
  return failure == std::errc() && stop == end && into >= 1;
}

bool readArguments(int count, char **words, Arguments &into) {
  for (int i = 1; i < count; ++i) {
    std::string_view word = words[i];
    if (word == "--derivations") {
      into.space.derivations = true;
      continue;
    }
    if (i + 1 == count)
      return false;
    const char *next = words[++i];
    bool good = word == "--seeds"        ? readNumber(next, into.seeds)
                : word == "--operators"  ? readNumber(next, into.space.operators)
                : word == "--candidates" ? readNumber(next, into.space.candidates)
                : word == "--formats"    ? readNumber(next, into.space.formats)
                : word == "--print"      ? readNumber(next, into.printed)
                                         : word == "--solver";
    if (!good)
      return false;
    if (word == "--solver")
      into.solver = next;
  }
  return true;
}

Solver solverNamed(std::string_view name) {
  return name == "cbc"        ? solveCbc
         : name == "dynamic"  ? solveDynamic
         : name == "greedy"   ? solveGreedy
         : name == "separate" ? solveSeparate
                              : nullptr;
}

bool benchSeed(const Problem &problem, Solver solver, int seed) {
  auto start = std::chrono::steady_clock::now();
  std::clock_t busy = std::clock();
  Expected<Solution> solution = solver(problem, {});
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  double processor = static_cast<double>(std::clock() - busy) / CLOCKS_PER_SEC;
  Status verdict = solution.ok() ? problem.verify(*solution) : solution.status();
  if (!verdict.ok()) {
    std::fprintf(stderr, "seed %d: %s\n", seed, verdict.error().message.c_str());
    return false;
  }
  std::printf("%4d %8zu %10s %12.3f %8.4f%% %8.2f %8.2f %7lld %9lld %6lld\n", seed,
              problem.columns.size(), statusName(solution->status), solution->objective,
              100 * solution->gap, seconds.count(), processor,
              static_cast<long long>(solution->nodes), static_cast<long long>(solution->iterations),
              static_cast<long long>(solution->cuts));
  std::fflush(stdout);
  return true;
}

} // namespace

int main(int count, char **words) {
  Arguments arguments;
  Solver solver = nullptr;
  if (!readArguments(count, words, arguments) || !(solver = solverNamed(arguments.solver))) {
    std::fprintf(stderr, "usage: solve_bench [--seeds N] [--operators N] [--candidates N] "
                         "[--formats N] [--derivations] "
                         "[--solver cbc|dynamic|greedy|separate] [--print SEED]\n");
    return 2;
  }
  if (arguments.printed >= 0) {
    arguments.space.seed = static_cast<uint64_t>(arguments.printed);
    std::fputs(makeSyntheticSpace(arguments.space).print().c_str(), stdout);
    return 0;
  }
  std::printf("seed  columns     status    objective       gap  seconds      cpu   nodes "
              "iterations  cuts\n");
  bool good = true;
  for (int seed = 1; seed <= arguments.seeds; ++seed) {
    arguments.space.seed = static_cast<uint64_t>(seed);
    good &= benchSeed(makeSyntheticSpace(arguments.space), solver, seed);
  }
  return good ? 0 : 1;
}
