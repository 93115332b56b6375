//===- control_flow.cpp - If and Loop ----------------------------------------===//
//
// What is decided by known values disappears here: a known condition picks its branch, a loop whose
// trips are known is unrolled. A branch that depends on data becomes a choice between the results
// of both branches, which have no side effects.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/join.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

constexpr int64_t mostTrips = 1024;

/// A scalar boolean if it is known.
Expected<std::optional<bool>> knownCondition(OpContext &c, ValueId condition) {
  if (c.type(condition) != ElementType::Bool || c.count(condition) != 1)
    return c.error("its condition must be one boolean");
  const Tensor *known = c.constants.value(condition);
  if (!known)
    return std::optional<bool>();
  return std::optional(loadInteger(known->view(), 0) != 0);
}

Status choose(OpContext &c, llvm::ArrayRef<Binding> yes, llvm::ArrayRef<Binding> no) {
  ValueId condition = c.input(0);
  for (unsigned k = 0; k < c.numOutputs(); ++k) {
    if (!yes[k].tensor || !no[k].tensor)
      return c.error("its condition depends on data, and its results are not tensors");
    ValueId a = *yes[k].tensor, b = *no[k].tensor;
    if (c.type(a) != c.type(b) || c.shape(a) != c.shape(b))
      return c.error("its condition depends on data, and its branches give results of different "
                     "shapes or types");
    c.output(k, c.define(c.name(k), c.shape(a), [&](Indices i) {
      Expr decides = c.read(condition, llvm::SmallVector<Index>(c.rank(condition)));
      return Expr::select(decides, c.read(a, i), c.read(b, i));
    }));
  }
  return Status::success();
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
  KINTSUGI_ASSIGN(auto yes, c.importer.importBranch(*thenGraph, c.input(0), true));
  KINTSUGI_ASSIGN(auto no, c.importer.importBranch(*elseGraph, c.input(0), false));
  return choose(c, yes, no);
}

Expected<ValueId> scalarConstant(OpContext &c, std::string name, int64_t value) {
  KINTSUGI_ASSIGN(Tensor tensor, Tensor::from<int64_t>({}, std::span(&value, 1)));
  return c.constant(std::move(name), std::move(tensor));
}

/// The trips of a loop as far as its inputs say.
Expected<int64_t> tripLimit(OpContext &c) {
  if (!c.hasInput(0))
    return mostTrips + 1;
  KINTSUGI_ASSIGN(std::vector<int64_t> trips, c.constantIntegers(0, "number of trips"));
  if (trips.size() != 1)
    return c.error("its number of trips must be one integer");
  return std::clamp<int64_t>(trips[0], 0, mostTrips + 1);
}

Status loop(OpContext &c) {
  KINTSUGI_ASSIGN(const Graph *body, c.graph("body"));
  KINTSUGI_ASSIGN(int64_t trips, tripLimit(c));
  unsigned carried = std::max(2u, c.numInputs()) - 2;
  if (body->outputs.size() != 1 + c.numOutputs() || c.numOutputs() < carried)
    return c.error("its body does not have one output more than it has");
  std::vector<Binding> state;
  for (unsigned k = 0; k < carried; ++k)
    state.push_back(c.binding(2 + k));
  std::vector<std::vector<ValueId>> stacks(c.numOutputs() - carried);
  Binding condition = c.numInputs() > 1 ? c.binding(1) : Binding();
  for (int64_t trip = 0; trip < trips; ++trip) {
    if (condition.tensor) {
      KINTSUGI_ASSIGN(std::optional<bool> goes, knownCondition(c, *condition.tensor));
      if (!goes)
        return c.error("whether it goes on depends on data, which is not supported");
      if (!*goes)
        break;
    }
    if (trip == mostTrips)
      return c.error("it makes more than " + llvm::Twine(mostTrips) + " trips");
    KINTSUGI_ASSIGN(ValueId number, scalarConstant(c, c.name() + ".trip", trip));
    std::vector<Binding> arguments{{number, {}, {}}, condition};
    if (!condition.tensor)
      arguments[1].tensor =
          c.define(c.name() + ".goes", {}, [&](Indices) { return Expr::boolean(true); });
    arguments.insert(arguments.end(), state.begin(), state.end());
    KINTSUGI_ASSIGN(auto results, c.importer.importSubgraph(*body, arguments));
    // A loop without a condition goes on whatever its body says.
    if (condition.tensor)
      condition = results[0];
    state.assign(results.begin() + 1, results.begin() + 1 + carried);
    for (size_t k = 0; k < stacks.size(); ++k) {
      if (!results[1 + carried + k].tensor)
        return c.error("it stacks something that is not a tensor");
      stacks[k].push_back(*results[1 + carried + k].tensor);
    }
  }
  for (unsigned k = 0; k < carried; ++k)
    c.outputBinding(k, state[k]);
  for (unsigned k = 0; k < stacks.size(); ++k) {
    if (!c.hasOutput(carried + k))
      continue;
    if (stacks[k].empty())
      return c.error("it makes no trips, so that the shape of what it stacks is unknown");
    KINTSUGI_ASSIGN(ValueId all, stacked(c, c.name(carried + k), stacks[k], 0));
    c.output(carried + k, all);
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
