//===- bulk_copies.h - What the bulk tensor engine of sm_90 does ------------===//
//
// The instructions by which one thread has a box of a tensor brought to shared memory while all go
// on (cp.async.bulk.tensor), and by which threads learn that bytes have come (mbarrier). PTX ISA,
// sections "Data Movement and Conversion Instructions: Tensor copy" and "Parallel Synchronization
// and Communication Instructions: mbarrier".
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_BULK_COPIES_H
#define KINTSUGI_TARGETS_NVIDIA_BULK_COPIES_H

#include "abi/tensor_map.h"
#include "targets/emit.h"

namespace kintsugi::targets {

/// What an entry of code has for copies in bulk.
class BulkResources {
public:
  virtual ~BulkResources() = default;

  /// Pointers to the encoded maps of the kernel's buffers number `operand`; none: there are not for
  /// all.
  virtual llvm::SmallVector<mlir::Value> mapsOf(llvm::ArrayRef<KinTensorMap> maps) = 0;
  /// A pointer to shared memory with so many arrivals, which nothing else uses; they have been
  /// started.
  virtual mlir::Value arrivals(int64_t count) = 0;
};

/// An arrival is a place of 8 bytes in shared memory that counts the bytes that are to come. It
/// goes from phase to phase, whose parities are 0, 1, 0, ...
class BulkCopies {
public:
  static constexpr int64_t arrivalBytes = 8;

  explicit BulkCopies(mlir::OpBuilder &builder) : make(builder) {}

  /// Starts arrivals at their first phase: for the thread that asks for what they count, ahead of a
  /// wait of all. `again`: they were in use.
  void start(mlir::Value arrivals, int64_t count, bool again);
  /// Has a map brought near.
  void askFor(mlir::Value map);
  /// So many bytes are all that the phase waits for.
  void expect(mlir::Value arrival, int64_t bytes);
  /// Starts a copy of a box, whose coordinates are i32, the fastest dimension's first.
  void copy(mlir::Value shared, mlir::Value map, llvm::ArrayRef<mlir::Value> coordinates,
            mlir::Value arrival);
  /// Until the phase of a parity, an i32, has ended.
  void waitFor(mlir::Value arrival, mlir::Value parity);

private:
  mlir::Value address(mlir::Value shared);
  void run(const std::string &text, const char *constraints, mlir::ValueRange operands);

  Emit make;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_BULK_COPIES_H
