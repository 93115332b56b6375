#include "pipeline/external_files.h"

namespace kintsugi::pipeline {

namespace {

class ExternalFiles {
public:
  void visit(const import::Model &model) {
    visit(model.graph);
    for (const import::Function &function : model.functions)
      visit(function.nodes);
  }

  std::set<std::string> locations;

private:
  void visit(const import::Graph &graph) {
    for (const import::TensorData &tensor : graph.initializers)
      visit(tensor);
    for (const import::SparseInitializer &sparse : graph.sparseInitializers)
      visit(sparse.tensor);
    visit(graph.nodes);
  }

  void visit(const std::vector<import::Node> &nodes) {
    for (const import::Node &node : nodes)
      for (const import::Attribute &attribute : node.attributes) {
        if (attribute.tensor)
          visit(*attribute.tensor);
        if (attribute.sparse)
          visit(*attribute.sparse);
        if (attribute.graph)
          visit(*attribute.graph);
      }
  }

  void visit(const import::SparseTensor &sparse) {
    visit(sparse.values);
    visit(sparse.indices);
  }

  void visit(const import::TensorData &tensor) {
    if (tensor.external)
      locations.insert(tensor.external->location);
  }
};

} // namespace

std::set<std::string> externalFiles(const import::Model &model) {
  ExternalFiles external;
  external.visit(model);
  return std::move(external.locations);
}

} // namespace kintsugi::pipeline
