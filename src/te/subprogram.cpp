#include "te/subprogram.h"

#include "te/constant.h"
#include "te/rename.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

Node renamedNode(const Node &node, llvm::function_ref<ValueId(ValueId)> renamed) {
  Node copy = node;
  auto rename = [&](llvm::MutableArrayRef<ValueId> ids) {
    for (ValueId &id : ids)
      id = renamed(id);
  };
  if (auto *definition = std::get_if<Definition>(&copy)) {
    for (Expr &body : definition->bodies)
      body = renameReads(body, renamed);
  } else if (auto *scan = std::get_if<Scan>(&copy)) {
    rename(scan->initial);
    rename(scan->captured);
  } else {
    rename(std::get<Call>(copy).operands);
  }
  return copy;
}

llvm::SmallVector<ValueId> addInPlaceOf(const Program &from, uint32_t number, Node node,
                                        Program &to) {
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<ElementType> types;
  llvm::SmallVector<Shape> shapes;
  for (ValueId id : from.resultsOf(number)) {
    const Value &value = from.value(id);
    names.push_back(value.name);
    types.push_back(value.type);
    shapes.push_back(value.shape);
  }
  if (auto *definition = std::get_if<Definition>(&node))
    return to.defineMany(names, types, std::move(*definition));
  if (auto *scan = std::get_if<Scan>(&node))
    return to.addScan(names, std::move(*scan));
  return to.addCall(names, types, shapes, std::move(std::get<Call>(node)));
}

llvm::SmallVector<ValueId> copyNode(const Program &from, uint32_t number, Program &to,
                                    llvm::function_ref<ValueId(ValueId)> renamed) {
  return addInPlaceOf(from, number, renamedNode(from.nodes[number], renamed), to);
}

ValueId Subprogram::operator[](ValueId id) {
  auto [entry, isNew] = standsFor.try_emplace(id.number);
  if (!isNew)
    return entry->second;
  const Value &value = whole.value(id);
  if (!isConstant || !isConstant(id))
    return entry->second = program.addInput(value.name, value.type, value.shape);
  std::shared_ptr<const ConstantSource> source =
      value.constant ? value.constant : std::make_shared<NamedConstant>(value.name);
  return entry->second = program.addConstant(value.name, value.type, value.shape, source);
}

ValueId Subprogram::addInput(ValueId id, Shape shape) {
  const Value &value = whole.value(id);
  return standsFor[id.number] = program.addInput(value.name, value.type, std::move(shape));
}

Expr Subprogram::rename(const Expr &expr) {
  return renameReads(expr, [&](ValueId id) { return (*this)[id]; });
}

llvm::SmallVector<ValueId> Subprogram::copy(uint32_t node) {
  for (ValueId operand : whole.operandsOf(node))
    (*this)[operand];
  llvm::SmallVector<ValueId> results =
      copyNode(whole, node, program, [&](ValueId id) { return (*this)[id]; });
  stand(node, results);
  return results;
}

llvm::SmallVector<ValueId> Subprogram::define(uint32_t node, Definition definition) {
  for (Expr &body : definition.bodies)
    body = rename(body);
  llvm::SmallVector<ValueId> results = addInPlaceOf(whole, node, std::move(definition), program);
  stand(node, results);
  return results;
}

void Subprogram::stand(uint32_t node, llvm::ArrayRef<ValueId> results) {
  for (auto [old, fresh] : llvm::zip_equal(whole.resultsOf(node), results))
    standsFor[old.number] = fresh;
}

void Subprogram::addOutputs(llvm::ArrayRef<ValueId> values) {
  for (ValueId id : values)
    program.addOutput(program.value(id).name, id);
}

Program nodeAlone(const Program &whole, uint32_t node, Subprogram::IsConstant isConstant) {
  Subprogram part(whole, std::move(isConstant));
  part.addOutputs(part.copy(node));
  return std::move(part.program);
}

std::vector<bool> neededNodes(const Program &program) {
  std::vector<bool> needed(program.nodes.size(), false);
  auto need = [&](ValueId id) {
    if (program.value(id).kind == ValueKind::Result)
      needed[program.value(id).node] = true;
  };
  for (const Program::Output &output : program.outputs)
    need(output.value);
  for (uint32_t node = program.nodes.size(); node-- > 0;)
    if (needed[node])
      for (ValueId operand : program.operandsOf(node))
        need(operand);
  return needed;
}

} // namespace kintsugi::te
