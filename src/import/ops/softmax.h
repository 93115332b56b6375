//===- softmax.h - Softmax for other operators --------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_SOFTMAX_H
#define KINTSUGI_IMPORT_OPS_SOFTMAX_H

#include "import/builder.h"

namespace kintsugi::import {

struct Softmax {
  ValueId result;
  ValueId greatest; ///< The greatest of the elements that a sum of exponentials is of.
  ValueId sum;      ///< Of the exponentials of what elements have less than the greatest.
};

/// The softmax of floats along one dimension, computed in the accumulator's type. Its elements are
/// stored as `stored`, to which only what is in memory is rounded.
Softmax softmaxAlong(Builder &b, const std::string &name, ValueId x, unsigned axis,
                     ElementType stored);

/// The logarithm of the softmax of floats along one dimension, whose elements are computed in the
/// accumulator's type and stored as `stored`.
ValueId logSoftmaxAlong(Builder &b, const std::string &name, ValueId x, unsigned axis,
                        ElementType stored);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_SOFTMAX_H
