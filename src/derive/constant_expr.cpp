#include "derive/constant_expr.h"

#include "simplify/rebuild.h"
#include "te/constant_nodes.h"
#include "te/interpreter.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

int64_t countOf(llvm::ArrayRef<Extent> shape) {
  double elements = elementsOf(shape);
  return elements > 1e15 ? INT64_MAX : int64_t(elements);
}

/// Marks what a value needs; false where that is no definition.
bool need(const Program &program, ValueId id, std::vector<bool> &needed) {
  const Value &value = program.value(id);
  if (value.kind != ValueKind::Result)
    return value.kind == ValueKind::Constant;
  if (needed[value.node])
    return true;
  needed[value.node] = true;
  return program.definitionOf(id) &&
         llvm::all_of(program.operandsOf(value.node),
                      [&](ValueId operand) { return need(program, operand, needed); });
}

} // namespace

bool isConstantExpr(const Expr &expr, const Program &program,
                    const std::vector<bool> &constantNodes) {
  std::vector<bool> needed(program.nodes.size(), false);
  return llvm::all_of(readsOf(expr), [&](ValueId id) {
    return te::isConstant(program, constantNodes, id) && need(program, id, needed);
  });
}

std::optional<std::vector<double>> valuesOf(const Expr &expr, const Program &program,
                                            llvm::ArrayRef<Extent> extents, int64_t most) {
  std::vector<bool> needed(program.nodes.size(), false);
  for (ValueId id : readsOf(expr))
    if (!need(program, id, needed))
      return std::nullopt;
  if (countOf(extents) > most)
    return std::nullopt;
  simplify::Rebuilder rebuilder(program);
  rebuilder.fresh = Program();
  int64_t all = 0;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    if (!needed[node])
      continue;
    Definition copy = std::get<Definition>(program.nodes[node]);
    int64_t points = 1;
    for (const Interval &range : copy.ranges())
      points = range.size() > most ? most + 1 : std::min(most + 1, points * range.size());
    all += points;
    if (points > most || all > 16 * most)
      return std::nullopt;
    copy.results.clear();
    for (Expr &body : copy.bodies)
      body = rebuilder.rename(body);
    rebuilder.define(node, std::move(copy));
  }
  Definition wanted;
  for (auto [k, extent] : llvm::enumerate(extents))
    wanted.parallel.push_back({"i" + std::to_string(k), extent});
  wanted.bodies = {rebuilder.rename(expr)};
  ValueId result = rebuilder.fresh.define("values", expr.type(), std::move(wanted));
  rebuilder.fresh.addOutput("values", result);
  Expected<std::vector<ExactTensor>> outputs = evaluate(rebuilder.fresh, {});
  if (!outputs.ok())
    return std::nullopt;
  Expected<Tensor> tensor = (*outputs)[0].rounded();
  if (!tensor.ok())
    return std::nullopt;
  std::vector<double> values(tensor->count());
  for (auto [k, value] : llvm::enumerate(values))
    value = loadDouble(tensor->view(), int64_t(k));
  return values;
}

} // namespace kintsugi::derive
