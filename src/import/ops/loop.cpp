//===- loop.cpp - Loop ----------------------------------------------------------===//
//
// A loop of few nodes is unrolled, trip by trip. Others, and those that data end, are scans, where
// every trip is of the same shapes and none needs to know its number.
//
//===----------------------------------------------------------------------===//

#include "import/ops/loop.h"

#include "import/ops/decisions.h"
#include "import/ops/gather.h"
#include "import/ops/join.h"
#include "import/scan_body.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

struct LoopNode {
  const Graph *body = nullptr;
  std::vector<Binding> state; ///< What it carries, before the first trip.
  Binding condition;          ///< Whether there is a first trip; nothing: there is.
  unsigned numStacks = 0;

  static Expected<LoopNode> read(OpContext &c) {
    LoopNode loop;
    KINTSUGI_ASSIGN(loop.body, c.graph("body"));
    unsigned carried = std::max(2u, c.numInputs()) - 2;
    if (loop.body->outputs.size() != 1 + c.numOutputs() || c.numOutputs() < carried)
      return c.error("its body does not have one output more than it has");
    for (unsigned k = 0; k < carried; ++k)
      loop.state.push_back(c.binding(2 + k));
    loop.numStacks = c.numOutputs() - carried;
    if (c.numInputs() > 1)
      loop.condition = c.binding(1);
    return loop;
  }
};

ValueId always(OpContext &c, std::string name) {
  return c.define(std::move(name), {}, [&](Indices) { return Expr::boolean(true); });
}

Expr both(Expr a, Expr b) { return Expr::binary(te::BinaryOp::And, std::move(a), std::move(b)); }

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
  Unrolling(OpContext &c, const LoopNode &loop)
      : c(c), body(loop.body), carried(loop.state.size()), state(loop.state),
        condition(loop.condition), stacks(loop.numStacks) {}

  Status run() {
    KINTSUGI_ASSIGN(trips, tripLimit(c));
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
      return counts ? both(c.read(*counts, {}), here) : here;
    });
    return true;
  }

  Status step(int64_t trip) {
    KINTSUGI_ASSIGN(ValueId number, scalarConstant(c, c.name() + ".trip", trip));
    std::vector<Binding> arguments{{number, {}, {}}, condition};
    if (!condition.tensor)
      arguments[1].tensor = always(c, c.name() + ".goes");
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
      counting.push_back(counts ? *counts : always(c, c.name() + ".counts"));
    return Status::success();
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
  const Graph *body;
  int64_t trips = 0;
  unsigned carried;
  std::vector<Binding> state;
  Binding condition;                        ///< Of the next trip.
  std::optional<ValueId> counts;            ///< Whether the trip at hand does; none: it does.
  std::vector<std::vector<ValueId>> stacks; ///< Of each output that is one, by trip.
  std::vector<ValueId> counting;            ///< Whether a trip counts.
  std::optional<ValueId> flags;             ///< The same as one tensor.
};

/// A loop as a scan.
class Rolling {
public:
  Rolling(OpContext &c, const LoopNode &loop) : c(c), loop(loop) {}

  /// False where that can't be or is not worth it: nothing that is needed was added then.
  Expected<bool> run() {
    if (!c.importer.mayBeBody(*loop.body) || !readCount() || !readCondition() ||
        !llvm::all_of(loop.state, isTensor))
      return false;
    ValueId before = firstCondition();
    ScanBody body(c);
    if (!importTrip(body)) {
      c.importer.isNoBody(*loop.body);
      return false;
    }
    if (!isWorthIt(body) || !haveRoom())
      return false;
    if (endsByData())
      countTrips(body);
    std::optional<ScanBody::Results> results =
        body.finish(most, next, stacked, conditionOf(body, before));
    if (!results) {
      c.importer.isNoBody(*loop.body);
      return false;
    }
    for (const CheckedTensor &checked : results->checks)
      c.importer.require(checked);
    KINTSUGI_RETURN_IF_ERROR(setOutputs(*results));
    return true;
  }

private:
  /// Of what trips leave behind.
  static constexpr double mostBytes = double(1 << 30);

  /// Whether the trips are one number that is known, or one of data, or as many as there need be.
  bool readCount() {
    if (!c.hasInput(0))
      return loop.condition.tensor.has_value();
    ValueId count = c.input(0);
    if (c.type(count) != ElementType::I64 || c.count(count) != 1)
      return false;
    if (const Tensor *known = c.constants.value(count))
      most = std::min(loadInteger(known->view(), 0), largestCount);
    else
      trips = scalarOf(c, count);
    return most > 0;
  }

  bool readCondition() {
    if (!loop.condition.tensor)
      return true;
    Expected<std::optional<bool>> known = knownCondition(c, *loop.condition.tensor);
    if (!known.ok())
      return false;
    if (!*known)
      first = scalarOf(c, *loop.condition.tensor);
    return known->value_or(true);
  }

