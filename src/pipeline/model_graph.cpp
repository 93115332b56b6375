#include "pipeline/model_graph.h"

#include "base/files.h"
#include "import/onnx_reader.h"

#include <map>
#include <set>

namespace kintsugi::pipeline {

namespace {

/// Of more than that nobody makes a picture.
constexpr size_t mostNodes = 20000, mostBytes = size_t(8) << 20;

class GraphDescription {
public:
  bool isFull() const { return nodes.size() >= mostNodes || bytes >= mostBytes; }

  void addNode(const std::string &name, const std::string &op, const std::set<std::string> &inputs,
               const std::vector<std::string> &outputs) {
    if (isFull()) {
      ++leftOut;
      return;
    }
    std::set<size_t> reads;
    for (const std::string &input : inputs)
      if (auto found = writers.find(input); found != writers.end())
        reads.insert(found->second);
    bytes += name.size() + op.size() + reads.size() * sizeof(size_t);
    for (const std::string &output : outputs) {
      bytes += output.size();
      if (!output.empty())
        writers[output] = nodes.size();
    }
    nodes.push_back({{"name", name}, {"op", op}, {"reads", reads}, {"outputs", outputs}});
  }

  Json finish() { return {{"nodes", std::move(nodes)}, {"left_out", leftOut}}; }

private:
  Json nodes = Json::array();
  size_t leftOut = 0, bytes = 0;
  std::map<std::string, size_t> writers; ///< By value's name.
};

/// What bodies read from around them is read by the node that has them.
void addCaptured(const import::Graph &graph, unsigned depth, std::set<std::string> &names) {
  constexpr unsigned deepest = 32; // That of the reader.
  std::set<std::string> own;
  for (const import::ValueInfo &input : graph.inputs)
    own.insert(input.name);
  for (const import::Node &node : graph.nodes)
    own.insert(node.outputs.begin(), node.outputs.end());
  std::set<std::string> read;
  for (const import::Node &node : graph.nodes) {
    read.insert(node.inputs.begin(), node.inputs.end());
    for (const import::Attribute &attribute : node.attributes)
      if (attribute.graph && depth < deepest)
        addCaptured(*attribute.graph, depth + 1, read);
  }
  for (const std::string &name : read)
    if (!own.count(name))
      names.insert(name);
}

Json describe(const import::Graph &graph) {
  GraphDescription description;
  for (const import::Node &node : graph.nodes) {
    std::set<std::string> read(node.inputs.begin(), node.inputs.end());
    for (const import::Attribute &attribute : node.attributes)
      if (attribute.graph)
        addCaptured(*attribute.graph, 0, read);
    bool isUnnamed = node.name.empty() && !node.outputs.empty();
    description.addNode(isUnnamed ? node.outputs[0] : node.name,
                        node.domain.empty() ? node.op : node.domain + "." + node.op, read,
                        node.outputs);
  }
  return description.finish();
}

const char *kindOf(const te::Node &node) {
  if (std::holds_alternative<te::Definition>(node))
    return "definition";
  return std::holds_alternative<te::Scan>(node) ? "scan" : "call";
}

Json describe(const te::Program &program) {
  GraphDescription description;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    std::set<std::string> read;
    std::vector<std::string> results;
    for (te::ValueId operand : program.operandsOf(node))
      read.insert(program.value(operand).name);
    for (te::ValueId result : program.resultsOf(node))
      results.push_back(program.value(result).name);
    const std::vector<std::string> &origins = program.origins[node];
    description.addNode(origins.empty() ? results.front() : origins.front(),
                        kindOf(program.nodes[node]), read, results);
  }
  return description.finish();
}

} // namespace

Expected<Json> describeGraph(const std::string &path, const CompileOptions &options,
                             Diagnostics &diagnostics) {
  if (path.ends_with(".te")) {
    KINTSUGI_ASSIGN(te::Program program, importModel(path, options, diagnostics));
    return describe(program);
  }
  KINTSUGI_ASSIGN(MappedFile file, MappedFile::open(path));
  auto owner = std::make_shared<MappedFile>(std::move(file));
  Expected<import::Model> model = import::readOnnx({owner, owner->bytes()});
  if (!model.ok())
    return at(path, model.takeError());
  return describe(model->graph);
}

} // namespace kintsugi::pipeline
