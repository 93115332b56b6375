//===- matmul.h - Products of matrices for other operators --------------------===//
#ifndef KINTSUGI_IMPORT_OPS_MATMUL_H
#define KINTSUGI_IMPORT_OPS_MATMUL_H

#include "import/op_context.h"

namespace kintsugi::import {

/// The product over the last two dimensions, of the type of `a`, which `b` has too; the dimensions
/// before broadcast. A vector on the left is a row, on the right a column, and that dimension is
/// dropped from the result.
Expected<ValueId> matrixProduct(OpContext &c, std::string name, ValueId a, ValueId b);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_MATMUL_H
