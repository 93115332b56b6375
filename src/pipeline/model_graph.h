//===- model_graph.h - A model's nodes, as they stand in its file -----------===//
//
// For whoever shows what became of a model: its nodes under the names by which kernels, profiles
// and messages know them, and what they read of each other.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_PIPELINE_MODEL_GRAPH_H
#define KINTSUGI_PIPELINE_MODEL_GRAPH_H

#include "pipeline/pipeline.h"

namespace kintsugi::pipeline {

/// {"nodes": [{"name", "op", "reads": [numbers of nodes], "outputs": [names], "holds": [names of
/// nodes in its bodies]}], "left_out": number}: the nodes of an ONNX file's own graph in its order,
/// or the definitions of a .te file. What a function holds goes by the name of the node that calls
/// it with "/" behind. Of nodes beyond a limit there is the number alone.
Expected<Json> describeGraph(const std::string &path, const CompileOptions &options,
                             Diagnostics &diagnostics);

} // namespace kintsugi::pipeline

#endif // KINTSUGI_PIPELINE_MODEL_GRAPH_H
