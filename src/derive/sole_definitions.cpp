#include "derive/sole_definitions.h"

namespace kintsugi::derive {

using namespace te;

SoleDefinitions::SoleDefinitions(const Program &program, const std::vector<bool> &constant)
    : program(program), constant(constant), readers(program.numValues(), 0) {
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    for (ValueId operand : program.operandsOf(node))
      ++readers[operand.number];
  for (const Program::Output &output : program.outputs)
    ++readers[output.value.number];
}

const Definition *SoleDefinitions::at(ValueId id) const {
  constexpr ElementType real = ElementType::F32;
  const Definition *definition = program.definitionOf(id);
  bool isSole = definition && definition->bodies.size() == 1 && readers[id.number] == 1 &&
                program.value(id).type == real && definition->bodies[0].type() == real &&
                !constant[program.value(id).node];
  return isSole ? definition : nullptr;
}

bool SoleDefinitions::isMap(ValueId id) const {
  const Definition *definition = at(id);
  return definition && !definition->reduction;
}

} // namespace kintsugi::derive
