#include "pipeline/inspect.h"

#include "base/checked.h"
#include "base/files.h"
#include "import/importer.h"
#include "import/onnx_reader.h"
#include "import/registry.h"
#include "pipeline/external_files.h"
#include "simplify/simplify.h"
#include "te/check.h"
#include "te/count.h"
#include "te/operations.h"
#include "llvm/ADT/StringExtras.h"

#include <filesystem>
#include <set>

namespace kintsugi::pipeline {

namespace {

using Opsets = std::map<std::string, int64_t>;

struct Use {
  uint64_t count = 0;
  bool supported = true;
  std::vector<std::string> nodes;
};

/// Counts operators, those inside of subgraphs and of functions that are called included.
class OperatorCensus {
public:
  explicit OperatorCensus(const import::Model &model) : model(model), functions(model) {}

  Status run() {
    KINTSUGI_ASSIGN(Opsets opsets, import::opsetsOf(model.opsets));
    return visit(model.graph.nodes, opsets);
  }

  std::map<std::string, Use> uses;

private:
  Status visit(const std::vector<import::Node> &nodes, const Opsets &opsets) {
    for (const import::Node &node : nodes) {
      for (const import::Attribute &attribute : node.attributes)
        if (attribute.graph)
          KINTSUGI_RETURN_IF_ERROR(visit(attribute.graph->nodes, opsets));
      if (const import::Function *function = functions.find(node))
        KINTSUGI_RETURN_IF_ERROR(visitFunction(*function, opsets));
      else
        count(node, opsets);
    }
    return Status::success();
  }

  Status visitFunction(const import::Function &function, const Opsets &outer) {
    if (!seen.insert(&function).second)
      return Status::success();
    if (function.opsets.empty())
      return visit(function.nodes, outer);
    KINTSUGI_ASSIGN(Opsets own, import::opsetsOf(function.opsets));
    return visit(function.nodes, own);
  }

  void count(const import::Node &node, const Opsets &opsets) {
    auto opset = opsets.find(node.domain);
    int64_t version = opset == opsets.end() ? 1 : opset->second;
    Use &use = uses[node.domain.empty() ? node.op : node.domain + "." + node.op];
    ++use.count;
    if (import::findOperator(node.domain, node.op, version))
      return;
    use.supported = false;
    use.nodes.push_back(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name);
  }

