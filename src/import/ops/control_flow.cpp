//===- control_flow.cpp - If --------------------------------------------------===//
//
// A known condition picks its branch. A branch that depends on data is a scan of one step, made or
// not; what becomes of a result is chosen behind both. Where a branch can't be a body, both are
// computed.
//
//===----------------------------------------------------------------------===//

#include "import/ops/decisions.h"
#include "import/ops/families.h"
#include "import/ops/loop.h"
#include "import/scan_body.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

/// A branch as a scan of a step that is made where the condition is `wanted`.
struct Branch {
  std::vector<Binding> results;
  std::vector<CheckedTensor> checks;
};

/// Nothing where the graph can't be one.
std::optional<Branch> branchOf(OpContext &c, const Graph &graph, ValueId condition, bool wanted) {
  if (!c.importer.mayBeBody(graph))
    return std::nullopt;
  ScanBody body(c);
  Expected<std::vector<Binding>> results = c.importer.importSubgraph(graph, {});
  if (!results.ok() || !llvm::all_of(*results, isTensor)) {
    c.importer.isNoBody(graph);
    return std::nullopt;
  }
  llvm::SmallVector<ValueId> all, made;
  llvm::SmallVector<size_t> places;
  for (const Binding &result : *results)
    all.push_back(*result.tensor);
  for (auto [k, isOfStep] : llvm::enumerate(body.areOfStep(all)))
    if (isOfStep) {
      made.push_back(all[k]);
      places.push_back(k);
    }
  ValueId other = c.define(c.name() + ".done", {}, [&](Indices) { return Expr::boolean(!wanted); });
  auto scan = body.finish(1, {}, made, ScanBody::Condition{condition, other, wanted});
  if (!scan) {
    c.importer.isNoBody(graph);
    return std::nullopt;
  }
  for (auto [place, stack] : llvm::zip_equal(places, scan->stacks)) {
    Shape shape(c.shape(stack).drop_front());
    (*results)[place].tensor = c.view(c.name() + ".taken", stack, shape, [&](Indices i) {
      llvm::SmallVector<Index> at{Index(0)};
      at.append(i.begin(), i.end());
      return at;
    });
  }
  return Branch{std::move(*results), std::move(scan->checks)};
}

struct Branches {
  std::vector<Binding> yes, no; ///< What each gives.
};

/// One or the other is computed, not both; nothing where that can't be.
std::optional<Branches> branched(OpContext &c, const Graph &thenGraph, const Graph &elseGraph) {
  if (!c.importer.mayEndByData())
    return std::nullopt;
  ValueId condition = scalarOf(c, c.input(0));
  std::optional<Branch> yes = branchOf(c, thenGraph, condition, true);
  std::optional<Branch> no = yes ? branchOf(c, elseGraph, condition, false) : std::nullopt;
  if (!no)
    return std::nullopt;
  for (const Branch *branch : {&*yes, &*no})
    for (const CheckedTensor &checked : branch->checks)
      c.importer.require(checked);
  return Branches{std::move(yes->results), std::move(no->results)};
}

Expected<Branches> bothBranches(OpContext &c, const Graph &thenGraph, const Graph &elseGraph) {
  Branches branches;
  KINTSUGI_ASSIGN(branches.yes, c.importer.importBranch(thenGraph, {}, c.input(0), true));
  KINTSUGI_ASSIGN(branches.no, c.importer.importBranch(elseGraph, {}, c.input(0), false));
  return branches;
}

Status conditional(OpContext &c) {
  KINTSUGI_ASSIGN(const Graph *thenGraph, c.graph("then_branch"));
  KINTSUGI_ASSIGN(const Graph *elseGraph, c.graph("else_branch"));
  KINTSUGI_ASSIGN(std::optional<bool> known, knownCondition(c, c.input(0)));
  if (thenGraph->outputs.size() != c.numOutputs() || elseGraph->outputs.size() != c.numOutputs())
    return c.error("its branches don't have as many outputs as it has");
  if (known) {
    KINTSUGI_ASSIGN(auto results, c.importer.importSubgraph(*known ? *thenGraph : *elseGraph, {}));
    for (unsigned k = 0; k < c.numOutputs(); ++k)
      c.outputBinding(k, results[k]);
    return Status::success();
  }
  std::optional<Branches> branches = branched(c, *thenGraph, *elseGraph);
  if (!branches) {
    KINTSUGI_ASSIGN(branches, bothBranches(c, *thenGraph, *elseGraph));
  }
  for (unsigned k = 0; k < c.numOutputs(); ++k) {
    KINTSUGI_ASSIGN(ValueId result, chosen(c, c.name(k), c.input(0), branches->yes[k],
                                           branches->no[k], "branches"));
    c.output(k, result);
  }
  return Status::success();
}

} // namespace

OperatorTable controlFlowOperators() {
  static const Operator table[] = {
      {"If", 1, 1, conditional, "", Elements::Any},
      {"Loop", 1, 0, loop, "", Elements::Any},
  };
  return table;
}

} // namespace kintsugi::import
