#include "pipeline/model_identity.h"

#include "base/files.h"
#include "import/onnx_reader.h"

#include <filesystem>
#include <set>
#include <sys/stat.h>

namespace kintsugi::pipeline {

namespace {

/// Collects the files of external data that a model names.
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

std::string fileIdentity(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return "absent";
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) + ":" +
         std::to_string(info.st_size) + ":" + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec);
}

Expected<Digest> modelIdentity(const std::string &path) {
  KINTSUGI_ASSIGN(MappedFile file, MappedFile::open(path));
  Blake3 hash;
  hash.update(file.bytes());
  if (path.ends_with(".te"))
    return hash.update("te").finish();
  auto owner = std::make_shared<MappedFile>(std::move(file));
  Expected<import::Model> model = import::readOnnx({owner, owner->bytes()});
  if (!model.ok())
    return at(path, model.takeError());
  ExternalFiles external;
  external.visit(*model);
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const std::string &location : external.locations)
    hash.update("\n" + location + " " + fileIdentity((folder / location).string()));
  return hash.finish();
}

} // namespace kintsugi::pipeline
