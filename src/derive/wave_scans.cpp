#include "derive/wave_scans.h"

#include "te/hash.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

namespace kintsugi::derive {

using namespace te;

namespace {

Expr integer(int64_t number) { return Expr::literal(ElementType::I64, number); }

Expr zero(ElementType type) {
  if (type == ElementType::Bool)
    return Expr::boolean(false);
  return isFloat(type) ? Expr::literal(type, 0.0) : Expr::literal(type, int64_t(0));
}

const Index lane = Index::iterator(0);
Expr laneNumber() { return Expr::index(lane, ElementType::I64); }

/// A definition of a dimension of lanes and some more, without a body, and their indices.
Definition overLanes(unsigned lanes, llvm::ArrayRef<Extent> shape,
                     llvm::SmallVector<Index> &indices) {
  Definition definition;
  definition.parallel.push_back({"l", Extent(int64_t(lanes))});
  for (auto [k, extent] : llvm::enumerate(shape)) {
    definition.parallel.push_back({"i" + std::to_string(k), extent});
    indices.push_back(Index::iterator(k + 1));
  }
  return definition;
}

Shape shapeOverLanes(unsigned lanes, llvm::ArrayRef<Extent> shape) {
  Shape result{Extent(int64_t(lanes))};
  result.append(shape.begin(), shape.end());
  return result;
}

/// What corresponds to each other in scans that are alike.
class Alike {
public:
  Alike(const Program &old, const MergedScans &merged) : old(old), merged(merged) {}

  /// Whether they are.
  bool find() {
    const Scan &first = scan(0);
    for (unsigned number = 1; number < merged.count; ++number) {
      const Scan &other = scan(number);
      if (other.initial.size() != first.initial.size() ||
          other.captured.size() != first.captured.size() || !equivalent(*first.body, *other.body) ||
          !addKey(number))
        return false;
    }
    return llvm::all_of(llvm::seq<size_t>(0, first.captured.size()),
                        [&](size_t k) { return addCaptured(k); });
  }

  const ChainedScan &link(unsigned number) const { return merged.scans()[number]; }
  const Scan &scan(unsigned number) const { return std::get<Scan>(old.nodes[link(number).node]); }

  /// Which result of the scan before lane `number` a value is.
  std::optional<unsigned> sourceOf(unsigned number, ValueId id) const {
    const auto *found = llvm::find(link(number).sources, id);
    return found == link(number).sources.end() ? std::nullopt : std::optional(old.value(id).result);
  }

  /// What corresponds to a value that lane 1's products read from outside; lane 0 has none and is
  /// given lane 1's.
  Lanes lanesOf(ValueId id) const { return outside.at(id); }
  Lanes capturedBy(size_t position) const {
    Lanes lanes;
    for (unsigned number = 0; number < merged.count; ++number)
      lanes.push_back(scan(number).captured[position]);
    return lanes;
  }
  bool isChained(size_t position) const { return chained[position]; }

private:
  bool addKey(unsigned number) {
    keys.push_back(keyOf(old, link(number).products));
    const GroupKey &key = keys.back(), &model = keys.front();
    if (!(key == model) || key.inputs.size() != model.inputs.size())
      return false;
    for (auto [mine, its] : llvm::zip_equal(key.inputs, model.inputs)) {
      if (sourceOf(number, mine) != sourceOf(1, its))
        return false;
      Lanes &lanes = outside[its];
      if (lanes.empty())
        lanes.push_back(its);
      lanes.push_back(mine);
    }
    return true;
  }

  /// A captured value that comes from the scan before in one lane does so in all but the first.
  bool addCaptured(size_t position) {
    auto placeOf = [&](unsigned number) -> std::optional<std::pair<bool, size_t>> {
      ValueId id = scan(number).captured[position];
      if (std::optional<unsigned> source = sourceOf(number, id))
        return std::pair(true, size_t(*source));
      const GroupKey &key = keys[number - 1];
      const auto *found = llvm::find(key.results, id);
      if (found == key.results.end())
        return std::nullopt;
      return std::pair(false, size_t(found - key.results.begin()));
    };
    auto place = placeOf(1);
    for (unsigned number = 2; number < merged.count; ++number)
      if (placeOf(number) != place)
        return false;
    chained.push_back(place.has_value());
    return !place || link(0).stepInputs[position];
  }

