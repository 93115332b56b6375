#include "space/lone_group.h"

#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::space {

using namespace te;

LoneGroup loneGroupOf(const Program &program, const loops::Group &group, const GroupKey &key) {
  Subprogram part(program,
                  [&](ValueId id) { return program.value(id).kind == ValueKind::Constant; });
  LoneGroup result;
  result.key.text = key.text;
  // The key names what a definition reads before its results, and results in their order.
  for (ValueId id : key.values) {
    const Value &value = program.value(id);
    bool isInside = value.kind == ValueKind::Result && llvm::is_contained(group.nodes, value.node);
    if (isInside && value.result == 0) {
      part.copy(value.node);
      result.group.nodes.push_back(part.program.nodes.size() - 1);
    }
    result.key.values.push_back(part[id]);
    assert(result.key.values.back().number + 1 == result.key.values.size() &&
           "values are numbered in the order of the key");
  }
  for (ValueId id : group.outputs)
    result.group.outputs.push_back(part[id]);
  for (ValueId id : group.constants)
    result.group.constants.push_back(part[id]);
  result.group.open = group.open;
  result.program = std::move(part.program);
  return result;
}

} // namespace kintsugi::space
