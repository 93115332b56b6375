//===- matrix_units.h - What warps do with small matrices -------------------===//
//
// The instructions from sm_80 on that products of matrices are made of: copies from memory to
// shared memory that the thread does not wait for (cp.async), moves of 8 x 8 matrices from there to
// the registers of a warp (ldmatrix), and multiply-adds of 16 x 16 by 16 x 8 elements (mma.sync).
// PTX ISA, sections "Data Movement" and "Warp Level Matrix Instructions".
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_MATRIX_UNITS_H
#define KINTSUGI_TARGETS_NVIDIA_MATRIX_UNITS_H

#include "targets/emit.h"

#include <array>

namespace kintsugi::targets {

class MatrixUnits {
public:
  /// `element`: f16 or bf16, of the factors.
  MatrixUnits(mlir::OpBuilder &builder, mlir::Type element) : make(builder), element(element) {}

  /// A pointer to shared memory as one of its own kind.
  mlir::Value sharedPointer(mlir::Value generic);
  /// `pointer` + an i32 offset in bytes.
  mlir::Value atByte(mlir::Value pointer, mlir::Value offset);
  mlir::Value atByte(mlir::Value pointer, int64_t offset);

  /// Starts a copy of 16 bytes between places that are multiples of it; only the first `bytes` of
  /// them (an i32, 0 or 16; null: 16) are read, the rest is zero.
  void copy(mlir::Value shared, mlir::Value memory, mlir::Value bytes);
  /// Ends a group of copies.
  void commit();
  /// Until at most so many of this thread's newest groups are under way.
  void waitForAllBut(unsigned groups);

  using Fragment = std::array<mlir::Value, 4>; ///< i32, two elements in each.
  using Results = std::array<mlir::Value, 4>;  ///< f32: (row, column), next column, row + 8, both.

  /// Four 8 x 8 matrices, whose lines the threads' addresses are in turn.
  Fragment load(mlir::Value shared, bool transposed);
  /// The i32 of the thread whose number differs in that bit (1, 2, ...) alone. All threads come.
  mlir::Value fromNeighbour(mlir::Value word, int64_t bit = 1);
  /// results + rows x columns; of the columns' fragment the first or second half.
  Results multiply(const Fragment &rows, const Fragment &columns, bool second,
                   const Results &results);

private:
  void call(const char *name, mlir::ValueRange operands);
  /// The four values, all of one type, that an instruction gives.
  std::array<mlir::Value, 4> callForFour(const char *name, mlir::Type each,
                                         mlir::ValueRange operands);

  Emit make;
  mlir::Type element;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_MATRIX_UNITS_H