  /// Whether a trip could be imported as one of many.
  bool importTrip(ScanBody &body) {
    std::vector<Binding> arguments{{body.step(), {}, {}}, {always(c, c.name() + ".goes"), {}, {}}};
    for (const Binding &state : loop.state)
      arguments.push_back({body.carry(*state.tensor), {}, {}});
    Expected<std::vector<Binding>> results = c.importer.importSubgraph(*loop.body, arguments);
    if (!results.ok() || !llvm::all_of(*results, isTensor))
      return false;
    for (auto [k, result] : llvm::enumerate(llvm::drop_begin(*results)))
      (k < loop.state.size() ? next : stacked).push_back(*result.tensor);
    return body.carries(next) &&
           (!loop.condition.tensor || readNextCondition(body, *results->front().tensor));
  }

  /// Whether it is one of every trip, or one of data: one of the trip's number says how many there
  /// are.
  bool readNextCondition(const ScanBody &body, ValueId goes) {
    Expected<std::optional<bool>> known = knownCondition(c, goes);
    if (!known.ok() || (!*known && !body.dependsOnData(goes, next)))
      return false;
    if (!*known)
      goesOn = scalarOf(c, goes);
    return known->value_or(true);
  }

  bool endsByData() const { return trips || first || goesOn; }

  bool isWorthIt(const ScanBody &body) const {
    return endsByData() ? c.importer.mayEndByData() : !isUnrolled(most, body.numNodes());
  }

  /// How many trips there are to stack has to be known.
  bool haveRoom() const {
    double bytes = 0;
    for (ValueId id : stacked)
      bytes += c.program.value(id).bytes();
    return stacked.empty() || (!trips && c.hasInput(0) && double(most) * bytes <= mostBytes);
  }

  Expr tripBehind(const ScanBody &body) {
    return c.read(body.step(), {}) + Expr::literal(ElementType::I64, int64_t(1));
  }

  /// Carries how many trips were made.
  void countTrips(ScanBody &body) {
    body.carry(c.define(c.name() + ".none", {},
                        [&](Indices) { return Expr::literal(ElementType::I64, int64_t(0)); }));
    next.push_back(c.define(c.name() + ".made", {}, [&](Indices) { return tripBehind(body); }));
  }

  /// Whether data end the loop by the number of trips or by a boolean; none is true.
  Expr goesBy(const Expr &trip, std::optional<ValueId> goes) const {
    Expr here = goes ? c.read(*goes, {}) : Expr::boolean(true);
    return trips ? both(here, Expr::binary(te::BinaryOp::Less, trip, c.read(*trips, {}))) : here;
  }

  /// Around the body, where the first trip's is known.
  ValueId firstCondition() {
    return c.define(c.name() + ".goes", {}, [&](Indices) {
      return goesBy(Expr::literal(ElementType::I64, int64_t(0)), first);
    });
  }

  std::optional<ScanBody::Condition> conditionOf(const ScanBody &body, ValueId before) {
    if (!endsByData())
      return std::nullopt;
    ValueId behind = c.define(c.name() + ".goes_on", {},
                              [&](Indices) { return goesBy(tripBehind(body), goesOn); });
    return ScanBody::Condition{before, behind};
  }

  Status setOutputs(const ScanBody::Results &results) {
    for (size_t k = 0; k < loop.state.size(); ++k)
      c.output(k, results.carried[k]);
    for (auto [k, all] : llvm::enumerate(results.stacks)) {
      unsigned number = loop.state.size() + k;
      if (!c.hasOutput(number))
        continue;
      ValueId made = all;
      if (endsByData()) {
        KINTSUGI_ASSIGN(made, ofTripsMade(c.name(number), all, results.carried.back()));
      }
      c.output(number, made);
    }
    return Status::success();
  }

  /// What the trips that are made leave behind; what a stack holds besides is not said.
  Expected<ValueId> ofTripsMade(std::string name, ValueId all, ValueId made) {
    auto isMade = [&](const Index &trip) {
      return Expr::binary(te::BinaryOp::Less, Expr::index(trip, ElementType::I64),
                          c.read(made, {}));
    };
    Shape shape(c.shape(all));
    ElementType type = c.type(all);
    ValueId said = c.define(name + ".said", shape, [&](Indices i) {
      Expr nothing = isFloat(type) ? Expr::literal(type, 0.0) : Expr::literal(type, int64_t(0));
      return Expr::select(isMade(i[0]), c.read(all, i), nothing);
    });
    if (!flags)
      flags = c.define(c.name() + ".trips", {shape[0]}, [&](Indices i) { return isMade(i[0]); });
    return slicesWhere(c, std::move(name), said, 0, *flags);
  }

  OpContext &c;
  const LoopNode &loop;
  int64_t most = largestCount;
  std::optional<ValueId> trips;  ///< The number of data that there are at most.
  std::optional<ValueId> first;  ///< Whether there is any trip, where data decide.
  std::optional<ValueId> goesOn; ///< Inside: whether there is a next one, where data decide.
  std::vector<ValueId> next;     ///< Inside: what is carried, behind a trip.
  std::vector<ValueId> stacked;  ///< Inside: what a trip leaves behind.
  std::optional<ValueId> flags;  ///< Which trips are made.
};

} // namespace

Status loop(OpContext &c) {
  KINTSUGI_ASSIGN(LoopNode node, LoopNode::read(c));
  KINTSUGI_ASSIGN(bool isScan, Rolling(c, node).run());
  return isScan ? Status::success() : Unrolling(c, node).run();
}

} // namespace kintsugi::import
