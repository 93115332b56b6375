//===- position.h - Where the lanes of an access lie ------------------------===//
//
// An affine map at one point of the register tile, as code: a scalar base, a constant, and how far
// lanes lie apart (a constant stride, or a vector of offsets where the map divides or follows
// data).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_POSITION_H
#define KINTSUGI_TARGETS_POSITION_H

#include "targets/emit.h"
#include "targets/levels.h"
#include "te/extent.h"

#include "mlir/IR/AffineMap.h"

namespace kintsugi::targets {

/// A scalar i64 that a loop of some level fixes; no value: zero.
struct LeveledScalar {
  mlir::Value value;
  unsigned level = 0;
};

/// lane -> base + constant + stride * lane + lanes[lane].
struct Position {
  LeveledScalar base;
  /// The base is the sum of these where both have values: what loops further out fix, and what the
  /// loop of its own level does, which many positions share.
  LeveledScalar outer, inner;
  int64_t multiple = 0; ///< Which the base is one of; 0: it is zero.
  int64_t constant = 0;
  int64_t stride = 0;
  mlir::Value lanes; ///< Null, or a vector of i32 or i64.
  unsigned lanesLevel = 0;
  /// Where `lanes` are known by now, they and the stride together, by lane; empty: they are not.
  llvm::SmallVector<int64_t, 0> pattern;

  bool isUniform() const { return stride == 0 && !lanes; }
};

/// What a dimension of a map stands for at the point in question: base + constant + stride * lane
/// with base a multiple of `multiple`, or a vector.
struct DimensionValue {
  Position position;
  int64_t multiple = 1;
  te::Interval range; ///< Of all its values.
};

/// Bytes, at most 16, that the place of a position in an aligned buffer is known to be a multiple
/// of.
unsigned alignmentAt(const Position &position, mlir::Type element);

/// Of an integer that was read.
te::Interval anyNumberOf(mlir::Type integer);

/// How the parts of a base are added up, from the outermost level inwards: one after the other, or
/// first those of each level, which leaves one addition to positions that differ further out alone.
enum class PartOrder : uint8_t { InTurn, LevelByLevel };

class PositionBuilder {
public:
  PositionBuilder(mlir::OpBuilder &builder, Levels &levels, unsigned lanes,
                  PartOrder order = PartOrder::InTurn)
      : emit(builder), levels(levels), numLanes(lanes), order(order) {}

  Position build(mlir::AffineExpr expr, llvm::ArrayRef<DimensionValue> dimensions);
  /// base + constant, as an i64 value.
  mlir::Value scalar(const Position &position);
  /// stride * lane + lanes[lane], as a vector of i32 or i64.
  mlir::Value laneOffsets(const Position &position);
  /// The position of each lane, as a vector of i64.
  mlir::Value allLanes(const Position &position);
  static unsigned levelOf(const Position &position) {
    return std::max(position.base.level, position.lanesLevel);
  }

private:
  struct Part {
    LeveledScalar scalar;
    int64_t factor;
    int64_t multiple;
  };
  struct Sum {
    llvm::SmallVector<Part> parts;
    int64_t constant = 0;
    int64_t stride = 0;
    mlir::Value lanes;
    unsigned lanesLevel = 0;
    /// What `lanes` are, by lane, unless they are no constants.
    llvm::SmallVector<int64_t, 0> pattern;
  };

  void accumulate(mlir::AffineExpr expr, int64_t factor, Sum &sum);
  void addDimension(const DimensionValue &value, int64_t factor, Sum &sum);
  void addDivision(mlir::AffineBinaryOpExpr expr, int64_t factor, Sum &sum);
  void addUniformDivision(const Sum &inner, mlir::AffineBinaryOpExpr expr, int64_t factor,
                          Sum &sum);
  bool staysInOnePeriod(const Sum &inner, int64_t divisor) const;
  bool startsAtMultiple(const Sum &inner, int64_t divisor) const;
  void addPattern(const Sum &inner, mlir::AffineBinaryOpExpr expr, int64_t factor, Sum &sum);
  void addLanes(mlir::Value lanes, unsigned level, int64_t factor, Sum &sum);
  Position finish(const Sum &sum);
  /// A part times its factor; what is equal is computed once.
  LeveledScalar term(const Part &part);
  LeveledScalar together(const LeveledScalar &before, const LeveledScalar &further);
  void addInTurn(llvm::ArrayRef<Part> parts, Position &position);
  void addLevelByLevel(llvm::ArrayRef<Part> parts, Position &position);
  mlir::Value divide(mlir::Value value, int64_t divisor, bool remainder, bool nonnegative);
  te::Interval rangeOf(mlir::AffineExpr expr) const;
  bool fitsInt32(mlir::AffineExpr expr) const;

  Emit emit;
  Levels &levels;
  unsigned numLanes;
  PartOrder order;
  llvm::ArrayRef<DimensionValue> dimensions;
  mlir::Type laneType;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_POSITION_H
