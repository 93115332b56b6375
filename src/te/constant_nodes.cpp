#include "te/constant_nodes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace kintsugi::te {

bool isConstant(const Program &program, const std::vector<bool> &constantNodes, ValueId id) {
  const Value &value = program.value(id);
  return value.kind == ValueKind::Constant ||
         (value.kind == ValueKind::Result && constantNodes[value.node]);
}

std::vector<bool> constantNodes(const Program &program) {
  std::vector<bool> constant(program.nodes.size(), false);
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    constant[node] = !std::holds_alternative<Scan>(program.nodes[node]) &&
                     llvm::all_of(program.operandsOf(node),
                                  [&](ValueId id) { return isConstant(program, constant, id); });
  return constant;
}

ConstantBytes bytesOfConstants(const Program &program) {
  const std::vector<bool> constant = constantNodes(program);
  ConstantBytes bytes;
  std::vector<bool> isCounted(program.numValues(), false);
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    if (constant[node])
      continue;
    bool isScan = std::holds_alternative<Scan>(program.nodes[node]);
    double ofScan = 0;
    for (ValueId operand : program.operandsOf(node)) {
      if (!isConstant(program, constant, operand))
        continue;
      double own = program.value(operand).bytes();
      if (isScan)
        ofScan += own;
      else if (!isCounted[operand.number])
        bytes.once += own;
      isCounted[operand.number] = isCounted[operand.number] || !isScan;
    }
    bytes.inSteps = std::max(bytes.inSteps, ofScan);
  }
  return bytes;
}

} // namespace kintsugi::te
