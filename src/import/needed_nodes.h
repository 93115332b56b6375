//===- needed_nodes.h - The nodes that a graph's outputs need ----------------===//
#ifndef KINTSUGI_IMPORT_NEEDED_NODES_H
#define KINTSUGI_IMPORT_NEEDED_NODES_H

#include "import/onnx_model.h"

namespace kintsugi::import {

/// For each of the nodes of a graph or function, in order of execution, whether anything that ends
/// in one of the outputs reads it. Graphs inside of nodes count with all that they name.
std::vector<bool> neededNodes(const std::vector<Node> &nodes,
                              const std::vector<std::string> &outputs);

/// The names of a graph's outputs.
std::vector<std::string> outputNames(const Graph &graph);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_NEEDED_NODES_H
