//===- softmax.h - Softmax for other operators --------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_SOFTMAX_H
#define KINTSUGI_IMPORT_OPS_SOFTMAX_H

#include "import/builder.h"

#include <functional>

namespace kintsugi::import {

struct Softmax {
  ValueId result;
  ValueId greatest; ///< The greatest of the elements that a sum of exponentials is of.
};

/// The softmax of floats along one dimension, computed in the accumulator's type. Its elements are
/// stored as `stored`, to which only what is in memory is rounded. `sink` is one more element of
/// each row, by the other dimensions, that the sums have and the result has not; it may be empty.
Softmax softmaxAlong(Builder &b, const std::string &name, ValueId x, unsigned axis,
                     ElementType stored, const std::function<Expr(Indices)> &sink = {});

/// The logarithm of the softmax of floats along one dimension, whose elements are computed in the
/// accumulator's type and stored as `stored`.
ValueId logSoftmaxAlong(Builder &b, const std::string &name, ValueId x, unsigned axis,
                        ElementType stored);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_SOFTMAX_H
