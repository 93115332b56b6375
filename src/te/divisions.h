//===- divisions.h - How much a map divides ------------------------------------===//
#ifndef KINTSUGI_TE_DIVISIONS_H
#define KINTSUGI_TE_DIVISIONS_H

#include "te/expr.h"

namespace kintsugi::te {

/// What the indices of one expression may divide when maps are composed into it: a map that grows
/// with each link of a chain is worse than a copy.
inline constexpr unsigned mostDivisions = 32;

/// The divisions and remainders in the indices of what an expression reads.
unsigned divisionsIn(const Expr &expr);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_DIVISIONS_H
