//===- constants.h - What is known when the model is compiled --------------===//
//
// Definitions that depend on constants alone are computed by the constant program; kernels of the
// main program may have such values in any order. Scans stay in the main program: their bodies are
// loops.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SPACE_CONSTANTS_H
#define KINTSUGI_SPACE_CONSTANTS_H

#include "te/program.h"

namespace kintsugi::space {

/// Which nodes depend on constants alone.
std::vector<bool> constantNodes(const te::Program &program);
/// Whether a value is a constant, or is defined by a node that depends on constants alone.
bool isConstant(const te::Program &program, const std::vector<bool> &constantNodes,
                te::ValueId value);

} // namespace kintsugi::space

#endif // KINTSUGI_SPACE_CONSTANTS_H
