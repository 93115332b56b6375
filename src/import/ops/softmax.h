//===- softmax.h - Softmax for other operators --------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_SOFTMAX_H
#define KINTSUGI_IMPORT_OPS_SOFTMAX_H

#include "import/builder.h"

namespace kintsugi::import {

/// The logarithm of the softmax of floats along one dimension, whose elements are computed in the
/// accumulator's type and stored as `stored`.
ValueId logSoftmaxAlong(Builder &b, const std::string &name, ValueId x, unsigned axis,
                        ElementType stored);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_SOFTMAX_H
