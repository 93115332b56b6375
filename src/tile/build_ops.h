//===- build_ops.h - te's scalar operations in arith and math ---------------===//
//
// One function for each form of te::Expr that computes. Values are signless MLIR scalars; booleans
// are i1. What te defines and arith leaves undefined (division by zero, long shifts, conversions
// out of range) is spelled out here, so that no target has to know.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TILE_BUILD_OPS_H
#define KINTSUGI_TILE_BUILD_OPS_H

#include "te/expr.h"

#include "mlir/IR/Builders.h"

namespace kintsugi::tile {

/// The type of values in a region: i1 for booleans. Null for types that do not compute.
mlir::Type valueType(mlir::MLIRContext *context, ElementType type);
/// The type of elements in memory: i8 for booleans.
mlir::Type storedType(mlir::MLIRContext *context, ElementType type);

class OpsBuilder {
public:
  explicit OpsBuilder(mlir::OpBuilder &builder);

  mlir::Value constant(ElementType type, double value);
  mlir::Value constant(ElementType type, int64_t value);
  mlir::Value unary(te::UnaryOp op, ElementType type, mlir::Value operand);
  /// `type` is the operands'.
  mlir::Value binary(te::BinaryOp op, ElementType type, mlir::Value left, mlir::Value right);
  mlir::Value cast(ElementType from, ElementType to, mlir::Value value);
  mlir::Value select(mlir::Value condition, mlir::Value onTrue, mlir::Value onFalse);
  /// The conjunction; either may be null, which is true.
  mlir::Value conjunction(mlir::Value left, mlir::Value right);
  mlir::Value negation(mlir::Value condition);

private:
  mlir::Value unaryFloat(te::UnaryOp op, ElementType type, mlir::Value x);
  mlir::Value unaryInteger(te::UnaryOp op, ElementType type, mlir::Value x);
  mlir::Value binaryFloat(te::BinaryOp op, ElementType type, mlir::Value a, mlir::Value b);
  mlir::Value binaryInteger(te::BinaryOp op, ElementType type, mlir::Value a, mlir::Value b);
  mlir::Value divideInteger(te::BinaryOp op, ElementType type, mlir::Value a, mlir::Value b);
  mlir::Value shift(te::BinaryOp op, ElementType type, mlir::Value a, mlir::Value b);
  mlir::Value powerInteger(ElementType type, mlir::Value base, mlir::Value exponent);
  mlir::Value floatToInteger(ElementType from, ElementType to, mlir::Value x);
  mlir::Value compare(te::BinaryOp op, ElementType type, mlir::Value a, mlir::Value b);

  mlir::OpBuilder &builder;
  mlir::Location location;
};

} // namespace kintsugi::tile

#endif // KINTSUGI_TILE_BUILD_OPS_H
