#include "pipeline/survey.h"

#include "base/files.h"
#include "import/onnx_reader.h"

#include <filesystem>

namespace kintsugi::pipeline {

Expected<Json> survey(const std::string &path, const CompileOptions &options) {
  KINTSUGI_ASSIGN(MappedFile file, MappedFile::open(path));
  auto owner = std::make_shared<MappedFile>(std::move(file));
  Expected<import::Model> model = import::readOnnx({owner, owner->bytes()});
  if (!model.ok())
    return at(path, model.takeError());
  // Missing weights don't change what is refused.
  import::ImportOptions lenient = options.import;
  lenient.randomWeights = true;
  std::string folder = std::filesystem::path(path).parent_path().string();
  auto found = import::surveyNodes(*model, folder, lenient);
  if (!found.ok())
    return at(path, found.takeError());
  Json nodes = Json::array();
  for (const import::NodeSurvey &each : *found) {
    const import::Node &node = model->graph.nodes[each.node];
    nodes.push_back({{"node", each.node},
                     {"name", node.name},
                     {"op", node.domain.empty() ? node.op : node.domain + "." + node.op},
                     {"operations", each.operations},
                     {"bytes", each.bytes},
                     {"refused", each.refusal ? Json(*each.refusal) : Json()},
                     {"needs", each.needs}});
  }
  return Json{{"nodes", std::move(nodes)}};
}

} // namespace kintsugi::pipeline
