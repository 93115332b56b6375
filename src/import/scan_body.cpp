#include "import/scan_body.h"

#include "te/constant.h"
#include "te/subprogram.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

namespace kintsugi::import {
namespace {

/// Tables of so few elements that are computed of constants are known in the body.
constexpr int64_t fewElements = 64;

/// Copies nodes of a program into a body, which captures what it reads besides. The model's
/// constants are the body's, where rules and formats look for them.
class BodyWriter {
public:
  explicit BodyWriter(OpContext &c) : c(c) {}

  void addInput(ValueId standIn) { standsFor[standIn.number] = inputFor(standIn); }

  void copy(uint32_t node) {
    body.currentOrigin = c.program.origins[node];
    llvm::SmallVector<ValueId> results =
        te::copyNode(c.program, node, body, [&](ValueId id) { return (*this)[id]; });
    for (auto [old, fresh] : llvm::zip_equal(c.program.resultsOf(node), results))
      standsFor[old.number] = fresh;
  }

  void addOutput(ValueId value) {
    body.addOutput("out" + std::to_string(body.outputs.size()), (*this)[value]);
  }

  te::Program body;
  llvm::SmallVector<ValueId, 4> captured;

private:
  ValueId operator[](ValueId id) {
    auto [entry, isNew] = standsFor.try_emplace(id.number);
    if (!isNew)
      return entry->second;
    if (std::shared_ptr<const te::ConstantSource> source = constantOf(id)) {
      const te::Value &value = c.program.value(id);
      return entry->second = body.addConstant(value.name, value.type, value.shape, source);
    }
    captured.push_back(id);
    return entry->second = inputFor(id);
  }

  ValueId inputFor(ValueId id) {
    const te::Value &value = c.program.value(id);
    return body.addInput(value.name, value.type, value.shape);
  }

  std::shared_ptr<const te::ConstantSource> constantOf(ValueId id) {
    if (c.program.value(id).constant)
      return c.program.value(id).constant;
    if (!c.constants.isConstant(id) || c.count(id) > fewElements)
      return nullptr;
    const Tensor *known = c.constants.value(id);
    if (!known)
      return nullptr;
    Expected<Tensor> copy = Tensor::copyOf(known->view());
    return copy.ok() ? std::make_shared<te::TensorConstant>(std::move(*copy)) : nullptr;
  }

