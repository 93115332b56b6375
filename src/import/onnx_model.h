//===- onnx_model.h - An ONNX file as plain structs --------------------------===//
//
// What the reader hands to the importer: the parts of ONNX's ModelProto that decide what a model
// computes, with sizes already checked. Tensor contents stay in the mapped file until someone asks
// for them. Documentation strings of parts, training information and device placements are left
// out.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_ONNX_MODEL_H
#define KINTSUGI_IMPORT_ONNX_MODEL_H

#include "base/element_type.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kintsugi::import {

/// Bytes together with what keeps them alive (a mapped file, a buffer).
struct Bytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> view;

  /// Part of these bytes; the range must lie inside them.
  Bytes slice(size_t offset, size_t length) const { return {owner, view.subspan(offset, length)}; }
};

/// Where a tensor's contents stand in another file, as the model claims: nothing is checked yet.
struct ExternalRange {
  std::string location; ///< Relative to the model's folder.
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

struct TensorData {
  std::string name;
  ElementType type = ElementType::Invalid;
  std::vector<int64_t> dims; ///< Each at least 0; their product fits.
  uint64_t byteCount = 0;    ///< Of the dense row-major tensor; 0 for strings.
  Bytes bytes;               ///< `byteCount` bytes, unless the tensor is external or of strings.
  std::optional<ExternalRange> external;
  std::vector<std::string> strings; ///< One for each element of a tensor of strings.
};

/// Values at coordinates; everything else is zero.
struct SparseTensor {
  TensorData values;
  TensorData indices;
  std::vector<int64_t> dims;
};

struct Dimension {
  std::optional<int64_t> value; ///< At least 0.
  std::string name;             ///< May be empty; then the dimension is unknown.
};

enum class TypeKind : uint8_t { Unknown, Tensor, Sequence, Optional, Map, SparseTensor, Opaque };

struct ValueInfo {
  std::string name;
  TypeKind kind = TypeKind::Unknown;
  ElementType element = ElementType::Invalid; ///< Of the tensor, or of a sequence's tensors.
  std::optional<std::vector<Dimension>> shape;
};

struct Graph;

/// The numbers are ONNX's AttributeProto.AttributeType.
enum class AttributeKind : uint8_t {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  Type = 13,
  Types = 14,
};

struct Attribute {
  std::string name;
  AttributeKind kind = AttributeKind::Undefined;
  std::string reference; ///< In a function: the function's attribute that stands here.
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::shared_ptr<const TensorData> tensor;
  std::shared_ptr<const SparseTensor> sparse;
  std::shared_ptr<const Graph> graph;
};

struct Node {
  std::string name; ///< May be empty.
  std::string op;
  std::string domain; ///< Empty for ONNX's own; "ai.onnx" is read as empty.
  std::string overload;
  std::vector<std::string> inputs; ///< An empty name is an input that is left out.
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes;

  const Attribute *attribute(std::string_view attributeName) const {
    for (const Attribute &candidate : attributes)
      if (candidate.name == attributeName)
        return &candidate;
    return nullptr;
  }
};

struct SparseInitializer {
  std::string name;
  SparseTensor tensor;
};

struct Graph {
  std::string name;
  std::string description;
  std::vector<Node> nodes;
  std::vector<TensorData> initializers;
  std::vector<SparseInitializer> sparseInitializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> values; ///< What it says of values between its nodes.
};

struct OpsetImport {
  std::string domain; ///< As Node::domain.
  int64_t version = 0;
};

struct Function {
  std::string name;
  std::string domain;
  std::string overload;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributeNames;  ///< Without a default.
  std::vector<Attribute> attributeDefaults; ///< With one.
  std::vector<Node> nodes;
  std::vector<OpsetImport> opsets;
};

/// What a model says of itself, which changes nothing of what it computes.
struct Metadata {
  std::string producer;
  std::string domain;
  std::string description;
  int64_t version = 0;
  std::map<std::string, std::string> properties;
};

struct Model {
  int64_t irVersion = 0;
  Metadata metadata;
  std::vector<OpsetImport> opsets;
  Graph graph;
  std::vector<Function> functions;
};

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_ONNX_MODEL_H
