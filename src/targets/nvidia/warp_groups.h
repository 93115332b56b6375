//===- warp_groups.h - What four warps do with matrices in shared memory ----===//
//
// The instructions of sm_90a by which four warps together, the first of them a multiple of four,
// multiply matrices that lie in shared memory (wgmma): 64 rows by up to 256 columns, 16 terms at a
// time, while the threads go on. The results are those of mma.sync: of 64 rows a warp has 16.
// PTX ISA, section "Asynchronous Warpgroup Level Matrix Instructions".
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_WARP_GROUPS_H
#define KINTSUGI_TARGETS_NVIDIA_WARP_GROUPS_H

#include "targets/nvidia/matrix_units.h"

namespace kintsugi::targets {

class WarpGroups {
public:
  using Results = MatrixUnits::Results;

  /// How an operand lies: in lines of `pitch` bytes (32, 64 or 128), whose chunks of 16 bytes have
  /// turned places: in 1024 bytes, a chunk's number is that of its address xor the line's.
  struct Layout {
    int64_t pitch;
    bool alongDepth; ///< Lines are points with their terms; else terms with their points.
    int64_t apart;   ///< Bytes from a line to what of it does not fit into `pitch`.
  };
  /// One instruction: on which block of 64 rows, and how far the operands' starts are moved for it,
  /// in bytes.
  struct Product {
    unsigned block;
    int64_t rowsFurther, columnsFurther;
  };

  WarpGroups(mlir::OpBuilder &builder, mlir::Type element) : make(builder), element(element) {}

  /// The same in all threads of a warp, said so that the compiler knows.
  mlir::Value uniform(mlir::Value number);
  /// What this thread has stored or copied to shared memory is there for the units, after a wait.
  void publish();
  /// An operand (an i64) that starts at a place in shared memory.
  mlir::Value operandAt(mlir::Value shared, const Layout &layout);
  /// The same, an i32 in bytes further.
  mlir::Value moved(mlir::Value operand, mlir::Value bytes);
  /// Starts sums += rows x columns, as one group. `sums`: of each block, by eight columns.
  void multiply(llvm::MutableArrayRef<Results> sums, unsigned columns, mlir::Value rowsAt,
                const Layout &ofRows, mlir::Value columnsAt, const Layout &ofColumns,
                llvm::ArrayRef<Product> products);
  /// sums = rows x columns, done.
  void multiplyNow(llvm::MutableArrayRef<Results> sums, mlir::Value rowsAt, const Layout &ofRows,
                   mlir::Value columnsAt, const Layout &ofColumns,
                   llvm::ArrayRef<Product> products);
  /// sums += rows x columns, done, of rows that lie as results of 64 do: one fragment for each
  /// product, whose rowsFurther counts for nothing.
  void multiplyNow(llvm::MutableArrayRef<Results> sums, llvm::ArrayRef<MatrixUnits::Fragment> rows,
                   mlir::Value columnsAt, const Layout &ofColumns,
                   llvm::ArrayRef<Product> products);
  /// Until at most so many groups are under way.
  void waitForAllBut(unsigned groups);
  /// Until all are done, whose results these are.
  void finish(llvm::MutableArrayRef<Results> sums);

private:
  void run(const std::string &text);
  /// Text that changes the sums, the first of its numbered operands, and reads `operands`; or that
  /// sets them.
  void runOn(llvm::MutableArrayRef<Results> sums, const std::string &text,
             mlir::ValueRange operands, bool sets = false);
  /// An instruction's name, with its number of columns, and what follows its operands.
  std::string nameOf(unsigned columns) const;

  Emit make;
  mlir::Type element;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_WARP_GROUPS_H
