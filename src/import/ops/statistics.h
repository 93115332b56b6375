//===- statistics.h - Means and deviations for normalizations -----------------===//
//
// Variances are means of squared differences from the mean, never differences of means. All of it
// is f32 where the tensor is narrower.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_STATISTICS_H
#define KINTSUGI_IMPORT_OPS_STATISTICS_H

#include "import/op_context.h"

namespace kintsugi::import {

/// Statistics of a tensor over some of its dimensions, one for each place in the others.
struct Groups {
  llvm::SmallVector<bool> reduced;
  Shape outer, reduction;
  double size = 1;

  Groups(OpContext &c, ValueId x, llvm::ArrayRef<unsigned> axes);

  /// An element by its group's place and its own in the group.
  llvm::SmallVector<Index> source(Indices i, Indices r) const;
  /// The place of an element's group.
  llvm::SmallVector<Index> outerOf(Indices i) const;
};

llvm::SmallVector<unsigned> dimensionsFrom(unsigned first, unsigned rank);

/// The mean of f(element) over each group, in the accumulator's type.
ValueId meanOf(OpContext &c, const std::string &name, ValueId x, const Groups &groups,
               llvm::function_ref<Expr(Expr)> f);
inline Expr itself(Expr x) { return x; }
inline Expr squared(Expr x) { return x * x; }

/// 1 / sqrt(meanSquare + epsilon)
ValueId inverseRoot(OpContext &c, std::string name, ValueId meanSquare, double epsilon);

/// x - mean, its deviation's inverse 1 / sqrt(variance + epsilon), and the mean.
struct Standardized {
  ValueId centered, inverse, mean;
};

Standardized standardized(OpContext &c, ValueId x, const Groups &groups, double epsilon);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_STATISTICS_H
