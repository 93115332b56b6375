//===- onnx_reader.h - Reads the ONNX file format ----------------------------===//
//
// A bounded reader of untrusted bytes: nesting, counts, ranks and every size are checked before
// they are used, and tensor contents are views into the given bytes. It knows the format, not the
// operators.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_ONNX_READER_H
#define KINTSUGI_IMPORT_ONNX_READER_H

#include "base/status.h"
#include "import/onnx_model.h"

namespace kintsugi::import {

/// What a file may ask for before it is refused.
struct ReaderLimits {
  unsigned depth = 32;         ///< Graphs inside graphs, sequences of sequences.
  uint64_t nodes = 2'000'000;  ///< In the whole file.
  uint64_t items = 20'000'000; ///< Attributes, tensors, value descriptions, names.
  unsigned rank = 64;
};

/// Reads a ModelProto. The model keeps `bytes.owner` alive where it refers to the bytes. Errors
/// name the initializer, node or attribute at fault, not the file.
Expected<Model> readOnnx(const Bytes &bytes, const ReaderLimits &limits = {});

/// Reads a lone TensorProto, as the official test data stores inputs and outputs.
Expected<TensorData> readOnnxTensor(const Bytes &bytes, const ReaderLimits &limits = {});

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_ONNX_READER_H
