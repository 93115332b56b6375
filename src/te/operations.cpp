#include "te/operations.h"

namespace kintsugi::te {

static double scalarsOf(const Expr &expr) {
  double count = 0;
  expr.walk(
      [&](const Expr &e) { count += e.kind() == ExprKind::Unary || e.kind() == ExprKind::Binary; });
  return count;
}

double elementsOf(llvm::ArrayRef<Extent> shape) {
  double elements = 1;
  for (Extent extent : shape)
    elements *= double(extent.constant());
  return elements;
}

double pointsOf(llvm::ArrayRef<Iterator> iterators) {
  double points = 1;
  for (const Iterator &iterator : iterators)
    points *= double(iterator.extent.constant());
  return points;
}

double operationsOf(const Definition &definition) {
  double each = 0, points = pointsOf(definition.parallel);
  for (const Expr &body : definition.bodies)
    each += scalarsOf(body);
  if (definition.reduction) {
    ++each;
    points *= pointsOf(definition.reduction->iterators);
  }
  return points * each;
}

double operationsOf(const Node &node) {
  if (const auto *definition = std::get_if<Definition>(&node))
    return operationsOf(*definition);
  if (const auto *scan = std::get_if<Scan>(&node))
    return double(scan->trip.constant()) * operationsOf(*scan->body);
  return 0;
}

double operationsOf(const Program &program) {
  double count = 0;
  for (const Node &node : program.nodes)
    count += operationsOf(node);
  return count;
}

} // namespace kintsugi::te
