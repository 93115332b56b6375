//===- form_columns.h - The problem of several forms ------------------------===//
//
// Items, resources and columns of a problem whose columns are work of equal programs: what one form
// makes, in the place of what another one would. Work that several forms have is one column.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_FORM_COLUMNS_H
#define KINTSUGI_ORCHESTRATE_FORM_COLUMNS_H

#include "orchestrate/launch_columns.h"
#include "orchestrate/ways.h"
#include "solve/problem.h"

#include <deque>

namespace kintsugi::orchestrate {

class FormColumns {
public:
  /// What a column is: a kernel of a form, scans or a call; no form: launches of several, or
  /// nothing in the place of an item.
  struct Source {
    const Form *form;
    llvm::SmallVector<uint32_t, 4> nodes = {};
    llvm::SmallVector<te::ValueId, 4> stored = {};
  };

  /// What runs as one.
  struct Work {
    llvm::ArrayRef<uint32_t> nodes;
    llvm::ArrayRef<te::ValueId> operands, results;
    double cost;
    double constants; ///< Bytes.
    double margin;    ///< By which it pays more where the preferred form does not have it.
  };

  explicit FormColumns(const space::EqualParts &parts) : parts(parts) {}

  /// Items, outputs, room for constants, and columns for nothing; the first form has the items.
  void start(const std::deque<Form> &forms, const Form &preferred);
  /// Values that a form does without need not be made: what reads them asks for them.
  void addNothing(const Form &form);
  /// Its column, or that of work like it. Forms outlive the columns.
  solve::ColumnId add(const Form &form, const Work &work);
  /// Launches are columns that the problem has got besides, of columns that have sources.
  void addLaunches(const LaunchColumns &launches);

  const Source &operator[](solve::ColumnId id) const { return sources[static_cast<size_t>(id)]; }
  /// Whether the preferred form alone has all of it.
  bool isPreferred(solve::ColumnId id) const { return ofPreferred[static_cast<size_t>(id)]; }

  solve::Problem problem;

private:
  void addItems(const std::deque<Form> &forms);
  void findKinds(const std::deque<Form> &forms);
  solve::ResourceId resourceOf(unsigned value);
  void consume(const Form &form, te::ValueId id, solve::Column &column);
  void cover(const Form &form, uint32_t node, solve::Column &column) const;

  const space::EqualParts &parts;
  std::vector<Source> sources;   ///< By column.
  std::vector<bool> ofPreferred; ///< By column.
  std::set<unsigned> preferredNodes;
  std::map<uint32_t, solve::ItemId> items; ///< By the first program's value.
  std::set<uint32_t> dispensable;          ///< Items that some form does without.
  Ways ways;
  std::map<unsigned, solve::ItemId> partItems; ///< By node of the programs together.
  std::map<unsigned, solve::ResourceId> resources;
  std::vector<bool> hasItem;                ///< By value.
  std::map<Hash128, solve::ColumnId> known; ///< By what work has, covers and makes.
};

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_FORM_COLUMNS_H
