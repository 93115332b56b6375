//===- reduction.h - How a nest's running values are joined -----------------===//
//
// Running values come as tuples, one value for each accumulator of the combiner, scalars or vectors
// whose lanes are apart. Joining is associative but for rounding, and the same formula serves
// lanes, vectors and loop steps.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_REDUCTION_H
#define KINTSUGI_TARGETS_REDUCTION_H

#include "targets/emit.h"
#include "tile/dialect.h"

namespace kintsugi::targets {

using Tuple = llvm::SmallVector<mlir::Value, 2>;

class SpecialUnits;

class Combiner {
public:
  /// `imports` and `units`: see Elementwise.
  Combiner(mlir::OpBuilder &builder, tile::CombinerKind kind, mlir::Value imports,
           const SpecialUnits *units)
      : emit(builder), kind(kind), imports(imports), units(units) {}

  /// What joins with x to x. `types` are the accumulators', vectors where they are.
  Tuple neutral(mlir::TypeRange types);
  /// A body's values as a tuple.
  Tuple lift(llvm::ArrayRef<mlir::Value> bodies);
  /// `first` comes before `second` where that matters.
  Tuple join(llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> second);
  /// Joins the lanes of vectors, in halves: the order is fixed.
  Tuple joinLanes(llvm::ArrayRef<mlir::Value> vectors);
  /// What the epilogue is given.
  Tuple finish(llvm::ArrayRef<mlir::Value> values);

private:
  mlir::Value joinOne(mlir::Value a, mlir::Value b);
  Tuple joinArgs(llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> second);
  mlir::Value extreme(mlir::Value a, mlir::Value b, bool isMax);
  Tuple joinStats(llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> second);

  Emit emit;
  tile::CombinerKind kind;
  mlir::Value imports;
  const SpecialUnits *units;
};

/// Max or min where a NaN operand gives NaN; by the units, if not null.
mlir::Value extremum(Emit &emit, mlir::Value a, mlir::Value b, bool isMax,
                     const SpecialUnits *units);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_REDUCTION_H
