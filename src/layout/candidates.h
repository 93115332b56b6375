//===- candidates.h - Which formats are worth considering -------------------===//
//
// One variable for each definition whose results may be stored in another order. Its labels are
// dimensions to move innermost (label 0: none, row-major). A dimension is considered where a
// reduction that writes or reads the value is quicker so, and passed on along links: dimensions of
// two values that move together, from one definition to the next.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LAYOUT_CANDIDATES_H
#define KINTSUGI_LAYOUT_CANDIDATES_H

#include "layout/definition_costs.h"
#include "layout/search.h"
#include "te/open_axis.h"

namespace kintsugi::layout {

struct Variable {
  uint32_t node;
  /// By label. Label 0 is row-major: -1.
  llvm::SmallVector<int, 4> dimensions = {-1};
  llvm::SmallVector<Order, 4> orders = {Order()};
  double gain = 0; ///< The most that one definition is quicker with any of the labels, in seconds.

  /// The label of a dimension, or -1.
  int labelOf(int dimension) const;
};

/// A dimension of one variable moves with a dimension of another.
struct Link {
  unsigned from, fromDimension; ///< A variable that is read.
  unsigned to, toDimension;     ///< The one whose definition reads it.
  bool reduces;                 ///< Whether that definition is a reduction.
};

struct Candidates {
  std::vector<Variable> variables;
  std::vector<int> variableOf; ///< By value; -1: stays row-major.
  std::vector<Link> links;

  const Order &orderOf(te::ValueId value, const Labelling &labelling) const;
};

/// The formats to consider of a program's values; variables with label 0 alone are left out.
/// `open`: see LayoutOptions.
Candidates findCandidates(const te::Program &program, DefinitionCosts &costs,
                          llvm::ArrayRef<te::OpenInputs> open);

} // namespace kintsugi::layout

#endif // KINTSUGI_LAYOUT_CANDIDATES_H
