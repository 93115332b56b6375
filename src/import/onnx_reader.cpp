//===- onnx_reader.cpp - Reads the ONNX file format --------------------------===//
//
// Field numbers are those of onnx.proto (https://github.com/onnx/onnx, IR version 14).
//
//===----------------------------------------------------------------------===//

#include "import/onnx_reader.h"

#include "import/tensor_proto.h"
#include "import/wire_reader.h"

namespace kintsugi::import {
namespace {

/// "ai.onnx" is another spelling of the default domain.
std::string normalizedDomain(std::string domain) { return domain == "ai.onnx" ? "" : domain; }

class OnnxReader {
public:
  OnnxReader(const Bytes &bytes, const ReaderLimits &limits) : file(bytes), limits(limits) {}

  Expected<Model> model() {
    Model model;
    bool hasGraph = false;
    WireReader reader(file.view, wire);
    for (WireField field; problem.ok() && reader.next(field);) {
      switch (field.number) {
      case 1:
        model.irVersion = reader.integer(field);
        break;
      case 2:
        model.metadata.producer = reader.text(field);
        break;
      case 4:
        model.metadata.domain = reader.text(field);
        break;
      case 5:
        model.metadata.version = reader.integer(field);
        break;
      case 6:
        model.metadata.description = reader.text(field);
        break;
      case 7:
        hasGraph = true;
        graph(reader.message(field), model.graph, 0);
        break;
      case 8:
        model.opsets.push_back(opset(reader.message(field)));
        break;
      case 14:
        property(reader.message(field), model.metadata.properties);
        break;
      case 25:
        function(reader.message(field), model.functions.emplace_back());
        break;
      }
    }
    KINTSUGI_RETURN_IF_ERROR(outcome("model"));
    if (!hasGraph)
      return inputError("there is no graph in it; is this an ONNX model?");
    return model;
  }

  Expected<TensorData> loneTensor() {
    TensorData result;
    tensor(file.view, result, "tensor");
    KINTSUGI_RETURN_IF_ERROR(outcome("tensor"));
    return result;
  }

private:
  using Span = std::span<const std::byte>;

  Status outcome(const char *what) {
    KINTSUGI_RETURN_IF_ERROR(std::move(problem));
    if (wire.tooLarge)
      return inputError(std::string("not a valid ONNX ") + what +
                        ": a field of it has 4 GiB or more, protocol buffers are smaller than 2 "
                        "GiB; save its weights as external data");
    if (wire.malformed)
      return inputError(std::string("not a valid ONNX ") + what +
                        " (the protocol buffer is malformed or cut short)");
    return Status::success();
  }

  void fail(std::string message) {
    if (problem.ok())
      problem = inputError(std::move(message));
  }

  /// Counts something that the file makes us allocate; false once there is too much of it.
  bool count(uint64_t &counter, uint64_t limit, const char *what) {
    if (++counter <= limit)
      return problem.ok();
    fail("more than " + std::to_string(limit) + " " + what + " in one model");
    return false;
  }
  bool countItem() { return count(items, limits.items, "attributes, tensors and names"); }

  void property(Span message, std::map<std::string, std::string> &properties) {
    std::string key, value;
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      if (field.number == 1)
        key = reader.text(field);
      else if (field.number == 2)
        value = reader.text(field);
    }
    properties[key] = value;
  }

  OpsetImport opset(Span message) {
    OpsetImport result;
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      if (field.number == 1)
        result.domain = normalizedDomain(reader.text(field));
      else if (field.number == 2)
        result.version = reader.integer(field);
    }
    return result;
  }

  void tensor(Span message, TensorData &result, const std::string &where) {
    if (!countItem())
      return;
    Expected<TensorData> read = readTensorProto(message, file.owner, where, limits.rank, wire);
    if (!read.ok())
      return fail(read.error().message);
    result = std::move(*read);
  }