  const Program &old;
  const MergedScans &merged;
  std::vector<GroupKey> keys; ///< Of the products of lane 1, 2, ...
  std::map<ValueId, Lanes> outside;
  std::vector<bool> chained; ///< By captured value.
};

class BodyBuilder {
public:
  BodyBuilder(const Program &old, const MergedScans &merged, const Alike &alike,
              double mostStackBytes)
      : old(old), merged(merged), alike(alike), mostStackBytes(mostStackBytes),
        first(alike.scan(0)), cell(*first.body), products(alike.link(1).products) {}

  WaveScan run() {
    body->name = "wave";
    ValueId number = body->addInput("wave", ElementType::I64, {});
    wave = Expr::read(number, ElementType::I64, {});
    addCarried();
    for (uint32_t node : products)
      addProduct(node);
    for (size_t k = 0; k < first.captured.size(); ++k)
      if (alike.isChained(k))
        addStepInput(k);
    for (const Node &node : cell.nodes)
      addDefinition(std::get<Definition>(node));
    findInside();
    addOutputs();
    result.body = body;
    return std::move(result);
  }

private:
  unsigned lanes() const { return merged.count; }
  size_t carried() const { return first.initial.size(); }

  /// The carried tensor that a stacked result of the cell goes into as well.
  std::optional<unsigned> stateOf(unsigned output) const {
    for (unsigned k = 0; k < carried(); ++k)
      if (cell.outputs[k].value == cell.outputs[output].value)
        return k;
    return std::nullopt;
  }

  ValueId addState(const std::string &name, ValueId like, Lanes initial) {
    if (llvm::all_equal(initial) && !initial.empty())
      initial.resize(1);
    result.initial.push_back(std::move(initial));
    return body->addInput(name, cell.value(like).type, shapeOverLanes(lanes(), cell.shape(like)));
  }

  /// The states, and of what the next lane takes that which is no state.
  void addCarried() {
    for (unsigned k = 0; k < carried(); ++k) {
      Lanes initial;
      for (unsigned number = 0; number < lanes(); ++number)
        initial.push_back(alike.scan(number).initial[k]);
      ValueId input = cell.inputs[1 + k];
      states.push_back(addState(cell.value(input).name, input, initial));
      batched[input] = states.back();
    }
    for (ValueId source : alike.link(1).sources) {
      unsigned output = old.value(source).result;
      if (std::optional<unsigned> state = stateOf(output)) {
        given[output] = states[*state];
        continue;
      }
      extra.push_back(output);
      given[output] = addState(cell.outputs[output].name, cell.outputs[output].value, {});
    }
  }

  ValueId capture(Lanes values) {
    if (llvm::all_equal(values))
      values.resize(1);
    auto [entry, isNew] = inputs.try_emplace(values);
    const Value &value = old.value(values[0]);
    if (isNew) {
      result.captured.push_back(values);
      entry->second =
          body->addInput(value.name, value.type,
                         values.size() == 1 ? value.shape : shapeOverLanes(lanes(), value.shape));
    }
    return entry->second;
  }

  static Expr readLane(ValueId value, const Expr &read, const Index &from,
                       llvm::ArrayRef<Index> indices) {
    llvm::SmallVector<Index> all{from};
    all.append(indices.begin(), indices.end());
    std::optional<Expr> fill;
    if (const Expr *f = read.readFill())
      fill = *f;
    return Expr::read(value, read.type(), all, fill);
  }

  Expr readOutside(const Lanes &values, const Expr &read) {
    ValueId value = capture(values);
    if (body->shape(value).size() != read.readIndices().size())
      return readLane(value, read, lane, read.readIndices());
    std::optional<Expr> fill;
    if (const Expr *f = read.readFill())
      fill = *f;
    return Expr::read(value, read.type(), read.readIndices(), fill);
  }

  /// What the lane before gave out; the first one has none before it.
  Expr readGiven(unsigned output, ElementType type, llvm::ArrayRef<Index> indices) const {
    llvm::SmallVector<Index> all{lane - Index(1)};
    all.append(indices.begin(), indices.end());
    return Expr::read(given.at(output), type, all, zero(type));
  }

