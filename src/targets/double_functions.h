//===- double_functions.h - Functions spelled out in f64 --------------------===//
//
// For vectors, and for machines that have no table of functions to call: what f32 asks for is
// computed in f64, whose spare digits make simple formulas good enough, and rounded once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_DOUBLE_FUNCTIONS_H
#define KINTSUGI_TARGETS_DOUBLE_FUNCTIONS_H

#include "targets/emit.h"

namespace kintsugi::targets {

/// Of scalars or vectors.
class DoubleFunctions {
public:
  explicit DoubleFunctions(mlir::OpBuilder &builder) : emit(builder) {}

  /// Whether there is code for a function of imports.def in f32.
  static bool has(llvm::StringRef name);
  /// As far from 0 as it takes operands; none: as far as there are any.
  static std::optional<double> end(llvm::StringRef name);
  /// The function of f32 operands; they are f32, and so is the result.
  mlir::Value apply(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands);

private:
  mlir::Value powerOfTwo(mlir::Value x);
  mlir::Value logarithm2(mlir::Value x);
  mlir::Value exponential(mlir::Value x);
  mlir::Value logarithm(mlir::Value x);
  mlir::Value power(mlir::Value x, mlir::Value y);
  mlir::Value root(mlir::Value x);
  mlir::Value arctangent(mlir::Value x);
  mlir::Value arcsine(mlir::Value x);
  mlir::Value arccosine(mlir::Value x);
  mlir::Value sineH(mlir::Value x);
  mlir::Value cosineH(mlir::Value x);
  /// The inverse of the hyperbolic tangent, where |x| is at most 3 - 2 sqrt(2).
  mlir::Value seriesOfAreaTangent(mlir::Value x);
  mlir::Value areaTangent(mlir::Value x);
  mlir::Value areaSine(mlir::Value x);
  mlir::Value areaCosine(mlir::Value x);
  /// Sine (`turns` 0) or cosine (1).
  mlir::Value sine(mlir::Value x, int turns);
  mlir::Value number(double value);
  mlir::Value withSignOf(mlir::Value magnitude, mlir::Value x);
  mlir::Value floor(mlir::Value x);
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients);

  Emit emit;
  mlir::Type wide; ///< Of the operands, in f64.
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_DOUBLE_FUNCTIONS_H
