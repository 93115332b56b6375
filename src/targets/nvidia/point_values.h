//===- point_values.h - A nest's values at points of one's choice -----------===//
//
// The values of a nest's body and epilogue as scalar code, at points whose iterators are given by
// groups: each group (the rows of a matrix, its columns, ...) has its coordinates from one number,
// known at a loop of some level. A value's code stands at the innermost level of the groups that it
// depends on, once for each of their coordinates.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_POINT_VALUES_H
#define KINTSUGI_TARGETS_NVIDIA_POINT_VALUES_H

#include "targets/nest_emitter.h"

#include <array>

namespace kintsugi::targets {

/// The iterators of a nest that one number enumerates, the last the fastest.
struct IteratorGroup {
  llvm::SmallVector<unsigned> iterators;
  llvm::SmallVector<int64_t> extents;

  int64_t points() const;
};

/// Where a group's iterators stand.
struct Coordinates {
  llvm::SmallVector<DimensionValue> values; ///< By position in the group.
  unsigned level = 0;                       ///< Of the loop that fixes them.
  unsigned number = 0; ///< Tells them from others of the group at the same level.
};

class PointValues {
public:
  static constexpr unsigned numGroups = 4;
  using Point = std::array<const Coordinates *, numGroups>; ///< Null: nothing depends on them.

  PointValues(KernelScope &scope, tile::ComputeOp nest, Levels &levels,
              llvm::ArrayRef<IteratorGroup> groups);

  /// From a group's number, an i32, which is a multiple of `multiple` and at most the last.
  Coordinates split(const IteratorGroup &group, mlir::Value linear, int64_t multiple,
                    unsigned level, unsigned number);
  /// The same, `further` along the group's last iterator, which does not wrap.
  static Coordinates shifted(Coordinates coordinates, int64_t further, unsigned number);

  mlir::Value evaluate(mlir::Value value, const Point &point);
  /// What the epilogue is given, or takeResultFor's buffer has.
  void setResult(mlir::Value result) { this->result = result; }
  /// From here on, what reads of this buffer give is the result.
  void takeResultFor(mlir::Value buffer);
  /// From here on, a condition of the nest holds wherever it is asked for.
  void assume(mlir::Value condition) { assumed.push_back(condition); }
  /// Evaluates what a region reads at a point on the way to what comes of the result: those reads
  /// are then under way while the result is still computed.
  void readAhead(mlir::Region &region, const Point &point);
  Position position(mlir::AffineMap map, mlir::ValueRange operands, const Point &point);
  /// A position as an i64.
  mlir::Value number(mlir::AffineMap map, mlir::ValueRange operands, const Point &point) {
    return positions.scalar(position(map, operands, point));
  }
  Position destination(const Point &point);
  mlir::Value address(mlir::Value pointer, const Position &position, mlir::Type element);
  /// Whether a value of the epilogue is made from what was summed.
  bool dependsOnResult(mlir::Value value) const;
  bool dependsOn(mlir::Value value, unsigned iterator) const {
    return dependences.lookup(value) >> iterator & 1;
  }
  /// How a read moves with an iterator; nullopt: irregularly.
  std::optional<int64_t> strideOf(tile::ReadOp read, unsigned iterator) const;
  std::optional<int64_t> strideOf(tile::IndexOp number, unsigned iterator) const;
  std::optional<int64_t> strideOfDestination(unsigned iterator);

private:
  void findDependences(mlir::Region &region);
  unsigned levelOf(mlir::Value value, const Point &point) const;
  uint64_t groupsOf(mlir::Value value) const;
  DimensionValue dimension(mlir::Value operand, const Point &point);
  const DimensionValue &iterator(unsigned number, const Point &point) const;
  mlir::Value evaluateNew(mlir::Operation *op, const Point &point, unsigned level);
  mlir::Value evaluateRange(mlir::Operation *op, const Point &point, unsigned level);
  mlir::Value divideByShared(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands,
                             const Point &point, unsigned level);
  mlir::Value read(tile::ReadOp op, const Point &point, unsigned level);
  std::optional<int64_t> slope(mlir::AffineExpr expr, mlir::ValueRange operands,
                               unsigned iterator) const;

  KernelScope &scope;
  tile::ComputeOp nest;
  Emit make;
  Levels &levels;
  PositionBuilder positions;
  llvm::SmallVector<IteratorGroup> groups;
  llvm::DenseMap<mlir::Value, uint64_t> dependences; ///< Bits of iterators; the last: the result.
  mlir::Value result;
  llvm::SmallVector<mlir::Value, 1> assumed;
  mlir::Value taken; ///< A buffer whose elements are the result; null: none.
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_POINT_VALUES_H
