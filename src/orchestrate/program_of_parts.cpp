#include "orchestrate/program_of_parts.h"

#include "te/rename.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::orchestrate {

using namespace te;

ProgramOfParts::ProgramOfParts(const Form &first, const space::EqualParts &parts)
    : first(first), parts(parts) {
  const Program &program = *first.program;
  fresh.name = program.name;
  for (ValueId input : program.inputs) {
    const Value &value = program.value(input);
    ValueId copy = fresh.addInput(value.name, value.type, value.shape);
    fresh.value(copy).facts = value.facts;
    made[parts.valueOf(first.number, input)] = copy;
  }
}

ValueId ProgramOfParts::valueOf(const Form &form, ValueId id) {
  unsigned number = parts.valueOf(form.number, id);
  if (auto found = made.find(number); found != made.end())
    return found->second;
  const Value &value = form.program->value(id);
  if (value.kind == ValueKind::Constant) {
    ValueId copy = fresh.addConstant(value.name, value.type, value.shape, value.constant);
    fresh.value(copy).facts = value.facts;
    return made[number] = copy;
  }
  assert(form.isGiven(id) && "what a chosen node reads was chosen before");
  add(form, value.node);
  return made.at(number);
}

llvm::SmallVector<ValueId, 4> ProgramOfParts::valuesOf(const Form &form,
                                                       llvm::ArrayRef<ValueId> ids) {
  llvm::SmallVector<ValueId, 4> values;
  for (ValueId id : ids)
    values.push_back(valueOf(form, id));
  return values;
}

void ProgramOfParts::add(const Form &form, uint32_t node) {
  unsigned number = parts.nodeOf(form.number, node);
  if (!added.insert(number).second)
    return;
  llvm::SmallVector<ValueId> results = copy(form, node);
  nodeNumbers.push_back(number); // What it reads was added before it.
  assert(nodeNumbers.size() == fresh.nodes.size());
  for (auto [old, result] : llvm::zip_equal(form.program->resultsOf(node), results)) {
    fresh.value(result).facts = form.program->value(old).facts;
    fresh.value(result).original = form.program->value(old).original;
    made[parts.valueOf(form.number, old)] = result;
  }
}

llvm::SmallVector<ValueId> ProgramOfParts::copy(const Form &form, uint32_t node) {
  const Program &old = *form.program;
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<ElementType> types;
  llvm::SmallVector<Shape> shapes;
  for (ValueId result : old.resultsOf(node)) {
    names.push_back(old.value(result).name);
    types.push_back(old.value(result).type);
    shapes.push_back(old.value(result).shape);
  }
  if (isEmpty(old, node)) {
    llvm::SmallVector<ValueId> results;
    for (ValueId result : old.resultsOf(node))
      results.push_back(empty(old.value(result)));
    return results;
  }
  for (ValueId operand : old.operandsOf(node))
    valueOf(form, operand);
  if (const auto *scan = std::get_if<Scan>(&old.nodes[node])) {
    Scan its{
        scan->trip, scan->body,       valuesOf(form, scan->initial), valuesOf(form, scan->captured),
        {},         scan->goesOnWhile};
    fresh.currentOrigin = old.origins[node];
    return fresh.addScan(names, std::move(its));
  }
  if (const auto *call = std::get_if<Call>(&old.nodes[node])) {
    Call its{call->callee, call->attributes, valuesOf(form, call->operands), {}};
    fresh.currentOrigin = old.origins[node];
    return fresh.addCall(names, types, shapes, std::move(its));
  }
  Definition definition = std::get<Definition>(old.nodes[node]);
  definition.results.clear();
  for (Expr &body : definition.bodies)
    body = renameReads(body, [&](ValueId id) { return valueOf(form, id); });
  fresh.currentOrigin = old.origins[node];
  return fresh.defineMany(names, types, std::move(definition));
}

ValueId ProgramOfParts::empty(const Value &value) {
  Definition definition;
  for (auto [place, extent] : llvm::enumerate(value.shape))
    definition.parallel.push_back({"i" + std::to_string(place), extent});
  definition.bodies = {Expr::literal(value.type, int64_t(0))};
  return fresh.define(value.name, value.type, std::move(definition));
}

Program ProgramOfParts::finish() {
  for (const Program::Output &output : first.program->outputs)
    fresh.addOutput(output.name, valueOf(first, output.value));
  return std::move(fresh);
}

} // namespace kintsugi::orchestrate
