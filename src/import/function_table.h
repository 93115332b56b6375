//===- function_table.h - The functions of a model by name ------------------===//
#ifndef KINTSUGI_IMPORT_FUNCTION_TABLE_H
#define KINTSUGI_IMPORT_FUNCTION_TABLE_H

#include "import/onnx_model.h"

#include <map>
#include <string_view>
#include <tuple>

namespace kintsugi::import {

/// Of a model that outlives it. Nodes ask for each call, and a file may have millions of both.
class FunctionTable {
public:
  explicit FunctionTable(const Model &model);
  /// The function that a node calls, or null.
  const Function *find(const Node &node) const;

private:
  /// Domain, name and overload.
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const Function *> all;
};

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_FUNCTION_TABLE_H
