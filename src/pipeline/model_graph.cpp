#include "pipeline/model_graph.h"

#include "base/files.h"
#include "import/onnx_reader.h"

#include <algorithm>
#include <map>
#include <set>

namespace kintsugi::pipeline {

namespace {

/// Of more than that nobody makes a picture.
constexpr size_t mostNodes = 20000, mostBytes = size_t(8) << 20;

struct Described {
  std::string name, op;
  std::set<std::string> reads;      ///< Values.
  std::vector<std::string> outputs; ///< Likewise.
  std::set<std::string> holds;      ///< Nodes in its bodies.
};

class GraphDescription {
public:
  void addNode(const Described &node) {
    if (nodes.size() >= mostNodes || bytes >= mostBytes) {
      ++leftOut;
      return;
    }
    std::set<size_t> reads;
    for (const std::string &value : node.reads)
      if (auto found = writers.find(value); found != writers.end())
        reads.insert(found->second);
    bytes += node.name.size() + node.op.size() + reads.size() * sizeof(size_t);
    for (const std::string &output : node.outputs)
      if (!output.empty())
        writers[output] = nodes.size();
    for (const std::string &name : node.outputs)
      bytes += name.size();
    for (const std::string &name : node.holds)
      bytes += name.size();
    nodes.push_back({{"name", node.name},
                     {"op", node.op},
                     {"reads", reads},
                     {"outputs", node.outputs},
                     {"holds", node.holds}});
  }

  Json finish() { return {{"nodes", std::move(nodes)}, {"left_out", leftOut}}; }

private:
  Json nodes = Json::array();
  size_t leftOut = 0, bytes = 0;
  std::map<std::string, size_t> writers; ///< By value's name.
};

std::string nameOf(const import::Node &node) {
  return node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
}

/// What the bodies of a node read from around them, and the names of the nodes that they hold.
class Bodies {
public:
  explicit Bodies(const import::Node &node) { addBodiesOf(node, reads, 0); }

  std::set<std::string> reads, holds;

private:
  static constexpr unsigned deepest = 32; // That of the reader.

  void addBodiesOf(const import::Node &node, std::set<std::string> &names, unsigned depth) {
    for (const import::Attribute &attribute : node.attributes)
      if (attribute.graph && depth < deepest)
        add(*attribute.graph, names, depth + 1);
  }

  void add(const import::Graph &graph, std::set<std::string> &names, unsigned depth) {
    std::set<std::string> own, read;
    for (const import::ValueInfo &input : graph.inputs)
      own.insert(input.name);
    for (const import::Node &node : graph.nodes) {
      own.insert(node.outputs.begin(), node.outputs.end());
      read.insert(node.inputs.begin(), node.inputs.end());
      holds.insert(nameOf(node));
      addBodiesOf(node, read, depth);
    }
    for (const import::ValueInfo &output : graph.outputs)
      read.insert(output.name);
    std::set_difference(read.begin(), read.end(), own.begin(), own.end(),
                        std::inserter(names, names.end()));
  }
};

Json describe(const import::Graph &graph) {
  GraphDescription description;
  for (const import::Node &node : graph.nodes) {
    Bodies bodies(node);
    bodies.reads.insert(node.inputs.begin(), node.inputs.end());
    description.addNode({nameOf(node), node.domain.empty() ? node.op : node.domain + "." + node.op,
                         bodies.reads, node.outputs, bodies.holds});
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
    description.addNode({origins.empty() ? results.front() : origins.front(),
                         kindOf(program.nodes[node]),
                         read,
                         results,
                         {}});
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
