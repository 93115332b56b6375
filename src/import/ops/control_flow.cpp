//===- control_flow.cpp - If and Loop ----------------------------------------===//
//
// What is decided by known values disappears here: a known condition picks its branch, a loop whose
// trips are known is unrolled. A branch that depends on data becomes a choice between the results
// of both branches, which have no side effects; so does each trip of a loop that may have ended.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/gather.h"
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

/// One of two results, by a boolean that depends on data.
Expected<ValueId> chosen(OpContext &c, std::string name, ValueId condition, const Binding &yes,
                         const Binding &no, llvm::StringRef of) {
  if (!yes.tensor || !no.tensor)
    return c.error("its condition depends on data, and its results are not tensors");
  ValueId a = *yes.tensor, b = *no.tensor;
  if (c.type(a) != c.type(b) || c.shape(a) != c.shape(b))
    return c.error("its condition depends on data, and its " + of.str() +
                   " give results of different shapes or types");
  return c.define(std::move(name), c.shape(a), [&](Indices i) {
    Expr decides = c.read(condition, llvm::SmallVector<Index>(c.rank(condition)));
    return Expr::select(decides, c.read(a, i), c.read(b, i));
  });
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
  KINTSUGI_ASSIGN(auto yes, c.importer.importBranch(*thenGraph, {}, c.input(0), true));
  KINTSUGI_ASSIGN(auto no, c.importer.importBranch(*elseGraph, {}, c.input(0), false));
  for (unsigned k = 0; k < c.numOutputs(); ++k) {
    KINTSUGI_ASSIGN(ValueId result, chosen(c, c.name(k), c.input(0), yes[k], no[k], "branches"));
    c.output(k, result);
  }
  return Status::success();
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

/// A loop, trip by trip. From where it depends on data whether it goes on, each trip that there may
/// be is made, and counts if all before it did.
class Unrolling {
public:
  explicit Unrolling(OpContext &c) : c(c) {}

  Status run() {
    KINTSUGI_RETURN_IF_ERROR(readNode());
    for (int64_t trip = 0; trip < trips; ++trip) {
      KINTSUGI_ASSIGN(bool goesOn, mayGoOn());
      if (!goesOn)
        break;
      if (trip == mostTrips)
        return c.error("it makes more than " + llvm::Twine(mostTrips) + " trips");
      KINTSUGI_RETURN_IF_ERROR(step(trip));
    }
    for (unsigned k = 0; k < carried; ++k)
      c.outputBinding(k, state[k]);
    return outputStacks();
  }

private:
  Status readNode() {
    KINTSUGI_ASSIGN(body, c.graph("body"));
    KINTSUGI_ASSIGN(trips, tripLimit(c));
    carried = std::max(2u, c.numInputs()) - 2;
    if (body->outputs.size() != 1 + c.numOutputs() || c.numOutputs() < carried)
      return c.error("its body does not have one output more than it has");
    for (unsigned k = 0; k < carried; ++k)
      state.push_back(c.binding(2 + k));
    stacks.resize(c.numOutputs() - carried);
    if (c.numInputs() > 1)
      condition = c.binding(1);
    return Status::success();
  }

  /// Whether there may be one more trip.
  Expected<bool> mayGoOn() {
    if (!condition.tensor)
      return true;
    KINTSUGI_ASSIGN(std::optional<bool> goes, knownCondition(c, *condition.tensor));
    if (goes)
      return *goes;
    if (trips > mostTrips)
      return c.error("whether it goes on depends on data, and it may make more than " +
                     llvm::Twine(mostTrips) + " trips; give it a number of trips that is the most");
    ValueId goesOn = *condition.tensor;
    counts = c.define(c.name() + ".counts", {}, [&](Indices) {
      Expr here = c.read(goesOn, llvm::SmallVector<Index>(c.rank(goesOn)));
      return counts ? Expr::binary(te::BinaryOp::And, c.read(*counts, {}), here) : here;
    });
    return true;
  }

  Status step(int64_t trip) {
    KINTSUGI_ASSIGN(ValueId number, scalarConstant(c, c.name() + ".trip", trip));
    std::vector<Binding> arguments{{number, {}, {}}, condition};
    if (!condition.tensor)
      arguments[1].tensor = always(".goes");
    arguments.insert(arguments.end(), state.begin(), state.end());
    KINTSUGI_ASSIGN(auto results, counts ? c.importer.importBranch(*body, arguments, *counts, true)
                                         : c.importer.importSubgraph(*body, arguments));
    // A loop without a condition goes on whatever its body says.
    if (condition.tensor)
      condition = results[0];
    for (unsigned k = 0; k < carried; ++k) {
      if (counts) {
        KINTSUGI_ASSIGN(ValueId next,
                        chosen(c, c.name() + ".state", *counts, results[1 + k], state[k], "trips"));
        results[1 + k] = {next, {}, {}};
      }
      state[k] = results[1 + k];
    }
    return stack(llvm::ArrayRef(results).drop_front(1 + carried));
  }

  Status stack(llvm::ArrayRef<Binding> made) {
    for (auto [all, one] : llvm::zip_equal(stacks, made)) {
      if (!one.tensor)
        return c.error("it stacks something that is not a tensor");
      all.push_back(*one.tensor);
    }
    if (!stacks.empty())
      counting.push_back(counts ? *counts : always(".counts"));
    return Status::success();
  }

  ValueId always(const char *suffix) {
    return c.define(c.name() + suffix, {}, [&](Indices) { return Expr::boolean(true); });
  }

  Status outputStacks() {
    for (unsigned k = 0; k < stacks.size(); ++k) {
      if (!c.hasOutput(carried + k))
        continue;
      if (stacks[k].empty())
        return c.error("it makes no trips, so that the shape of what it stacks is unknown");
      std::string name = c.name(carried + k);
      KINTSUGI_ASSIGN(ValueId all, stacked(c, counts ? name + ".all" : name, stacks[k], 0));
      if (counts) {
        KINTSUGI_ASSIGN(all, ofCountingTrips(name, all));
      }
      c.output(carried + k, all);
    }
    return Status::success();
  }

  /// How many trips there are data decide.
  Expected<ValueId> ofCountingTrips(std::string name, ValueId all) {
    if (!flags) {
      KINTSUGI_ASSIGN(flags, stacked(c, c.name() + ".trips", counting, 0));
    }
    return slicesWhere(c, std::move(name), all, 0, *flags);
  }

  OpContext &c;
  const Graph *body = nullptr;
  int64_t trips = 0;
  unsigned carried = 0;
  std::vector<Binding> state;
  Binding condition;                        ///< Of the next trip.
  std::optional<ValueId> counts;            ///< Whether the trip at hand does; none: it does.
  std::vector<std::vector<ValueId>> stacks; ///< Of each output that is one, by trip.
  std::vector<ValueId> counting;            ///< Whether a trip counts.
  std::optional<ValueId> flags;             ///< The same as one tensor.
};

Status loop(OpContext &c) { return Unrolling(c).run(); }

} // namespace

OperatorTable controlFlowOperators() {
  static const Operator table[] = {
      {"If", 1, 1, conditional, "", Elements::Any},
      {"Loop", 1, 0, loop, "", Elements::Any},
  };
  return table;
}

} // namespace kintsugi::import
