//===- tensor_box.h - Reads as boxes of a tensor ----------------------------===//
//
// A read walks over memory as its nest's iterators and its tile's origins say, and may be zero
// where an index is outside of a range. Where each of its indices is a sum of multiples of these,
// it is a walk along dimensions whose ends are known, and what some of the iterators walk over is a
// box: a convolution's window and border need no arithmetic of their own.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_TENSOR_BOX_H
#define KINTSUGI_TARGETS_NVIDIA_TENSOR_BOX_H

#include "abi/tensor_map.h"
#include "tile/dialect.h"

namespace kintsugi::targets {

/// A sum of multiples of a nest's iterators and a tile's origins.
struct LinearForm {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;
  int64_t constant = 0;

  /// 0: it is no term.
  int64_t factorOf(mlir::Value value) const;
  void add(mlir::Value value, int64_t factor);
  bool operator==(const LinearForm &) const = default;
};

/// One of the dimensions that a read walks along.
struct WalkDimension {
  int64_t stride = 0, extent = 0; ///< In elements; what is outside of the extent reads as zero.
  LinearForm place;
};

struct Walk {
  int64_t start = 0; ///< Where all dimensions are at 0, in elements.
  llvm::SmallVector<WalkDimension> dimensions;
};

/// nullopt: it is no such walk.
std::optional<Walk> walkOf(tile::ReadOp read);

/// An iterator that moves along a box, and by how many of its points.
struct BoxAxis {
  mlir::Value iterator;
  int64_t count;
};

struct TensorBox {
  KinTensorMap map;                     ///< But for the operand.
  llvm::SmallVector<LinearForm> places; ///< By dimension, the fastest first: where the box starts.
  int64_t bytes;
};

/// The box in which the first of `axes` moves fastest, from element to element of a line of
/// `lineBytes`, then the second, and so on. nullopt: the engine has no such boxes.
std::optional<TensorBox> boxOf(const Walk &walk, llvm::ArrayRef<BoxAxis> axes, int64_t lineBytes);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_TENSOR_BOX_H