  const import::Model &model;
  import::FunctionTable functions;
  std::set<const import::Function *> seen;
};

std::string spelled(int64_t least, int64_t greatest) {
  return std::to_string(least) + ".." + std::to_string(greatest);
}

/// Dimensions of inputs that a model leaves open, by name.
struct OpenNames {
  std::set<std::string> all;
  std::set<std::string> left; ///< Those that the options give no size.
};

/// An extent, or the name of an open dimension; the rule for names is the importer's.
Json describeShape(const import::ValueInfo &info, const CompileOptions &options, OpenNames &open) {
  if (!info.shape)
    return Json();
  Json shape = Json::array();
  for (size_t axis = 0; axis < info.shape->size(); ++axis) {
    const import::Dimension &dimension = (*info.shape)[axis];
    if (dimension.value) {
      shape.push_back(*dimension.value);
      continue;
    }
    std::string name =
        dimension.name.empty() ? info.name + "." + std::to_string(axis) : dimension.name;
    open.all.insert(name);
    auto given = options.import.dims.find(name);
    auto range =
        llvm::find_if(options.open, [&](const OpenDimension &open) { return open.name == name; });
    if (range != options.open.end()) {
      shape.push_back(spelled(range->low, range->high));
    } else if (given != options.import.dims.end()) {
      shape.push_back(given->second);
    } else {
      open.left.insert(name);
      shape.push_back(name);
    }
  }
  return shape;
}

Json describePort(const import::ValueInfo &info, const CompileOptions &options, OpenNames &open) {
  return {{"name", info.name},
          {"type", nameOf(info.element)},
          {"shape", describeShape(info, options, open)}};
}

Json describeOperators(const std::map<std::string, Use> &uses, bool supported) {
  Json list = Json::array();
  for (const auto &[name, use] : uses) {
    if (use.supported != supported)
      continue;
    Json entry = {{"operator", name}, {"count", use.count}};
    if (!supported)
      entry["nodes"] = use.nodes;
    list.push_back(std::move(entry));
  }
  return list;
}

Json describePort(const te::Program &program, te::ValueId id, const std::string &name) {
  Json shape = Json::array();
  for (te::Extent extent : program.shape(id))
    shape.push_back(extent.constant());
  return {{"name", name}, {"type", nameOf(program.value(id).type)}, {"shape", shape}};
}

uint64_t bytesOf(const te::Program &program, te::ValueId id) {
  std::vector<int64_t> shape;
  for (te::Extent extent : program.shape(id))
    shape.push_back(extent.constant());
  return uint64_t(kintsugi::bytesOf(program.value(id).type, shape).value_or(0));
}

/// Data decide how many there are of so many.
void markCounted(const te::Program &imported, Json &outputs) {
  for (const te::Program::Output &output : imported.outputs)
    if (std::optional<te::Count> count = te::countOf(output))
      for (Json &port : outputs)
        if (port["name"] == count->output) {
          Json &extent = port["shape"][count->dimension];
          extent = "0.." + extent.dump();
        }
}

/// What only the imported program tells.
Status addProgram(const te::Program &imported, Json &report) {
  te::Program program = simplify::simplify(imported);
  KINTSUGI_RETURN_IF_ERROR(program.verify());
  report["inputs"] = Json::array();
  report["outputs"] = Json::array();
  uint64_t feeds = 0, results = 0;
  for (te::ValueId input : imported.inputs) {
    report["inputs"].push_back(describePort(imported, input, imported.value(input).name));
    feeds += bytesOf(imported, input);
  }
  for (const te::Program::Output &output : te::modelOutputs(imported)) {
    report["outputs"].push_back(describePort(imported, output.value, output.name));
    results += bytesOf(imported, output.value);
  }
  markCounted(imported, report["outputs"]);
  report["input_bytes"] = feeds;
  report["output_bytes"] = results;
  report["definitions"] = program.nodes.size();
  report["arithmetic"] = te::operationsOf(program);
  return Status::success();
}

Json describeMetadata(const import::Model &model) {
  const import::Metadata &metadata = model.metadata;
  return {{"producer", metadata.producer},    {"domain", metadata.domain},
          {"version", metadata.version},      {"description", metadata.description},
          {"graph", model.graph.name},        {"graph_description", model.graph.description},
          {"properties", metadata.properties}};
}

/// As importing has it, which a model with other open dimensions does not come to.
Status checkDimensions(const CompileOptions &options, const std::set<std::string> &open) {
  for (const auto &[name, size] : options.import.dims)
    if (!open.count(name))
      return usageError("--dim " + name +
                        ": the model has no open dimension of that name; its open dimensions: " +
                        (open.empty() ? "none" : llvm::join(open, ", ") + " (a --dim for each)"));
  return Status::success();
}

Status addGraph(const import::Model &model, const CompileOptions &options,
                const OperatorCensus &census, Json &report) {
  std::set<std::string> weights;
  OpenNames open, ofBound, ignored;
  uint64_t weightBytes = 0;
  for (const import::TensorData &tensor : model.graph.initializers) {
    weights.insert(tensor.name);
    weightBytes += tensor.byteCount;
  }
  report["inputs"] = Json::array();
  report["outputs"] = Json::array();
  for (const import::ValueInfo &input : model.graph.inputs) {
    if (weights.count(input.name))
      continue;
    bool isBound = options.import.bound.count(input.name) > 0;
    Json port = describePort(input, options, isBound ? ofBound : open);
    if (!isBound)
      report["inputs"].push_back(std::move(port));
  }
  for (const import::ValueInfo &output : model.graph.outputs)
    report["outputs"].push_back(describePort(output, options, ignored));
  report["opsets"] = Json::object();
  for (const import::OpsetImport &opset : model.opsets)
    report["opsets"][opset.domain.empty() ? "ai.onnx" : opset.domain] = opset.version;
  report["operators"] = describeOperators(census.uses, true);
  report["unsupported"] = describeOperators(census.uses, false);
  report["open_dimensions"] = open.left;
  report["weight_bytes"] = weightBytes;
  report["external_files"] = externalFiles(model);
  report["metadata"] = describeMetadata(model);
  open.all.merge(ofBound.all);
  return checkDimensions(options, open.all);
}

/// Extents that are others at the least size of a range become ranges themselves.
void markRange(const Json &atLeast, Json &ports) {
  for (size_t i = 0; i < ports.size(); ++i)
    for (size_t d = 0; d < ports[i]["shape"].size(); ++d) {
      Json &extent = ports[i]["shape"][d];
      const Json &least = atLeast[i]["shape"][d];
      if (extent.is_number() && least.is_number() && extent != least)
        extent = spelled(least.get<int64_t>(), extent.get<int64_t>());
    }
}

/// The inputs whose value has to be known before the model can be imported.
std::set<std::string> neededValues(const import::Model &model, const std::string &folder,
                                   const import::ImportOptions &options) {
  std::set<std::string> names;
  if (auto found = import::surveyNodes(model, folder, options); found.ok())
    for (const import::NodeSurvey &node : *found)
      names.insert(node.needs.begin(), node.needs.end());
  return names;
}

} // namespace

Expected<Json> inspect(const std::string &path, const CompileOptions &options,
                       Diagnostics &diagnostics) {
  Json report = {{"model", path}};
  if (path.ends_with(".te")) {
    KINTSUGI_ASSIGN(te::Program program, importModel(path, options, diagnostics));
    KINTSUGI_RETURN_IF_ERROR(addProgram(program, report));
    return report;
  }
  KINTSUGI_ASSIGN(MappedFile file, MappedFile::open(path));
  auto owner = std::make_shared<MappedFile>(std::move(file));
  import::Bytes bytes{owner, owner->bytes()};
  Expected<import::Model> model = import::readOnnx(bytes);
  if (!model.ok())
    return at(path, model.takeError());
  OperatorCensus census(*model);
  if (Status status = census.run(); !status.ok())
    return at(path, status.takeError());
  if (Status status = addGraph(*model, options, census, report); !status.ok())
    return at(path, status.takeError());
  if (!report["unsupported"].empty() || !report["open_dimensions"].empty())
    return report;
  // Missing weights don't change what a model asks for.
  import::ImportOptions lenient = options.import;
  lenient.randomWeights = true;
  std::string folder = std::filesystem::path(path).parent_path().string();
  Expected<te::Program> program = import::importOnnx(bytes, path, folder, lenient, diagnostics);
  if (!program.ok()) {
    report["needed_values"] = neededValues(*model, folder, lenient);
    return report["needed_values"].empty() ? Expected<Json>(program.takeError()) : report;
  }
  KINTSUGI_RETURN_IF_ERROR(addProgram(*program, report));
  if (options.open.empty())
    return report;
  for (const OpenDimension &open : options.open)
    lenient.dims[open.name] = open.low;
  KINTSUGI_ASSIGN(program, import::importOnnx(bytes, path, folder, lenient, diagnostics));
  Json atLeast;
  KINTSUGI_RETURN_IF_ERROR(addProgram(*program, atLeast));
  for (const char *ports : {"inputs", "outputs"})
    markRange(atLeast[ports], report[ports]);
  return report;
}

} // namespace kintsugi::pipeline
