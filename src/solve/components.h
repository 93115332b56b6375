//===- components.h - Independent parts of a set of rows ------------------===//
//
// Columns that share no row do not see each other, and layers of a network often do not: each part
// is solved alone, and equal parts (repeated layers) once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SOLVE_COMPONENTS_H
#define KINTSUGI_SOLVE_COMPONENTS_H

#include "solve/binary_program.h"

namespace kintsugi::solve {

/// One part: the columns, ascending, and its program with columns numbered by position in them.
struct Component {
  std::vector<ColumnId> columns;
  BinaryProgram program;
};

/// The parts of `rows` over `costs.size()` columns, ordered by their first column. Columns in no
/// row belong to no part. A row without columns makes a part of its own.
std::vector<Component> splitIntoComponents(const std::vector<double> &costs,
                                           const std::vector<Row> &rows);

/// A program of those columns alone; the others stay 0.
Component restrictedTo(const BinaryProgram &program, const std::vector<bool> &kept);

/// Equal programs have equal keys and only they: the program's bytes.
std::string programKey(const BinaryProgram &program);

} // namespace kintsugi::solve

#endif // KINTSUGI_SOLVE_COMPONENTS_H
