//===- incidence.cpp - A problem seen from its items and resources --------===//

#include "solve/incidence.h"

namespace kintsugi::solve {

Incidence::Incidence(const Problem &problem)
    : coverers(problem.items.size()), producers(problem.resources.size()),
      consumers(problem.resources.size()) {
  for (size_t i = 0; i < problem.columns.size(); ++i) {
    const Column &column = problem.columns[i];
    ColumnId id = static_cast<ColumnId>(i);
    for (ItemId item : column.covers)
      coverers[index(item)].push_back(id);
    for (ResourceId resource : column.produces)
      producers[index(resource)].push_back(id);
    for (ResourceId resource : column.consumes)
      consumers[index(resource)].push_back(id);
  }
}

} // namespace kintsugi::solve
