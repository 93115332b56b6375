#include "import/ops/statistics.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace kintsugi::import {

using te::Combiner;
using te::UnaryOp;

Groups::Groups(OpContext &c, ValueId x, llvm::ArrayRef<unsigned> axes) : reduced(c.rank(x), false) {
  for (unsigned axis : axes)
    reduced[axis] = true;
  for (unsigned d = 0; d < c.rank(x); ++d) {
    (reduced[d] ? reduction : outer).push_back(c.shape(x)[d]);
    if (reduced[d])
      size *= c.extent(x, d);
  }
}

llvm::SmallVector<Index> Groups::source(Indices i, Indices r) const {
  llvm::SmallVector<Index> result;
  for (bool isReduced : reduced) {
    Indices &from = isReduced ? r : i;
    result.push_back(from.front());
    from = from.drop_front();
  }
  return result;
}

llvm::SmallVector<Index> Groups::outerOf(Indices i) const {
  llvm::SmallVector<Index> result;
  for (auto [index, isReduced] : llvm::zip(i, reduced))
    if (!isReduced)
      result.push_back(index);
  return result;
}

llvm::SmallVector<unsigned> dimensionsFrom(unsigned first, unsigned rank) {
  llvm::SmallVector<unsigned> result(rank - first);
  std::iota(result.begin(), result.end(), first);
  return result;
}

ValueId meanOf(OpContext &c, const std::string &name, ValueId x, const Groups &groups,
               llvm::function_ref<Expr(Expr)> f) {
  ElementType wide = accumulatorFor(c.type(x));
  ValueId sum = c.reduce(
      name + ".sum", wide, groups.outer, Combiner::Sum, groups.reduction,
      [&](Indices i, Indices r) { return f(Expr::cast(wide, c.read(x, groups.source(i, r)))); });
  return c.define(name, groups.outer,
                  [&](Indices i) { return c.read(sum, i) / Expr::literal(wide, groups.size); });
}

ValueId inverseRoot(OpContext &c, std::string name, ValueId meanSquare, double epsilon) {
  ElementType wide = c.type(meanSquare);
  return c.define(std::move(name), c.shape(meanSquare), [&](Indices i) {
    Expr shifted = c.read(meanSquare, i) + Expr::literal(wide, epsilon);
    return Expr::literal(wide, 1.0) / Expr::unary(UnaryOp::Sqrt, shifted);
  });
}

Standardized standardized(OpContext &c, ValueId x, const Groups &groups, double epsilon) {
  ElementType wide = accumulatorFor(c.type(x));
  Standardized s;
  s.mean = meanOf(c, c.name() + ".mean", x, groups, itself);
  s.centered = c.define(c.name() + ".centered", c.shape(x), [&](Indices i) {
    return Expr::cast(wide, c.read(x, i)) - c.read(s.mean, groups.outerOf(i));
  });
  ValueId variance = meanOf(c, c.name() + ".variance", s.centered, groups, squared);
  s.inverse = inverseRoot(c, c.name() + ".inverse", variance, epsilon);
  return s;
}

} // namespace kintsugi::import
