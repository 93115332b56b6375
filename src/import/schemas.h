//===- schemas.h - What nodes of ONNX's operators have -----------------------===//
//
// How many inputs and outputs a node of an operator has, and which attributes, as ONNX says of each
// version (schemas.inc). It is checked here for all operators, so that the functions that import
// them meet no other node.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_SCHEMAS_H
#define KINTSUGI_IMPORT_SCHEMAS_H

#include "base/status.h"
#include "import/onnx_model.h"

namespace kintsugi::import {

/// An error where a node of ONNX's own operators (version `opset` of them) has too few or too many
/// inputs or outputs, an attribute twice or one that the operator does not know, or lacks one.
/// Operators that ONNX does not know pass.
Status checkAgainstSchema(const Node &node, int64_t opset);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_SCHEMAS_H
