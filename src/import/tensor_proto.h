//===- tensor_proto.h - One tensor of an ONNX file ---------------------------===//
//
// A TensorProto stores its elements as raw bytes, in one of several typed lists, or in another
// file. All become dense little-endian bytes of exactly the tensor's size.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_TENSOR_PROTO_H
#define KINTSUGI_IMPORT_TENSOR_PROTO_H

#include "base/status.h"
#include "import/onnx_model.h"
#include "import/wire_reader.h"

namespace kintsugi::import {

/// Reads a TensorProto; raw contents stay views into `message`, kept alive by `owner`. Errors where
/// the type is unknown, the rank is above `maxRank`, an extent is negative, the size overflows, or
/// the contents are not of that size. Malformed wire data is left to `wire`. `where` opens each
/// message.
Expected<TensorData> readTensorProto(std::span<const std::byte> message,
                                     std::shared_ptr<const void> owner, const std::string &where,
                                     unsigned maxRank, WireState &wire);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_TENSOR_PROTO_H
