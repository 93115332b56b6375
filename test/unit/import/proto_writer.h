//===- proto_writer.h - Writes small ONNX files for tests --------------------===//
//
// Just enough of ONNX's messages to make models, right ones and wrong ones. Field numbers are those
// of onnx.proto.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_IMPORT_PROTO_WRITER_H
#define KINTSUGI_TEST_IMPORT_PROTO_WRITER_H

#include <protozero/pbf_writer.hpp>

#include <string>
#include <vector>

namespace kintsugi::import::test {

using Writer = protozero::pbf_writer;

inline std::string tensor(const std::string &name, int type, std::vector<int64_t> dims,
                          const std::string &raw) {
  std::string out;
  Writer writer(out);
  for (int64_t extent : dims)
    writer.add_int64(1, extent);
  writer.add_int32(2, type);
  writer.add_string(8, name);
  writer.add_bytes(9, raw);
  return out;
}

inline std::string externalTensor(const std::string &name, std::vector<int64_t> dims,
                                  const std::vector<std::pair<std::string, std::string>> &entries) {
  std::string out;
  Writer writer(out);
  for (int64_t extent : dims)
    writer.add_int64(1, extent);
  writer.add_int32(2, 1);
  writer.add_string(8, name);
  for (const auto &[key, value] : entries) {
    Writer entry(writer, 13);
    entry.add_string(1, key);
    entry.add_string(2, value);
  }
  writer.add_int32(14, 1);
  return out;
}

inline std::string node(const std::string &op, std::vector<std::string> inputs,
                        std::vector<std::string> outputs, const std::string &name = "",
                        const std::vector<std::string> &attributes = {}) {
  std::string out;
  Writer writer(out);
  for (const std::string &input : inputs)
    writer.add_string(1, input);
  for (const std::string &output : outputs)
    writer.add_string(2, output);
  writer.add_string(3, name);
  writer.add_string(4, op);
  for (const std::string &attribute : attributes)
    writer.add_message(5, attribute);
  return out;
}

/// `type` is the number that the field of the value has in AttributeProto's list of types.
template <typename AddValue>
std::string attribute(const std::string &name, int type, AddValue addValue) {
  std::string out;
  Writer writer(out);
  writer.add_string(1, name);
  addValue(writer);
  writer.add_int32(20, type);
  return out;
}

inline std::string intAttribute(const std::string &name, int64_t value) {
  return attribute(name, 2, [&](Writer &writer) { writer.add_int64(3, value); });
}

inline std::string textAttribute(const std::string &name, const std::string &value) {
  return attribute(name, 3, [&](Writer &writer) { writer.add_string(4, value); });
}

inline std::string graphAttribute(const std::string &name, const std::string &graph) {
  return attribute(name, 5, [&](Writer &writer) { writer.add_message(6, graph); });
}

/// A dimension that starts with a digit is a number, another a name.
inline std::string valueInfo(const std::string &name, int type, std::vector<std::string> dims) {
  std::string out;
  Writer writer(out);
  writer.add_string(1, name);
  Writer outer(writer, 2);
  Writer inner(outer, 1);
  inner.add_int32(1, type);
  Writer shape(inner, 2);
  for (const std::string &dim : dims) {
    Writer dimension(shape, 1);
    if (!dim.empty() && isdigit(dim[0]))
      dimension.add_int64(1, std::stoll(dim));
    else
      dimension.add_string(2, dim);
  }
  return out;
}

struct GraphParts {
  std::vector<std::string> nodes, initializers, inputs, outputs, values = {};
};

inline std::string graph(const GraphParts &parts) {
  std::string out;
  Writer writer(out);
  for (const std::string &one : parts.nodes)
    writer.add_message(1, one);
  writer.add_string(2, "g");
  for (const std::string &one : parts.initializers)
    writer.add_message(5, one);
  for (const std::string &one : parts.inputs)
    writer.add_message(11, one);
  for (const std::string &one : parts.outputs)
    writer.add_message(12, one);
  for (const std::string &one : parts.values)
    writer.add_message(13, one);
  return out;
}

/// Of the domain "local".
inline std::string function(const std::string &name, std::vector<std::string> inputs,
                            std::vector<std::string> outputs,
                            const std::vector<std::string> &nodes) {
  std::string out;
  Writer writer(out);
  writer.add_string(1, name);
  for (const std::string &input : inputs)
    writer.add_string(4, input);
  for (const std::string &output : outputs)
    writer.add_string(5, output);
  for (const std::string &one : nodes)
    writer.add_message(7, one);
  writer.add_string(10, "local");
  return out;
}

/// The node with the domain "local".
inline std::string localNode(std::string nodeBytes) {
  Writer(nodeBytes).add_string(7, "local");
  return nodeBytes;
}

inline std::string model(const std::string &graphBytes, int64_t opset = 20,
                         const std::vector<std::string> &functions = {}, int64_t irVersion = 8) {
  std::string out;
  Writer writer(out);
  writer.add_int64(1, irVersion);
  writer.add_message(7, graphBytes);
  {
    Writer import(writer, 8);
    import.add_string(1, "");
    import.add_int64(2, opset);
  }
  if (!functions.empty()) {
    Writer import(writer, 8);
    import.add_string(1, "local");
    import.add_int64(2, 1);
  }
  for (const std::string &one : functions)
    writer.add_message(25, one);
  return out;
}

} // namespace kintsugi::import::test

#endif // KINTSUGI_TEST_IMPORT_PROTO_WRITER_H
