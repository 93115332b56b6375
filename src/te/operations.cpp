#include "te/operations.h"

#include <algorithm>

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

double stepsOf(const Scan &scan) {
  constexpr int64_t most = 1024;
  int64_t trip = scan.trip.constant();
  return double(scan.goesOnWhile ? std::min(trip, most) : trip);
}

double operationsOf(const Node &node) {
  if (const auto *definition = std::get_if<Definition>(&node))
    return operationsOf(*definition);
  if (const auto *scan = std::get_if<Scan>(&node))
    return stepsOf(*scan) * operationsOf(*scan->body);
  return 0;
}

double operationsOf(const Program &program) {
  double count = 0;
  for (const Node &node : program.nodes)
    count += operationsOf(node);
  return count;
}

} // namespace kintsugi::te