  /// A product's first iterator, the step, becomes the lane.
  void addProduct(uint32_t node) {
    Definition definition = std::get<Definition>(old.nodes[node]);
    ValueId product = definition.results[0];
    definition.results.clear();
    definition.parallel[0] = {"l", Extent(int64_t(lanes()))};
    auto here = [&](const Expr &e) {
      if (e.kind() != ExprKind::Read)
        return e;
      if (auto made = productsHere.find(e.readValue()); made != productsHere.end())
        return Expr::read(made->second, e.type(), e.readIndices());
      if (std::optional<unsigned> source = alike.sourceOf(1, e.readValue()))
        return readGiven(*source, e.type(), e.readIndices().drop_front());
      return readOutside(alike.lanesOf(e.readValue()), e);
    };
    for (Expr &expr : definition.bodies)
      expr = rewrite(expr, here);
    const Value &value = old.value(product);
    productsHere[product] = body->define(value.name, value.type, std::move(definition));
  }

  /// The first lane takes what is there for all steps, the others what the lane before gives.
  void addStepInput(size_t position) {
    ValueId input = cell.inputs[1 + carried() + position];
    ValueId from = alike.scan(1).captured[position];
    ElementType type = cell.value(input).type;
    llvm::SmallVector<Index> indices;
    Definition definition = overLanes(lanes(), cell.shape(input).drop_front(), indices);
    Expr last = integer(merged.chain->steps - 1);
    llvm::SmallVector<Index> atWave{Index::data(Expr::binary(BinaryOp::Min, *wave, last))},
        atLane{lane};
    atWave.append(indices);
    atLane.append(indices);
    Expr fromOutside = Expr::read(capture({first.captured[position]}), type, atWave);
    std::optional<unsigned> source = alike.sourceOf(1, from);
    Expr fromLane = source ? readGiven(*source, type, indices)
                           : Expr::read(productsHere.at(from), type, atLane);
    definition.bodies = {Expr::select(Expr::binary(BinaryOp::Equal, laneNumber(), integer(0)),
                                      fromOutside, fromLane)};
    stepInputs[input] = body->define(cell.value(input).name, type, std::move(definition));
  }

  /// The step of a lane: one that it has, even where it does none.
  Expr stepOfLane() const {
    Expr step = Expr::binary(BinaryOp::Max, *wave - laneNumber(), integer(0));
    return Expr::binary(BinaryOp::Min, step, integer(merged.chain->steps - 1));
  }

  Expr readInCell(const Expr &e) {
    ValueId id = e.readValue();
    if (id == cell.inputs[0])
      return stepOfLane();
    if (auto input = stepInputs.find(id); input != stepInputs.end())
      return readLane(input->second, e, lane, e.readIndices().drop_front());
    if (auto made = batched.find(id); made != batched.end())
      return readLane(made->second, e, lane, e.readIndices());
    if (const Value &value = cell.value(id); value.kind == ValueKind::Constant) {
      auto [entry, isNew] = constants.try_emplace(id);
      if (isNew)
        entry->second = body->addConstant(value.name, value.type, value.shape, value.constant);
      std::optional<Expr> fill;
      if (const Expr *f = e.readFill())
        fill = *f;
      return Expr::read(entry->second, e.type(), e.readIndices(), fill);
    }
    size_t input = llvm::find(cell.inputs, id) - cell.inputs.begin();
    return readOutside(alike.capturedBy(input - 1 - carried()), e);
  }

  void addDefinition(const Definition &old) {
    Definition definition = old;
    definition.results.clear();
    definition.parallel.insert(definition.parallel.begin(), {"l", Extent(int64_t(lanes()))});
    llvm::SmallVector<Index> shifted;
    for (unsigned k = 0; k < old.numIterators(); ++k)
      shifted.push_back(Index::iterator(k + 1));
    for (Expr &expr : definition.bodies)
      expr = rewrite(substitute(expr, shifted),
                     [&](const Expr &e) { return e.kind() == ExprKind::Read ? readInCell(e) : e; });
    llvm::SmallVector<std::string> names;
    llvm::SmallVector<ElementType> types;
    for (ValueId id : old.results) {
      names.push_back(cell.value(id).name);
      types.push_back(cell.value(id).type);
    }
    for (auto [before, after] :
         llvm::zip_equal(old.results, body->defineMany(names, types, std::move(definition))))
      bind(before, after);
  }

  /// What follows in the cell reads of a next state what is kept of it: the same where the lane has
  /// a step, and of no consequence where it has none.
  void bind(ValueId value, ValueId here) {
    batched[value] = here;
    for (unsigned k = 0; k < carried(); ++k)
      if (cell.outputs[k].value == value)
        next[k] = batched[value] = kept(here, states[k]);
  }

