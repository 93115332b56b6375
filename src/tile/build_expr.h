//===- build_expr.h - A nest's expressions as a region ----------------------===//
//
// Walks a te::Expr once, giving each shared part one operation. Only the chosen side of a select
// may touch memory, so the reads in its arms carry the conjunction of the conditions above as a
// mask. Scratch that is read at a place where something of no more elements is read without one is
// read without one too: what is not chosen is there as well.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TILE_BUILD_EXPR_H
#define KINTSUGI_TILE_BUILD_EXPR_H

#include "loops/schedule.h"
#include "tile/build_ops.h"

#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/DenseMap.h"

namespace kintsugi::tile {

/// What the names in an expression stand for.
struct ExprScope {
  llvm::ArrayRef<loops::Buffer> types; ///< Of the schedule's buffers.
  llvm::ArrayRef<mlir::Value> buffers;
  llvm::ArrayRef<mlir::Value> iterators; ///< By number; null where the region has none.
  llvm::ArrayRef<te::Interval> ranges;
  llvm::ArrayRef<mlir::Value> accumulators;
  llvm::ArrayRef<loops::Ahead> ahead;
};

/// A map and what its dimensions stand for.
struct IndexMap {
  mlir::AffineMap map;
  llvm::SmallVector<mlir::Value, 4> operands;
};

bool fitsInt32(te::Interval range);

class ExprBuilder {
public:
  ExprBuilder(mlir::OpBuilder &builder, const ExprScope &scope)
      : builder(builder), ops(builder), scope(scope) {}

  mlir::Value build(const te::Expr &expr) { return build(expr, {}); }
  IndexMap indexMap(const te::Index &index, mlir::Value mask = {});
  OpsBuilder &operations() { return ops; }

private:
  mlir::Value build(const te::Expr &expr, mlir::Value mask);
  mlir::Value buildNew(const te::Expr &expr, mlir::Value mask);
  mlir::Value buildRead(const te::Expr &expr, mlir::Value mask);
  mlir::DenseI64ArrayAttr aheadOf(unsigned buffer);
  /// Whether a buffer of so many elements has one there, because a smaller one does.
  bool isInside(const IndexMap &position, int64_t elements) const;
  mlir::Value buildSelect(const te::Expr &expr, mlir::Value mask);
  mlir::Value buildBinary(const te::Expr &expr, mlir::Value mask);
  mlir::Value indexNumber(const te::Index &index, ElementType type, mlir::Value mask);
  mlir::AffineExpr affine(const te::Index &index, IndexMap &result, mlir::Value mask);
  /// The mask inside an arm of a select.
  mlir::Value restrict(mlir::Value mask, mlir::Value condition);
  bool touchesMemory(const te::Expr &expr);
  std::optional<te::Interval> staticRange(const te::Expr &expr) const;

  mlir::OpBuilder &builder;
  OpsBuilder ops;
  const ExprScope &scope;
  llvm::DenseMap<std::pair<const void *, const void *>, mlir::Value> built;
  llvm::DenseMap<mlir::Value, mlir::Value> weakerMask; ///< Of each mask, the one that it restricts.
  llvm::DenseMap<const void *, bool> touches;
  llvm::SmallDenseSet<unsigned> askedAhead; ///< Buffers.
  struct Place {
    IndexMap position;
    int64_t elements; ///< Of the buffer.
  };
  llvm::SmallVector<Place, 4> places; ///< What is read without a mask.
};

} // namespace kintsugi::tile

#endif // KINTSUGI_TILE_BUILD_EXPR_H
