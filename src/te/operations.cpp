#include "te/operations.h"

namespace kintsugi::te {

static double scalarsOf(const Expr &expr) {
  double count = 0;
  expr.walk(
      [&](const Expr &e) { count += e.kind() == ExprKind::Unary || e.kind() == ExprKind::Binary; });
  return count;
}

double operationsOf(const Definition &definition) {
  double each = 0, points = 1;
  for (const Expr &body : definition.bodies)
    each += scalarsOf(body);
  for (const Iterator &iterator : definition.parallel)
    points *= double(iterator.extent.constant());
  if (definition.reduction) {
    ++each;
    for (const Iterator &iterator : definition.reduction->iterators)
      points *= double(iterator.extent.constant());
  }
  return points * each;
}

double operationsOf(const Program &program) {
  double count = 0;
  for (const Node &node : program.nodes) {
    if (const auto *definition = std::get_if<Definition>(&node))
      count += operationsOf(*definition);
    else if (const auto *scan = std::get_if<Scan>(&node))
      count += double(scan->trip.constant()) * operationsOf(*scan->body);
  }
  return count;
}

} // namespace kintsugi::te
