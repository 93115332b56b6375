//===- random_program.h - Programs by chance, the same for the same seed ----===//
//
// For round trips and differential tests: programs that verify and whose evaluation never fails,
// with inputs that keep their values small.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_UNIT_TE_RANDOM_PROGRAM_H
#define KINTSUGI_TEST_UNIT_TE_RANDOM_PROGRAM_H

#include "te/exact_tensor.h"

#include <iterator>
#include <random>

namespace kintsugi::te {

/// Numbers by chance that are the same on every platform.
class Chance {
public:
  explicit Chance(uint64_t seed) : engine(seed) {}
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
  bool oneIn(int64_t n) { return between(1, n) == 1; }
  template <typename List> auto &pick(List &list) { return list[between(0, std::size(list) - 1)]; }

private:
  std::mt19937_64 engine;
};

struct RandomOptions {
  unsigned definitions = 6;
  unsigned maxRank = 3;
  int64_t maxExtent = 5;
  unsigned maxDepth = 4; ///< Of expressions.
  /// Operations where a small difference of an operand makes a large one of the result: roundings,
  /// comparisons of floats, conversions of floats to integers, arg forms. Off for comparisons with
  /// arithmetic that rounds differently.
  bool jumps = true;
  bool scans = true;
  std::vector<ElementType> types = {ElementType::F32, ElementType::F64, ElementType::I64,
                                    ElementType::I32, ElementType::U8,  ElementType::Bool};
};

/// An index over iterators of these ranges, divisions included.
Index randomIndex(Chance &chance, llvm::ArrayRef<Interval> ranges, unsigned depth = 3);

Program randomProgram(uint64_t seed, const RandomOptions &options = {});

/// Inputs for a program, of small magnitude.
std::vector<ExactTensor> randomInputs(const Program &program, uint64_t seed);

} // namespace kintsugi::te

#endif // KINTSUGI_TEST_UNIT_TE_RANDOM_PROGRAM_H
