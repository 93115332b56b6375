//===- strided_sum.h - Sums of products that meet now and then --------------===//
//
// A transposed convolution as it is defined, where h is a place of the result, r a tap, and p a
// padding that both strides and dilations know:
//
//     y[.., h, ..] = sum[.., r, ..] cases { {(h - d*r + p) % s} == 0:
//                                             (x[.., (h - d*r + p) // s, ..] | 0) * k[.., r, ..];
//                                           else: 0 }
//
// It is recognized from the indices alone, whatever operator it came from: the condition may stand
// before the product or before a factor, or in the definition of a value that has zeros between
// its elements.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_STRIDED_SUM_H
#define KINTSUGI_DERIVE_STRIDED_SUM_H

#include "te/program.h"

namespace kintsugi::derive {

/// A dimension of the input that is read at (output + step * tap + offset) / stride, where that is
/// a whole number; where it is none, terms are zero.
struct Stride {
  int output; ///< A parallel iterator, which nothing else uses; -1: there is one place alone.
  int tap;    ///< A reduction's iterator, which only the kernel uses as well; -1: there is one tap.
  unsigned dimension;
  int64_t stride, step, offset;
};

struct StridedSum {
  te::Expr input, kernel; ///< The factors. The input is a read behind casts, zero outside.
  bool inputFirst;        ///< Which one stands left.
  bool timesZeros;        ///< Whether what meets nothing is written as the kernel times zero.
  llvm::SmallVector<Stride, 3> strides;

  const te::Expr &inputRead() const;
};

/// nullopt where a definition is none, or one of no stride.
std::optional<StridedSum> findStridedSum(const te::Program &program,
                                         const te::Definition &definition);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_STRIDED_SUM_H
