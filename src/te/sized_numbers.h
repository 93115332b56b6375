//===- sized_numbers.h - Numbers in a program that a size makes others ---------===//
//
// The mean of so many tokens is their sum times a number that an import at each size knows. Such a
// number becomes one of a table, which the run's size picks.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_SIZED_NUMBERS_H
#define KINTSUGI_TE_SIZED_NUMBERS_H

#include "base/open_dimension.h"
#include "te/program.h"

#include <map>

namespace kintsugi::te {

/// A float literal: the how manyeth of one body of a definition, operands in order, those of a
/// shared expression counted wherever it stands, and those of indices and fills not at all.
struct NumberPlace {
  uint32_t node;
  unsigned body, literal;
  auto operator<=>(const NumberPlace &) const = default;
};

struct SizedNumber {
  double greatest = 0;              ///< At the greatest size,
  std::map<int64_t, double> others; ///< and at the sizes at which it is another.
};

using SizedNumbers = std::map<NumberPlace, SizedNumber>;

/// Whether both have a number in the same body.
bool haveOneBody(const SizedNumbers &a, const SizedNumbers &b);

/// Whether two bodies, of equal indices, differ in literals only; adds these to `numbers`, as of
/// `size`. `first`: of the place, its literal not counted.
bool areAlike(const Expr &greatest, const Expr &smaller, NumberPlace first, int64_t size,
              SizedNumbers &numbers);

/// A definition of the greatest program that looks up its numbers: a table for each is added to
/// `program`, whose input `size` is the size, from `open.low` to `open.high`.
void lookUp(Definition &definition, uint32_t node, const SizedNumbers &numbers, Program &program,
            ValueId size, const OpenDimension &open);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_SIZED_NUMBERS_H
