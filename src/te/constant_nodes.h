//===- constant_nodes.h - What is known when the model is compiled ---------===//
//
// Definitions that depend on constants alone are computed by the constant program; kernels of the
// main program may have such values in any order. Scans stay in the main program: their bodies are
// loops.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_CONSTANT_NODES_H
#define KINTSUGI_TE_CONSTANT_NODES_H

#include "te/program.h"

namespace kintsugi::te {

/// Which nodes depend on constants alone.
std::vector<bool> constantNodes(const Program &program);
/// Whether a value is a constant, or is defined by a node that depends on constants alone.
bool isConstant(const Program &program, const std::vector<bool> &constantNodes, ValueId value);
/// Bytes of constants, and of what depends on them alone, that other nodes read.
struct ConstantBytes {
  double once = 0;    ///< By what a run computes once.
  double inSteps = 0; ///< By the scan that reads the most of them, in each of its steps.
};
ConstantBytes bytesOfConstants(const Program &program);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_CONSTANT_NODES_H