  /// The next state, or the state as it was where the lane has no step.
  ValueId kept(ValueId next, ValueId state) {
    const Value &value = body->value(next);
    llvm::SmallVector<Index> indices;
    Definition definition = overLanes(lanes(), llvm::ArrayRef(value.shape).drop_front(), indices);
    indices.insert(indices.begin(), lane);
    Expr hasBegun = Expr::binary(BinaryOp::LessEqual, laneNumber(), *wave);
    Expr goesOn = Expr::binary(BinaryOp::Less, *wave - laneNumber(), integer(merged.chain->steps));
    definition.bodies = {Expr::select(Expr::binary(BinaryOp::And, hasBegun, goesOn),
                                      Expr::read(next, value.type, indices),
                                      Expr::read(state, value.type, indices))};
    ElementType type = value.type;
    std::string name = value.name + ".kept";
    return body->define(name, type, std::move(definition));
  }

  void addOutputs() {
    auto give = [&](ValueId value) {
      body->addOutput("out" + std::to_string(body->outputs.size()), value);
    };
    for (unsigned k = 0; k < carried(); ++k)
      give(next.at(k));
    for (unsigned output : extra)
      give(batched.at(cell.outputs[output].value));
    for (unsigned output = carried(); output < cell.outputs.size(); ++output) {
      std::optional<unsigned> state = stateOf(output);
      addStacks(output, state ? next.at(*state) : batched.at(cell.outputs[output].value), give);
    }
  }

  /// A state's stack is written where the next one is computed, so all lanes' is no more work than
  /// one lane's, but more memory.
  void addStacks(unsigned output, ValueId value, llvm::function_ref<void(ValueId)> give) {
    llvm::SmallVector<unsigned> read;
    for (unsigned number = 0; number < lanes(); ++number)
      if (isReadOutside(alike.scan(number).results[output]))
        read.push_back(number);
    bool isOfAll = read.size() == lanes() || bytesOfStack(value) <= mostStackBytes;
    if (isOfAll && !read.empty())
      give(value);
    for (unsigned number : read) {
      if (!isOfAll)
        give(laneOf(value, number));
      result.stacked[{output, number}] = {unsigned(body->outputs.size() - 1), isOfAll};
    }
  }

  double bytesOfStack(ValueId value) const {
    return double(merged.chain->steps) * body->value(value).bytes();
  }

  ValueId laneOf(ValueId id, unsigned number) {
    const Value value = body->value(id);
    Definition definition;
    llvm::SmallVector<Index> indices{Index(int64_t(number))};
    for (auto [k, extent] : llvm::enumerate(llvm::ArrayRef(value.shape).drop_front())) {
      definition.parallel.push_back({"i" + std::to_string(k), extent});
      indices.push_back(Index::iterator(k));
    }
    definition.bodies = {Expr::read(id, value.type, indices)};
    return body->define(value.name + ".lane", value.type, std::move(definition));
  }

  /// Finds the scans and those products between them that nothing else reads.
  void findInside() {
    for (unsigned number = 0; number < lanes(); ++number)
      result.replaced.insert(alike.link(number).node);
    for (unsigned number = lanes(); number-- > 1;)
      for (uint32_t node : llvm::reverse(alike.link(number).products))
        if (llvm::none_of(old.resultsOf(node), [&](ValueId id) { return isReadOutside(id); }))
          result.replaced.insert(node);
  }

  bool isReadOutside(ValueId id) const {
    for (uint32_t node = old.value(id).node + 1; node < old.nodes.size(); ++node)
      if (!result.replaced.contains(node) && llvm::is_contained(old.operandsOf(node), id))
        return true;
    return llvm::any_of(old.outputs, [&](const auto &output) { return output.value == id; });
  }

  const Program &old;
  const MergedScans &merged;
  const Alike &alike;
  double mostStackBytes;
  const Scan &first;
  const Program &cell;
  llvm::ArrayRef<uint32_t> products; ///< Those of lane 1 stand for all.
  std::shared_ptr<Program> body = std::make_shared<Program>();
  WaveScan result;
  std::optional<Expr> wave;
  llvm::SmallVector<ValueId> states;
  llvm::SmallVector<unsigned> extra;
  std::map<unsigned, ValueId> next;  ///< By the state.
  std::map<unsigned, ValueId> given; ///< By the cell's output: an input that holds it.
  std::map<Lanes, ValueId> inputs;
  std::map<ValueId, ValueId> productsHere, stepInputs, batched, constants;
};

class OuterBuilder {
public:
  OuterBuilder(simplify::Rebuilder &out, const MergedScans &merged, const WaveScan &wave)
      : out(out), old(out.old), merged(merged), wave(wave) {}

