//===- problem.h - What to choose: items, resources, columns --------------===//
//
// A kernel-orchestration problem as data, free of any compiler word: items that must each be
// covered exactly once, columns that cover items at a cost, and the resources that columns consume
// and produce. It stands apart from the space so that solvers can be written, tested and timed on
// text alone (after CIRCT's Scheduling: a Problem holds data, is checked before and verified
// after).
//
// Text form, one statement a line, `#` starts a comment:
//
//   problem resnet18
//   room 4096                   # of whatever the columns that are chosen take; without a line: all
//   item conv1
//   input x                     # always there
//   value y                     # comes with the item that defines it: no row of its own
//   derived y@nhwc              # a format or a derived intermediate: gets availability rows
//   output y                    # must be produced; names a resource declared above
//   column k0 cost 12.5 covers conv1 consumes x produces y
//   column k1 cost 9 takes 2048 covers conv1 consumes x produces y
//
// Names are bare words or "quoted" with \" \\ \n \t \r. What a line names is declared above it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SOLVE_PROBLEM_H
#define KINTSUGI_SOLVE_PROBLEM_H

#include "base/status.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi::solve {

struct Solution;

using ItemId = int32_t;
using ResourceId = int32_t;
using ColumnId = int32_t;

/// An original definition: every solution covers it exactly once.
struct Item {
  std::string name;
};

enum class ResourceKind {
  Input,   ///< Always available; no column produces it.
  Value,   ///< The columns that cover its item produce it where it is needed: rows only lazily.
  Derived, ///< A format of a value or a derived intermediate: availability rows from the start.
};

struct Resource {
  std::string name;
  ResourceKind kind = ResourceKind::Value;
  bool output = false; ///< Must be available in the end.
};

/// A candidate. One that covers no item is optional: a conversion, or work on a derived value.
struct Column {
  std::string name;
  double cost = 0; ///< Finite, at least 0; any unit, the same for all.
  std::vector<ItemId> covers;
  std::vector<ResourceId> consumes; ///< Available before the column runs.
  std::vector<ResourceId> produces; ///< Available after.
  double takes = 0; ///< Like the cost; of what there is no more than Problem::room, as memory.
};

/// Choose columns of least total cost that cover each item exactly once, can be put in an order in
/// which everything consumed was produced before, produce every output, and have room.
struct Problem {
  std::string name = "unnamed";
  std::vector<Item> items;
  std::vector<Resource> resources;
  std::vector<Column> columns;
  double room = std::numeric_limits<double>::infinity();

  ItemId addItem(std::string itemName);
  ResourceId addResource(std::string resourceName, ResourceKind kind = ResourceKind::Value);
  ColumnId addColumn(Column column);
  void setOutput(ResourceId resource) { resources[static_cast<size_t>(resource)].output = true; }

  /// Is this a problem at all: names, indices and costs (not whether a solution exists)?
  Status check() const;
  /// The part of check() that looks at one column, whose ids may still be out of range.
  Status checkColumn(const Column &column) const;
  /// Does `solution` hold for this problem: cover, order, outputs, room, objective, bound and gap?
  /// A failure is our own fault, hence of kind Internal. Expects a problem that passes check().
  Status verify(const Solution &solution) const;

  /// The text form; parseProblem(print()) gives an equal problem.
  std::string print() const;
};

/// Reads the text form and checks the problem. Errors name `file` and the line.
Expected<Problem> parseProblem(std::string_view text, const std::string &file = "problem");

bool operator==(const Problem &left, const Problem &right);

} // namespace kintsugi::solve

#endif // KINTSUGI_SOLVE_PROBLEM_H
