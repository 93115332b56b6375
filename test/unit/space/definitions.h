//===- definitions.h - What the tests of spaces share ------------------------===//
#ifndef KINTSUGI_TEST_UNIT_SPACE_DEFINITIONS_H
#define KINTSUGI_TEST_UNIT_SPACE_DEFINITIONS_H

#include "te/program.h"

namespace kintsugi::space {

inline llvm::SmallVector<uint32_t> definitionsOf(const te::Program &program) {
  llvm::SmallVector<uint32_t> nodes;
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    if (std::holds_alternative<te::Definition>(program.nodes[node]))
      nodes.push_back(node);
  return nodes;
}

} // namespace kintsugi::space

#endif // KINTSUGI_TEST_UNIT_SPACE_DEFINITIONS_H