  void run() {
    Scan whole{Extent(merged.chain->steps + merged.count - 1), wave.body, {}, {}, {}};
    for (auto [number, lanes] : llvm::enumerate(wave.initial))
      whole.initial.push_back(first(wave.body->inputs[1 + number], lanes));
    for (const Lanes &lanes : wave.captured)
      whole.captured.push_back(lanes.size() == 1 ? out[lanes[0]] : stack(lanes));
    llvm::SmallVector<std::string> names;
    for (const Program::Output &output : wave.body->outputs)
      names.push_back(wave.body->value(output.value).name + ".waves");
    out.fresh.currentOrigin = merged.origins(old);
    llvm::SmallVector<ValueId> results = out.fresh.addScan(names, std::move(whole));
    for (unsigned number = 0; number < merged.count; ++number)
      bindResults(number, results);
  }

private:
  const Scan &scan(unsigned number) const {
    return std::get<Scan>(old.nodes[merged.scans()[number].node]);
  }

  ValueId stack(const Lanes &lanes) {
    const Value value = out.fresh.value(out[lanes[0]]);
    llvm::SmallVector<Index> indices;
    Definition definition = overLanes(merged.count, value.shape, indices);
    Expr chosen = Expr::read(out[lanes.back()], value.type, indices);
    for (unsigned number = lanes.size() - 1; number-- > 0;)
      chosen = Expr::select(Expr::binary(BinaryOp::Less, laneNumber(), integer(number + 1)),
                            Expr::read(out[lanes[number]], value.type, indices), chosen);
    definition.bodies = {chosen};
    return out.fresh.define(value.name + ".lanes", value.type, std::move(definition));
  }

  /// A carried tensor's first value.
  ValueId first(ValueId input, const Lanes &lanes) {
    if (lanes.size() > 1)
      return stack(lanes);
    const Value &value = wave.body->value(input);
    llvm::SmallVector<Index> indices;
    Definition definition =
        overLanes(merged.count, llvm::ArrayRef(value.shape).drop_front(), indices);
    definition.bodies = {lanes.empty() ? zero(value.type)
                                       : Expr::read(out[lanes[0]], value.type, indices)};
    return out.fresh.define(value.name + ".first", value.type, std::move(definition));
  }

  void bindResults(unsigned number, llvm::ArrayRef<ValueId> results) {
    const Scan &mine = scan(number);
    out.fresh.currentOrigin = old.origins[merged.scans()[number].node];
    for (unsigned output = 0; output < mine.results.size(); ++output) {
      ValueId id = mine.results[output];
      if (output < mine.initial.size())
        out.bind(id, part(id, results[output], {Index(int64_t(number))}, 0));
      else if (auto found = wave.stacked.find({output, number}); found != wave.stacked.end()) {
        llvm::SmallVector<Index> from{Index::iterator(0) + Index(int64_t(number))};
        if (found->second.isOfAll)
          from.push_back(Index(int64_t(number)));
        out.bind(id, part(id, results[found->second.output], from, 1));
      }
    }
  }

  /// An old result as a part of a new one: its dimensions from `skipped` on follow after `indices`.
  ValueId part(ValueId id, ValueId of, llvm::SmallVector<Index> indices, unsigned skipped) {
    const Value &value = old.value(id);
    Definition definition;
    for (auto [k, extent] : llvm::enumerate(value.shape)) {
      definition.parallel.push_back({"i" + std::to_string(k), extent});
      if (k >= skipped)
        indices.push_back(Index::iterator(k));
    }
    definition.bodies = {Expr::read(of, value.type, indices)};
    return out.fresh.define(value.name, value.type, std::move(definition));
  }

  simplify::Rebuilder &out;
  const Program &old;
  const MergedScans &merged;
  const WaveScan &wave;
};

} // namespace

std::optional<WaveScan> waveOf(const Program &program, const MergedScans &merged,
                               double mostStackBytes) {
  Alike alike(program, merged);
  if (!alike.find())
    return std::nullopt;
  return BodyBuilder(program, merged, alike, mostStackBytes).run();
}

void addWave(simplify::Rebuilder &out, const MergedScans &merged, const WaveScan &wave) {
  OuterBuilder(out, merged, wave).run();
}

} // namespace kintsugi::derive
