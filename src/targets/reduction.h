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

/// How vectors of a maximum or minimum remember, beside the running value, that there was a NaN:
/// one operation for each element, where keeping it in the value takes two that wait for each
/// other.
enum class NaNWatch : uint8_t {
  None,  ///< The value has it.
  Masks, ///< A bit for each lane: numbers alone so far.
  Lanes, ///< An integer for each lane, 0 so far; then all its bits are set.
};

class Combiner {
public:
  /// `imports` and `units`: see Elementwise. `payloadOrder`: see tile.compute. `watch`: of vectors
  /// of 32 or 64 bits; their tuples have what it remembers behind the value.
  Combiner(mlir::OpBuilder &builder, tile::CombinerKind kind, mlir::Value imports,
           const SpecialUnits *units, int64_t payloadOrder = 0, NaNWatch watch = NaNWatch::None)
      : emit(builder), kind(kind), imports(imports), units(units), payloadOrder(payloadOrder),
        watch(watch) {}

  /// What joins with x to x. `types` are the accumulators', vectors where they are. Of an arg form
  /// with an order of payloads: what joins apart with x to x.
  Tuple neutral(mlir::TypeRange types);
  /// A body's values as a tuple.
  Tuple lift(llvm::ArrayRef<mlir::Value> bodies);
  /// `first` comes before `second` where that matters.
  Tuple join(llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> second) {
    return join(first, second, /*isApart=*/false);
  }
  /// The same where neither comes before the other as a whole: each joins points of its own. Of an
  /// arg form, the payloads' order says which of equal keys was first.
  Tuple joinApart(llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> second) {
    return join(first, second, /*isApart=*/true);
  }
  /// Joins the lanes of vectors, in halves: the order is fixed. Nothing is watched any more.
  Tuple joinLanes(llvm::ArrayRef<mlir::Value> vectors);
  /// What the epilogue is given.
  Tuple finish(llvm::ArrayRef<mlir::Value> values);

private:
  bool watches(mlir::Type type) const;
  mlir::Value watched(mlir::Value x);
  mlir::Value withNaN(mlir::Value value, mlir::Value seen);
  Tuple joinWatched(llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> second);
  int64_t lastPayload(mlir::Type type) const;
  mlir::Value joinOne(mlir::Value a, mlir::Value b);
  Tuple join(llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> second, bool isApart);
  Tuple joinArgs(llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> second,
                 bool isApart);
  mlir::Value extreme(mlir::Value a, mlir::Value b, bool isMax);
  Tuple joinStats(llvm::ArrayRef<mlir::Value> first, llvm::ArrayRef<mlir::Value> second);

  Emit emit;
  tile::CombinerKind kind;
  mlir::Value imports;
  const SpecialUnits *units;
  int64_t payloadOrder;
  NaNWatch watch;
};

/// Max or min where a NaN operand gives NaN; by the units, if not null.
mlir::Value extremum(Emit &emit, mlir::Value a, mlir::Value b, bool isMax,
                     const SpecialUnits *units);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_REDUCTION_H
