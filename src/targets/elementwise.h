//===- elementwise.h - Scalar operations of a body on any machine -----------===//
//
// What a target's code generator would turn into calls of a C library is spelled out here: exp,
// log, erf and tanh in f32 as polynomials of our own (the same bits in every lane and on every
// processor; a GPU's special units take their share), vectors of pow, sin, cos and tan in f64, the
// rest as calls through the stage's import table, lane by lane.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_ELEMENTWISE_H
#define KINTSUGI_TARGETS_ELEMENTWISE_H

#include "targets/special_units.h"

namespace kintsugi::targets {

class Elementwise {
public:
  /// `imports` points to the KinImports table; null: what DoubleFunctions has takes its place.
  /// `units` may be null. `scales`: vectors can be multiplied by powers of two in one operation, as
  /// with AVX-512.
  Elementwise(mlir::OpBuilder &builder, mlir::Value imports, const SpecialUnits *units,
              bool scales = false)
      : emit(builder), imports(imports), units(units), scales(scales) {}

  /// An arith or math operation on operands that are all scalars or all vectors (the condition of a
  /// select may stay scalar).
  mlir::Value apply(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  /// f32 in line, within 2 units in the last place; what is less than the smallest normal number
  /// is 0. With special units as they say.
  mlir::Value exponential(mlir::Value x);
  /// The function of the import table that an operation becomes, or "" where it is code in line.
  static llvm::StringRef importOf(mlir::Operation *op);
  /// A float rounded once to a narrower type.
  mlir::Value roundTo(mlir::Value x, mlir::Type element);

private:
  mlir::Value logarithm(mlir::Value x);
  bool canScale(mlir::Type type) const;
  bool hasUnits(mlir::Type type) const;
  mlir::Value scaled(mlir::Value x, mlir::Value exponent, mlir::Value wanted);
  mlir::Value tangentH(mlir::Value x);
  mlir::Value errorFunction(mlir::Value x);
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients);
  mlir::Value clamp(mlir::Value x, double low, double high);
  mlir::Value oddRatio(mlir::Value x, double end, llvm::ArrayRef<double> over,
                       llvm::ArrayRef<double> under);
  mlir::Value quotient(mlir::Value a, mlir::Value b);
  mlir::Value roundToOdd(mlir::Value x);
  mlir::Value toBFloat(mlir::Value x);
  mlir::Value import(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands);
  mlir::Value vectorFunction(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands);
  mlir::Value calls(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands);
  mlir::Value callSlot(unsigned slot, llvm::ArrayRef<mlir::Value> scalars);

  Emit emit;
  mlir::Value imports;
  const SpecialUnits *units;
  bool scales;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_ELEMENTWISE_H
