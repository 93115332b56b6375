#include "te/constant_nodes.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

bool isConstant(const Program &program, const std::vector<bool> &constantNodes, ValueId id) {
  const Value &value = program.value(id);
  return value.kind == ValueKind::Constant ||
         (value.kind == ValueKind::Result && constantNodes[value.node]);
}

double bytesOfConstants(const Program &program) {
  double bytes = 0;
  for (const Value &value : program.values)
    if (value.kind == ValueKind::Constant)
      bytes += value.bytes();
  return bytes;
}

std::vector<bool> constantNodes(const Program &program) {
  std::vector<bool> constant(program.nodes.size(), false);
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    constant[node] = !std::holds_alternative<Scan>(program.nodes[node]) &&
                     llvm::all_of(program.operandsOf(node),
                                  [&](ValueId id) { return isConstant(program, constant, id); });
  return constant;
}

} // namespace kintsugi::te
