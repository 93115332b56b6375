#include "import/function_table.h"

namespace kintsugi::import {

FunctionTable::FunctionTable(const Model &model) {
  for (const Function &function : model.functions)
    all.try_emplace({function.domain, function.name, function.overload}, &function);
}

const Function *FunctionTable::find(const Node &node) const {
  auto found = all.find({node.domain, node.op, node.overload});
  return found == all.end() ? nullptr : found->second;
}

} // namespace kintsugi::import
