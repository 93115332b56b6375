//===- node_error.h - What the importer says of one node ----------------------===//
#ifndef KINTSUGI_TEST_IMPORT_NODE_ERROR_H
#define KINTSUGI_TEST_IMPORT_NODE_ERROR_H

#include "import/import.h"

#include "proto_writer.h"

namespace kintsugi::import::test {

/// Element types by ONNX's numbers.
inline constexpr int f32 = 1, i32 = 6, i64 = 7, boolean = 9, f64 = 11;

/// An input of a node: fed, or with `values` a constant of i64 or of booleans.
struct Operand {
  int type;
  std::vector<std::string> dims;
  std::optional<std::vector<int64_t>> values = {};
};

/// An input that the node leaves out.
inline const Operand absent{0, {}};

inline Operand floats(std::vector<std::string> dims) { return {f32, std::move(dims)}; }

/// A constant list of i64.
inline Operand known(std::vector<int64_t> values) {
  return {i64, {std::to_string(values.size())}, values};
}

inline std::string initializer(const std::string &name, const Operand &operand) {
  std::string raw;
  for (int64_t value : *operand.values)
    if (operand.type == boolean)
      raw.push_back(static_cast<char>(value));
    else
      raw.append(reinterpret_cast<const char *>(&value), sizeof value);
  std::vector<int64_t> dims;
  for (const std::string &dim : operand.dims)
    dims.push_back(std::stoll(dim));
  return tensor(name, operand.type, dims, raw);
}

/// The reason why a node "n" of operands x0, x1, ... can't be imported, without its place; "" where
/// it can. Of its outputs the first, y, is the graph's.
inline std::string errorOf(const std::string &op, const std::vector<Operand> &operands,
                           const std::vector<std::string> &attributes = {}, int64_t opset = 26,
                           const std::string &domain = "",
                           std::vector<std::string> outputs = {"y"}) {
  GraphParts parts;
  std::vector<std::string> names;
  for (const Operand &operand : operands) {
    names.push_back(operand.type == absent.type ? "" : "x" + std::to_string(names.size()));
    if (names.back().empty())
      continue;
    if (operand.values)
      parts.initializers.push_back(initializer(names.back(), operand));
    else
      parts.inputs.push_back(valueInfo(names.back(), operand.type, operand.dims));
  }
  std::string output;
  Writer(output).add_string(1, "y");
  parts.outputs = {output};
  parts.nodes = {node(op, names, outputs, "n", attributes)};
  if (!domain.empty())
    Writer(parts.nodes[0]).add_string(7, domain);
  std::string bytes = model(graph(parts), opset);
  Diagnostics diagnostics;
  Expected<te::Program> program =
      importOnnx({nullptr, std::as_bytes(std::span(bytes))}, "m", "/nonexistent", {}, diagnostics);
  if (program.ok())
    return "";
  std::string operatorName = domain.empty() ? op : domain + "." + op;
  std::string place = "m: node 'n' (" + operatorName + "): ", message = program.error().message;
  return message.starts_with(place) ? message.substr(place.size()) : message;
}

inline std::string intsAttribute(const std::string &name, const std::vector<int64_t> &values) {
  return attribute(name, 7, [&](Writer &writer) {
    for (int64_t value : values)
      writer.add_int64(8, value);
  });
}

} // namespace kintsugi::import::test

#endif // KINTSUGI_TEST_IMPORT_NODE_ERROR_H
