//===- incidence.h - A problem seen from its items and resources ----------===//
//
// Problem lists, per column, what it touches; solvers also need the transpose.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SOLVE_INCIDENCE_H
#define KINTSUGI_SOLVE_INCIDENCE_H

#include "solve/problem.h"

namespace kintsugi::solve {

/// For each item and resource, its columns in ascending order.
struct Incidence {
  explicit Incidence(const Problem &problem);
  std::vector<std::vector<ColumnId>> coverers;  ///< By item.
  std::vector<std::vector<ColumnId>> producers; ///< By resource.
  std::vector<std::vector<ColumnId>> consumers; ///< By resource.
};

inline size_t index(int32_t id) { return static_cast<size_t>(id); }

} // namespace kintsugi::solve

#endif // KINTSUGI_SOLVE_INCIDENCE_H