  void sparseTensor(Span message, SparseTensor &result, const std::string &where) {
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      if (field.number == 1)
        tensor(reader.message(field), result.values, where);
      else if (field.number == 2)
        tensor(reader.message(field), result.indices, where);
      else if (field.number == 3)
        reader.appendIntegers(field, result.dims);
    }
  }

  Dimension dimension(Span message) {
    Dimension result;
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      if (field.number == 1)
        result.value = reader.integer(field);
      else if (field.number == 2)
        result.name = reader.text(field);
    }
    if (result.value && *result.value < 0) // How some exporters write an unknown extent.
      result.value.reset();
    return result;
  }

  void tensorType(Span message, ValueInfo &info) {
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      if (field.number == 1) {
        info.element = elementTypeFromOnnx(static_cast<int32_t>(reader.integer(field)))
                           .value_or(ElementType::Invalid);
      } else if (field.number == 2) {
        info.shape.emplace();
        WireReader shape(reader.message(field), wire);
        for (WireField part; problem.ok() && shape.next(part);)
          if (part.number == 1)
            info.shape->push_back(dimension(shape.message(part)));
        if (info.shape->size() > limits.rank)
          fail("value '" + info.name + "' has more than " + std::to_string(limits.rank) +
               " dimensions");
      }
    }
  }

  /// A TypeProto. A sequence or an optional keeps the type of its elements in `element`, `shape`.
  void type(Span message, ValueInfo &info, unsigned depth) {
    if (depth > limits.depth)
      return fail("types are nested more than " + std::to_string(limits.depth) + " deep");
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      switch (field.number) {
      case 1:
      case 8:
        info.kind = field.number == 1 ? TypeKind::Tensor : TypeKind::SparseTensor;
        tensorType(reader.message(field), info);
        break;
      case 4:
      case 9: {
        WireReader inner(reader.message(field), wire);
        for (WireField part; problem.ok() && inner.next(part);)
          if (part.number == 1)
            type(inner.message(part), info, depth + 1);
        info.kind = field.number == 4 ? TypeKind::Sequence : TypeKind::Optional;
        break;
      }
      case 5:
        info.kind = TypeKind::Map;
        break;
      case 7:
        info.kind = TypeKind::Opaque;
        break;
      }
    }
  }

  ValueInfo valueInfo(Span message) {
    ValueInfo result;
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      if (field.number == 1)
        result.name = reader.text(field);
      else if (field.number == 2)
        type(reader.message(field), result, 0);
    }
    return result;
  }

  void attribute(Span message, Attribute &result, const std::string &node, unsigned depth) {
    auto where = [&] { return node + ": attribute '" + result.name + "'"; };
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      switch (field.number) {
      case 1:
        result.name = reader.text(field);
        break;
      case 2:
        result.f = reader.float32(field);
        break;
      case 3:
        result.i = reader.integer(field);
        break;
      case 4:
        result.s = reader.text(field);
        break;
      case 5: {
        auto value = std::make_shared<TensorData>();
        tensor(reader.message(field), *value, where());
        result.tensor = value;
        break;
      }
      case 6: {
        auto value = std::make_shared<Graph>();
        graph(reader.message(field), *value, depth + 1);
        result.graph = value;
        break;
      }
      case 7:
        reader.appendFloats(field, result.floats);
        break;
      case 8:
        reader.appendIntegers(field, result.ints);
        break;
      case 9:
        result.strings.push_back(reader.text(field));
        break;
      case 20:
        result.kind = static_cast<AttributeKind>(reader.integer(field));
        break;
      case 21:
        result.reference = reader.text(field);
        break;
      case 22: {
        auto value = std::make_shared<SparseTensor>();
        sparseTensor(reader.message(field), *value, where());
        result.sparse = value;
        break;
      }
      }
    }
  }

  void node(Span message, Node &result, unsigned depth) {
    if (!count(nodes, limits.nodes, "nodes"))
      return;
    std::vector<Span> attributes; // Read last, so that errors in them can name the node.
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      switch (field.number) {
      case 1:
        result.inputs.push_back(reader.text(field));
        break;
      case 2:
        result.outputs.push_back(reader.text(field));
        break;
      case 3:
        result.name = reader.text(field);
        break;
      case 4:
        result.op = reader.text(field);
        break;
      case 5:
        attributes.push_back(reader.message(field));
        break;
      case 7:
        result.domain = normalizedDomain(reader.text(field));
        break;
      case 8:
        result.overload = reader.text(field);
        break;
      }
    }
    std::string where = "node '" + result.name + "' (" + result.op + ")";
    for (Span bytes : attributes)
      attribute(bytes, result.attributes.emplace_back(), where, depth);
  }

  void graph(Span message, Graph &result, unsigned depth) {
    if (depth > limits.depth)
      return fail("graphs are nested more than " + std::to_string(limits.depth) + " deep");
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      switch (field.number) {
      case 1:
        node(reader.message(field), result.nodes.emplace_back(), depth);
        break;
      case 2:
        result.name = reader.text(field);
        break;
      case 10:
        result.description = reader.text(field);
        break;
      case 5:
        tensor(reader.message(field), result.initializers.emplace_back(), "initializer");
        break;
      case 11:
        result.inputs.push_back(valueInfo(reader.message(field)));
        break;
      case 12:
        result.outputs.push_back(valueInfo(reader.message(field)));
        break;
      case 13:
        result.values.push_back(valueInfo(reader.message(field)));
        break;
      case 15: {
        SparseInitializer &sparse = result.sparseInitializers.emplace_back();
        sparseTensor(reader.message(field), sparse.tensor, "sparse initializer");
        sparse.name = sparse.tensor.values.name;
        break;
      }
      }
    }
  }

  void function(Span message, Function &result) {
    WireReader reader(message, wire);
    for (WireField field; countItem() && reader.next(field);) {
      switch (field.number) {
      case 1:
        result.name = reader.text(field);
        break;
      case 4:
        result.inputs.push_back(reader.text(field));
        break;
      case 5:
        result.outputs.push_back(reader.text(field));
        break;
      case 6:
        result.attributeNames.push_back(reader.text(field));
        break;
      case 7:
        node(reader.message(field), result.nodes.emplace_back(), 0);
        break;
      case 9:
        result.opsets.push_back(opset(reader.message(field)));
        break;
      case 10:
        result.domain = normalizedDomain(reader.text(field));
        break;
      case 11:
        attribute(reader.message(field), result.attributeDefaults.emplace_back(),
                  "function '" + result.name + "'", 0);
        break;
      case 13:
        result.overload = reader.text(field);
        break;
      }
    }
  }

  const Bytes &file;
  const ReaderLimits &limits;
  WireState wire;
  Status problem;
  uint64_t nodes = 0, items = 0;
};

} // namespace

Expected<Model> readOnnx(const Bytes &bytes, const ReaderLimits &limits) {
  return OnnxReader(bytes, limits).model();
}

Expected<TensorData> readOnnxTensor(const Bytes &bytes, const ReaderLimits &limits) {
  return OnnxReader(bytes, limits).loneTensor();
}

} // namespace kintsugi::import
