//===- emit.h - Arithmetic on scalars and vectors alike ---------------------===//
//
// A thin face of arith and math: one call an operation, for a scalar or for a vector of any length,
// so that formulas read as formulas.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_EMIT_H
#define KINTSUGI_TARGETS_EMIT_H

#include "mlir/IR/Builders.h"

namespace kintsugi::targets {

class Emit {
public:
  explicit Emit(mlir::OpBuilder &builder) : builder(builder), location(builder.getUnknownLoc()) {}

  /// A number of a scalar type, or of each lane of a vector type.
  mlir::Value number(mlir::Type type, double value);
  mlir::Value integer(mlir::Type type, int64_t value);
  /// 0, 1, ..., lanes - 1 times `step`.
  mlir::Value sequence(unsigned lanes, mlir::Type element, int64_t step);
  /// The first `active` lanes of a mask.
  mlir::Value firstLanes(unsigned lanes, unsigned active);
  mlir::Value splat(mlir::Value scalar, unsigned lanes);
  mlir::Value lane(mlir::Value vector, unsigned number);
  mlir::Value withLane(mlir::Value vector, mlir::Value scalar, unsigned number);
  mlir::Value undefined(mlir::Type type);
  mlir::Value shuffle(mlir::Value first, mlir::Value second, llvm::ArrayRef<int32_t> lanes);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value divide(mlir::Value a, mlir::Value b); ///< Floats.
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value negate(mlir::Value a);   ///< Floats.
  mlir::Value absolute(mlir::Value a); ///< Floats.
  mlir::Value withSignOf(mlir::Value magnitude, mlir::Value sign);
  mlir::Value bitAnd(mlir::Value a, mlir::Value b);
  mlir::Value bitOr(mlir::Value a, mlir::Value b);
  mlir::Value bitXor(mlir::Value a, mlir::Value b);
  mlir::Value shiftLeft(mlir::Value a, unsigned bits);
  mlir::Value shiftRight(mlir::Value a, unsigned bits);       ///< Of unsigned integers.
  mlir::Value shiftRightSigned(mlir::Value a, unsigned bits); ///< Of signed ones.
  mlir::Value select(mlir::Value condition, mlir::Value onTrue, mlir::Value onFalse);
  mlir::Value less(mlir::Value a, mlir::Value b); ///< Floats: false with NaN. Integers: signed.
  mlir::Value lessOrUnordered(mlir::Value a, mlir::Value b); ///< Floats: true with NaN.
  mlir::Value equal(mlir::Value a, mlir::Value b);           ///< Floats: false with NaN.
  mlir::Value isNaN(mlir::Value a);
  mlir::Value lessUnsigned(mlir::Value a, mlir::Value b);
  mlir::Value bitcast(mlir::Value a, mlir::Type element);
  mlir::Value widen(mlir::Value a, mlir::Type element);  ///< Of floats, exact.
  mlir::Value narrow(mlir::Value a, mlir::Type element); ///< Of floats, rounded.
  /// Signed integers of another width.
  mlir::Value resize(mlir::Value a, mlir::Type element);
  /// `element`, or a vector of it as long as `like` is.
  static mlir::Type shapedLike(mlir::Type element, mlir::Type like);

  mlir::OpBuilder &builder;
  mlir::Location location;
};

/// 0 for a scalar.
unsigned lanesOf(mlir::Type type);
bool isFloatLike(mlir::Type type);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_EMIT_H