  OpContext &c;
  std::map<uint32_t, ValueId> standsFor;
};

} // namespace

ScanBody::ScanBody(OpContext &c) : c(c), firstNode(c.program.nodes.size()) {
  c.importer.enterBody();
  number = addInside(".step", ElementType::I64, {});
}

ScanBody::~ScanBody() {
  if (!isOpen)
    return;
  c.importer.dropBody();
  cut(findInside(true));
}

/// An input of the body, which is none of the program.
ValueId ScanBody::addInside(const char *suffix, ElementType type, Dims shape) {
  ValueId id = c.program.addInput(c.name() + suffix, type, Shape(shape));
  c.program.inputs.pop_back();
  standIns.insert(id.number);
  return id;
}

ValueId ScanBody::carry(ValueId initial) {
  Shape shape(c.shape(initial));
  carried.push_back({initial, addInside(".state", c.type(initial), shape)});
  return carried.back().inside;
}

/// By node behind the first: whether steps may differ in what it makes or, where they may be left
/// out, may not need it. What depends on constants alone is made when the model is compiled.
std::vector<bool> ScanBody::findInside(bool mayBeLeftOut) const {
  std::vector<bool> isInside;
  for (uint32_t node = firstNode; node < c.program.nodes.size(); ++node) {
    bool depends = llvm::any_of(c.program.operandsOf(node), [&](ValueId id) {
      const te::Value &value = c.program.value(id);
      return standIns.count(id.number) ||
             (value.kind == te::ValueKind::Result && value.node >= firstNode &&
              isInside[value.node - firstNode]);
    });
    isInside.push_back(mayBeLeftOut ? !c.constants.isConstant(c.program.resultsOf(node)[0])
                                    : depends);
  }
  return isInside;
}

std::vector<bool> ScanBody::areOfStep(llvm::ArrayRef<ValueId> ids) const {
  std::vector<bool> isInside = findInside(true), areInside;
  for (ValueId id : ids)
    areInside.push_back(isMadeInside(id, isInside));
  return areInside;
}

bool ScanBody::carries(llvm::ArrayRef<ValueId> next) const {
  return llvm::all_of(llvm::zip_equal(carried, next), [&](const auto &pair) {
    ValueId before = std::get<0>(pair).inside, after = std::get<1>(pair);
    return c.type(before) == c.type(after) && c.shape(before) == c.shape(after);
  });
}

bool ScanBody::dependsOnData(ValueId id, llvm::ArrayRef<ValueId> next) const {
  std::set<uint32_t> states; ///< By what they are inside: those of data.
  for (const Carried &state : carried)
    if (!c.constants.isConstant(state.initial))
      states.insert(state.inside.number);
  for (size_t before = ~size_t(0); before != states.size();) {
    before = states.size();
    for (auto [state, after] : llvm::zip_equal(carried, next))
      if (dependsOn(after, states))
        states.insert(state.inside.number);
  }
  return dependsOn(id, states);
}

/// On one of the states, or on data from outside.
bool ScanBody::dependsOn(ValueId id, const std::set<uint32_t> &states) const {
  std::set<uint32_t> seen{id.number};
  std::vector<ValueId> pending{id};
  while (!pending.empty()) {
    ValueId at = pending.back();
    pending.pop_back();
    if (c.constants.isConstant(at))
      continue;
    const te::Value &value = c.program.value(at);
    bool isOfStep = value.kind == te::ValueKind::Result && value.node >= firstNode;
    if (states.count(at.number) || (!isOfStep && !standIns.count(at.number)))
      return true;
    if (isOfStep)
      for (ValueId operand : c.program.operandsOf(value.node))
        if (seen.insert(operand.number).second)
          pending.push_back(operand);
  }
  return false;
}

bool ScanBody::isMadeInside(ValueId id, const std::vector<bool> &isInside) const {
  const te::Value &value = c.program.value(id);
  return value.kind == te::ValueKind::Result && value.node >= firstNode &&
         isInside[value.node - firstNode];
}

/// Carries the elements of a step, or of one before it where a check does not allow them; 0 is
/// allowed.
void ScanBody::carryCheck(const CheckedTensor &asked, bool isOnce, std::vector<ValueId> &next) {
  ValueId tensor = asked.tensor;
  ElementType type = c.type(tensor);
  Shape shape(c.shape(tensor));
  ValueId before = carry(c.define(c.name() + ".allowed", shape,
                                  [&](Indices) { return Expr::literal(type, int64_t(0)); }));
  if (isOnce) {
    next.push_back(tensor);
    return;
  }
  auto isBelow = [&](Expr element, int64_t bound) {
    return Expr::binary(te::BinaryOp::Less, Expr::cast(ElementType::I64, std::move(element)),
                        Expr::literal(ElementType::I64, bound));
  };
  next.push_back(c.define(c.name() + ".checked", shape, [&](Indices i) {
    Expr known = c.read(before, i), here = c.read(tensor, i);
    return Expr::select(isBelow(known, asked.check.low), known,
                        Expr::select(isBelow(known, asked.check.high), here, known));
  }));
}

std::optional<ScanBody::Results> ScanBody::finish(int64_t trip, llvm::ArrayRef<ValueId> nextStates,
                                                  llvm::ArrayRef<ValueId> stacked,
                                                  std::optional<Condition> condition) {
  std::optional<std::vector<CheckedTensor>> asked = c.importer.leaveBody();
  isOpen = false;
  if (!asked) {
    cut(findInside(true));
    return std::nullopt;
  }
  std::vector<ValueId> made(nextStates.begin(), nextStates.end());
  if (condition) {
    carry(condition->initial);
    std::rotate(carried.begin(), carried.end() - 1, carried.end());
    made.insert(made.begin(), condition->next);
  }
  size_t firstState = condition ? 1 : 0, firstCheck = made.size();
  Results results;
  std::vector<bool> isInside = findInside(condition.has_value());
  std::vector<size_t> places; ///< By check: of the tensor among what is made.
  for (const CheckedTensor &one : *asked) {
    bool isInBody = condition || isMadeInside(one.tensor, isInside);
    if (isInBody)
      carryCheck(one, trip == 1, made);
    results.checks.push_back(one);
    places.push_back(isInBody ? made.size() - 1 : ~size_t(0));
  }
  size_t firstStack = made.size();
  llvm::append_range(made, stacked);
  te::Scan scan = scanOf(trip, made, condition);
  std::vector<std::string> names;
  for (size_t k = 0; k < made.size(); ++k)
    names.push_back(c.name() + (k < firstStack ? ".last" : ".all") + std::to_string(k));
  llvm::SmallVector<ValueId> all = c.program.addScan(names, std::move(scan));
  results.carried.assign(all.begin() + firstState, all.begin() + firstCheck);
  results.stacks.assign(all.begin() + firstStack, all.end());
  for (auto [one, place] : llvm::zip_equal(results.checks, places))
    if (place != ~size_t(0))
      one.tensor = all[place];
  return results;
}

/// Which nodes inside are needed for what a step makes.
std::vector<bool> ScanBody::findNeeded(llvm::ArrayRef<ValueId> made,
                                       const std::vector<bool> &isInside) const {
  std::vector<bool> needed(isInside.size(), false);
  auto need = [&](ValueId id) {
    if (isMadeInside(id, isInside))
      needed[c.program.value(id).node - firstNode] = true;
  };
  llvm::for_each(made, need);
  for (size_t node = isInside.size(); node-- > 0;)
    if (needed[node])
      llvm::for_each(c.program.operandsOf(firstNode + node), need);
  return needed;
}

te::Scan ScanBody::scanOf(int64_t trip, llvm::ArrayRef<ValueId> made,
                          const std::optional<Condition> &condition) {
  std::vector<bool> isInside = findInside(condition.has_value());
  BodyWriter writer(c);
  te::Scan scan{Extent(trip), nullptr, {}, {}, {}};
  if (condition)
    scan.goesOnWhile = condition->goesOnWhile;
  writer.addInput(number);
  for (const Carried &state : carried) {
    writer.addInput(state.inside);
    scan.initial.push_back(state.initial);
  }
  for (auto [node, isNeeded] : llvm::enumerate(findNeeded(made, isInside)))
    if (isNeeded)
      writer.copy(firstNode + node);
  llvm::for_each(made, [&](ValueId id) { writer.addOutput(id); });
  scan.captured = std::move(writer.captured);
  scan.body = std::make_shared<const te::Program>(std::move(writer.body));
  cut(isInside);
  return scan;
}

/// Takes nodes out of the program. Nothing is left that reads what they made.
void ScanBody::cut(const std::vector<bool> &isInside) {
  te::Program &program = c.program;
  size_t kept = firstNode;
  for (size_t node = firstNode; node < program.nodes.size(); ++node) {
    bool isKept = !isInside[node - firstNode];
    assert((!isKept || llvm::none_of(program.operandsOf(node),
                                     [&](ValueId id) { return standIns.count(id.number) > 0; })) &&
           "what stays does not depend on a step");
    for (ValueId result : program.resultsOf(node)) {
      te::Value &value = program.value(result);
      value.kind = isKept ? te::ValueKind::Result : te::ValueKind::Input;
      value.node = isKept ? kept : ~0u;
    }
    if (isKept && kept != node) {
      program.nodes[kept] = std::move(program.nodes[node]);
      program.origins[kept] = std::move(program.origins[node]);
    }
    kept += isKept;
  }
  program.nodes.resize(kept);
  program.origins.resize(kept);
}

} // namespace kintsugi::import
