//===- importer.cpp - Walks a model's graphs ---------------------------------===//

#include "import/importer.h"

#include "import/needed_nodes.h"
#include "import/registry.h"
#include "import/sparse.h"
#include "te/constant.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"

namespace kintsugi::import {
namespace {

constexpr unsigned deepestCall = 64;
constexpr int64_t newestFormat = 14; ///< ModelProto.ir_version.

Error sameName(const char *kind, const std::string &name) {
  return inputError(std::string("two ") + kind + " are named '" + name +
                    "'; give each a name of its own");
}

/// That an operator is defined for what it is given.
Status checkElements(const te::Value &value, const Operator &entry) {
  bool isStored = isStorageOnly(value.type);
  if (computes(value.type) || (isStored && entry.elements == Elements::Any))
    return Status::success();
  std::string what = "elements of type " + std::string(nameOf(value.type)) + " are ";
  return isStored ? inputError(what +
                               "not computed with; have a Cast or DequantizeLinear before it "
                               "convert '" +
                               value.name + "'")
                  : inputError(what + "not supported; '" + value.name +
                               "' has to be of another type in the model");
}

} // namespace

//===----------------------------------------------------------------------===//
// Names

void Importer::openGraph(const Graph &graph, Scope &scope) {
  for (const TensorData &tensor : graph.initializers)
    scope.initializers[tensor.name] = &tensor;
  for (const SparseInitializer &sparse : graph.sparseInitializers)
    scope.sparse[sparse.name] = &sparse;
  for (const auto *infos : {&graph.values, &graph.outputs})
    for (const ValueInfo &info : *infos)
      if (info.kind == TypeKind::Tensor && info.element != ElementType::Invalid)
        scope.declared[info.name] = &info;
}

Error Importer::undefined(const std::string &name, const Scope &scope) const {
  for (const Scope *at = &scope; at; at = at->outer)
    if (auto found = at->absent.find(name); found != at->absent.end())
      return inputError(found->second);
  for (const Scope *at = &scope; at; at = at->outer)
    if (at->nodes && llvm::any_of(*at->nodes, [&](const Node &node) {
          return llvm::is_contained(node.outputs, name);
        }))
      return inputError("'" + name +
                        "' is used before the node that defines it; sort the nodes, "
                        "so that each stands behind those whose outputs it reads");
  return inputError("'" + name + "' is used, but nothing before it defines it");
}

Expected<Binding> Importer::lookUp(const std::string &name, Scope &scope) {
  for (Scope *at = &scope; at; at = at->outer) {
    if (auto found = at->names.find(name); found != at->names.end())
      return found->second;
    Binding bound;
    if (auto found = at->initializers.find(name); found != at->initializers.end()) {
      KINTSUGI_ASSIGN(bound, importTensor(*found->second));
    } else if (auto found = at->sparse.find(name); found != at->sparse.end()) {
      KINTSUGI_ASSIGN(bound, bindSparse(*found->second));
    } else {
      continue;
    }
    at->names[name] = bound;
    return bound;
  }
  return undefined(name, scope);
}

Expected<Binding> Importer::importTensor(const TensorData &tensor) {
  if (tensor.type == ElementType::Str) {
    // Not owned here: the model outlives the import.
    return Binding{{}, {}, {std::shared_ptr<void>(), &tensor}};
  }
  KINTSUGI_ASSIGN(auto source, weights.source(tensor));
  Shape shape;
  for (int64_t extent : tensor.dims)
    shape.push_back(extent);
  return Binding{program.addConstant(tensor.name, tensor.type, shape, std::move(source)), {}, {}};
}

Expected<Binding> Importer::bindSparse(const SparseInitializer &sparse) {
  Expected<Tensor> dense = denseOf(sparse.tensor);
  if (!dense.ok())
    return at("initializer '" + sparse.name + "'", dense.takeError());
  Shape shape;
  for (int64_t extent : dense->shape())
    shape.push_back(extent);
  ElementType type = dense->type();
  auto source = std::make_shared<te::TensorConstant>(std::move(*dense));
  return Binding{program.addConstant(sparse.name, type, shape, std::move(source)), {}, {}};
}

//===----------------------------------------------------------------------===//
// Nodes

Status Importer::importNodes(const std::vector<Node> &nodes,
                             const std::vector<std::string> &outputs, Scope &scope) {
  scope.nodes = &nodes;
  Scope *before = std::exchange(current, &scope);
  auto restore = llvm::scope_exit([&] { current = before; });
  std::vector<bool> needed = neededNodes(nodes, outputs);
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (!needed[number])
      continue;
    Status status = nodesLeft-- == 0
                        ? inputError("with functions and loops unrolled, the model has more than " +
                                     std::to_string(mostNodes) + " nodes, which is too many")
                        : importNode(node, scope);
    if (!status.ok())
      return fromNode(node, status.takeError());
  }
  return Status::success();
}

/// Names the node, the one whose graph or function it is in, and the one of the model that all is
/// in; of those between no more than that there are some.
Error Importer::fromNode(const Node &node, Error error) {
  if (!failedDepth)
    failedDepth = depth;
  bool isNamed = depth == 0 || depth + 1 >= *failedDepth;
  if (isNamed)
    return at(describe(node), std::move(error));
  return depth == 1 ? at("...", std::move(error)) : std::move(error);
}

Expected<Node> Importer::withReferences(const Node &node, const Scope &scope) const {
  Node result = node;
  std::vector<Attribute> attributes;
  // The attributes of a call stand in the body of the function, and in graphs inside of it.
  const Scope *body = &scope;
  while (body->outer && !body->function)
    body = body->outer;
  for (Attribute &attribute : result.attributes) {
    if (attribute.reference.empty()) {
      attributes.push_back(std::move(attribute));
      continue;
    }
    if (!body->function)
      return inputError("attribute '" + attribute.name +
                        "' refers to one of a function, but the node is in none");
    const Attribute *given = body->call->attribute(attribute.reference);
    if (!given)
      for (const Attribute &byDefault : body->function->attributeDefaults)
        if (byDefault.name == attribute.reference)
          given = &byDefault;
    if (!given) // The operator's own default stands.
      continue;
    Attribute copy = *given;
    copy.name = attribute.name;
    attributes.push_back(std::move(copy));
  }
  result.attributes = std::move(attributes);
  return result;
}

Status Importer::importNode(const Node &node, Scope &scope) {
  std::vector<Binding> inputs;
  for (const std::string &name : node.inputs) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    KINTSUGI_ASSIGN(Binding input, lookUp(name, scope));
    inputs.push_back(std::move(input));
  }
  bool refers = llvm::any_of(
      node.attributes, [](const Attribute &attribute) { return !attribute.reference.empty(); });
  if (refers) {
    KINTSUGI_ASSIGN(Node resolved, withReferences(node, scope));
    if (const Function *function = functions.find(node))
      return inlineFunction(*function, resolved, std::move(inputs), scope);
    return importOperator(resolved, std::move(inputs), scope);
  }
  if (const Function *function = functions.find(node))
    return inlineFunction(*function, node, std::move(inputs), scope);
  return importOperator(node, std::move(inputs), scope);
}

Status Importer::importOperator(const Node &node, std::vector<Binding> inputs, Scope &scope) {
  auto opset = scope.opsets->find(node.domain);
  int64_t version = opset == scope.opsets->end() ? 1 : opset->second;
  const Operator *entry = findOperator(node.domain, node.op, version);
  assert(entry && "checkOperators() found all of them");
  for (unsigned i = 0; i < entry->requiredInputs; ++i)
    if (i >= inputs.size() || !inputs[i].tensor)
      return inputError("input " + std::to_string(i + 1) + " must be given, and be a tensor");
  for (const Binding &input : inputs)
    if (input.tensor)
      KINTSUGI_RETURN_IF_ERROR(checkElements(program.value(*input.tensor), *entry));

  auto origin = std::exchange(
      program.currentOrigin,
      {scope.path + (node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name)});
  auto restore = llvm::scope_exit([&] { program.currentOrigin = std::move(origin); });
  OpContext context(node, version, std::move(inputs), program, constants, *this);
  Status status = entry->import(context);
  unknownInputs.insert(context.unknownInputs().begin(), context.unknownInputs().end());
  KINTSUGI_RETURN_IF_ERROR(context.takeProblem());
  KINTSUGI_RETURN_IF_ERROR(std::move(status));
  std::vector<Binding> outputs = context.takeOutputs();
  for (auto [name, binding] : llvm::zip(node.outputs, outputs)) {
    if (name.empty())
      continue;
    if (!binding.tensor && !binding.sequence && !binding.strings)
      return inputError("its output '" + name + "' is not supported");
    KINTSUGI_RETURN_IF_ERROR(bindOutput(name, binding, scope));
  }
  return Status::success();
}

Status Importer::bindOutput(const std::string &name, const Binding &binding, Scope &scope) {
  if (!scope.names.try_emplace(name, binding).second)
    return inputError("its output '" + name +
                      "' has been defined before; give it a name of its own");
  auto declared = scope.declared.find(name);
  if (!binding.tensor || declared == scope.declared.end())
    return Status::success();
  ElementType type = program.value(*binding.tensor).type;
  if (type == declared->second->element)
    return Status::success();
  return inputError("its output '" + name + "' is " + std::string(nameOf(type)) +
                    ", but the model says that it is " +
                    std::string(nameOf(declared->second->element)) + "; correct that");
}

Status Importer::inlineFunction(const Function &function, const Node &node,
                                std::vector<Binding> inputs, Scope &scope) {
  if (inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size())
    return inputError("it has more inputs or outputs than its function");
  if (++depth > deepestCall)
    return inputError("functions call each other more than " + std::to_string(deepestCall) +
                      " deep");
  auto leave = llvm::scope_exit([&] { --depth; });
  Opsets opsets = *scope.opsets;
  if (!function.opsets.empty()) {
    KINTSUGI_ASSIGN(opsets, opsetsOf(function.opsets));
  }
  Scope body;
  body.opsets = &opsets;
  body.function = &function;
  body.call = &node;
  body.path = scope.path + (node.name.empty() ? function.name : node.name) + "/";
  inputs.resize(function.inputs.size());
  for (auto [name, input] : llvm::zip(function.inputs, inputs))
    body.names[name] = input;
  KINTSUGI_RETURN_IF_ERROR(importNodes(function.nodes, function.outputs, body));
  for (auto [inner, outer] : llvm::zip(function.outputs, node.outputs)) {
    if (outer.empty())
      continue;
    KINTSUGI_ASSIGN(Binding result, lookUp(inner, body));
    KINTSUGI_RETURN_IF_ERROR(bindOutput(outer, result, scope));
  }
  return Status::success();
}

Expected<std::vector<Binding>> Importer::outputsOf(const Graph &graph, Scope &scope) {
  std::vector<Binding> results;
  for (const ValueInfo &output : graph.outputs) {
    KINTSUGI_ASSIGN(Binding result, lookUp(output.name, scope));
    results.push_back(std::move(result));
  }
  return results;
}

Expected<std::vector<Binding>> Importer::importSubgraph(const Graph &graph,
                                                        llvm::ArrayRef<Binding> arguments) {
  if (arguments.size() != graph.inputs.size())
    return inputError("graph '" + graph.name + "' has " + std::to_string(graph.inputs.size()) +
                      " inputs, but is given " + std::to_string(arguments.size()));
  if (++depth > deepestCall)
    return inputError("graphs and functions are nested more than " + std::to_string(deepestCall) +
                      " deep");
  auto leave = llvm::scope_exit([&] { --depth; });
  Scope inner;
  inner.outer = current;
  inner.opsets = current->opsets;
  inner.path = current->path;
  openGraph(graph, inner);
  for (auto [info, argument] : llvm::zip(graph.inputs, arguments))
    inner.names[info.name] = argument;
  KINTSUGI_RETURN_IF_ERROR(importNodes(graph.nodes, outputNames(graph), inner));
  return outputsOf(graph, inner);
}

Expected<std::vector<Binding>> Importer::importBranch(const Graph &graph,
                                                      llvm::ArrayRef<Binding> arguments,
                                                      ValueId condition, bool wanted) {
  guards.push_back({condition, wanted});
  auto leave = llvm::scope_exit([&] { guards.pop_back(); });
  return importSubgraph(graph, arguments);
}

void Importer::requireRange(ValueId tensor, int64_t low, int64_t high, const char *what) {
  llvm::ArrayRef<std::string> origin = program.currentOrigin;
  require({tensor, {low, high, what, origin.empty() ? "" : origin.front()}});
}

void Importer::require(CheckedTensor checked) {
  Builder builder(program);
  ValueId &tensor = checked.tensor;
  ElementType type = builder.type(tensor);
  // 0 is never outside.
  for (const Guard &guard : guards)
    tensor = builder.define(
        program.value(tensor).name + ".guarded", builder.shape(tensor), [&](Indices i) {
          Expr decides = builder.read(guard.condition,
                                      llvm::SmallVector<Index>(builder.rank(guard.condition)));
          Expr here = builder.read(tensor, i), nothing = Expr::literal(type, int64_t(0));
          return guard.wanted ? Expr::select(decides, here, nothing)
                              : Expr::select(decides, nothing, here);
        });
  checks.push_back(std::move(checked));
}

void Importer::enterBody() {
  around.push_back({std::exchange(guards, {}), std::exchange(checks, {}), counted.size(),
                    program.inputs.size(), unknownInputs, failedDepth, nodesLeft});
}

std::optional<std::vector<CheckedTensor>> Importer::leaveBody() {
  Around its = std::move(around.back());
  around.pop_back();
  std::vector<CheckedTensor> asked = std::exchange(checks, std::move(its.checks));
  bool isBody = counted.size() == its.countedCalls && program.inputs.size() == its.inputs;
  counted.erase(counted.begin() + std::min(its.countedCalls, counted.size()), counted.end());
  program.inputs.resize(its.inputs);
  guards = std::move(its.guards);
  unknownInputs = std::move(its.unknownInputs);
  failedDepth = its.failedDepth;
  return isBody ? std::optional(std::move(asked)) : std::nullopt;
}

void Importer::dropBody() {
  nodesLeft = around.back().nodesLeft;
  (void)leaveBody();
}

Expected<llvm::SmallVector<ValueId>> Importer::addCountedCall(llvm::ArrayRef<std::string> names,
                                                              te::Call call) {
  for (const CountedCall &other : counted)
    if (other.call.callee == call.callee && other.call.attributes == call.attributes &&
        other.call.operands == call.operands)
      return llvm::SmallVector<ValueId>(llvm::ArrayRef(other.call.results));
  if (surveys)
    return inputError("how large its result is depends on data, which is not supported where parts "
                      "of a model run elsewhere");
  std::vector<calls::TensorType> operands;
  for (ValueId id : call.operands)
    operands.push_back({program.value(id).type, te::plainShape(program.shape(id))});
  KINTSUGI_ASSIGN(std::vector<calls::ResultType> types,
                  calls::find(call.callee)->infer(operands, call.attributes));
  if (sizes && counted.size() < sizes->size())
    for (calls::ResultType &type : types)
      for (const calls::CountedDimension &dimension : type.counted)
        type.shape[dimension.dimension] = (*sizes)[counted.size()];
  llvm::SmallVector<ElementType> elements;
  llvm::SmallVector<Shape> shapes;
  for (const calls::ResultType &type : types) {
    elements.push_back(type.type);
    shapes.emplace_back(type.shape.begin(), type.shape.end());
  }
  llvm::SmallVector<ValueId> results;
  if (sizes)
    for (auto [name, element, shape] : llvm::zip_equal(names, elements, shapes))
      results.push_back(program.addInput(name, element, shape));
  else
    results = program.addCall(names, elements, shapes, call);
  call.results.assign(results.begin(), results.end());
  llvm::ArrayRef<std::string> origin = program.currentOrigin;
  counted.push_back(
      {std::move(call), std::move(types), origin.empty() ? names.front() : origin.front()});
  return results;
}

//===----------------------------------------------------------------------===//
// The whole model

/// A shape that the model states wrongly changes nothing of what it computes, and runtimes live
/// with it: exporters leave those of other batch sizes behind.
Status Importer::addOutput(const ValueInfo &info, Scope &scope) {
  KINTSUGI_ASSIGN(Binding result, lookUp(info.name, scope));
  if (!result.tensor)
    return inputError("output '" + info.name +
                      "' is not a tensor of numbers, which is not supported");
  program.addOutput(info.name, *result.tensor);
  if (!info.shape)
    return Status::success();
  std::vector<int64_t> dims = te::plainShape(program.shape(*result.tensor));
  bool fits = info.shape->size() == dims.size();
  for (size_t axis = 0; fits && axis < dims.size(); ++axis)
    fits = (*info.shape)[axis].value.value_or(dims[axis]) == dims[axis];
  if (!fits)
    remarks.push_back("output '" + info.name + "' has the shape " + shapeString(dims) +
                      ", which is not what the model says");
  return Status::success();
}

Status Importer::checkNames() const {
  llvm::StringSet<> inputs, outputs, weights;
  for (const ValueInfo &input : model.graph.inputs)
    if (!inputs.insert(input.name).second)
      return sameName("inputs", input.name);
  for (const ValueInfo &output : model.graph.outputs)
    if (!outputs.insert(output.name).second)
      return sameName("outputs", output.name);
    else if (te::isReservedName(output.name))
      return inputError("output '" + output.name +
                        "' has a name that is kept for checks and counts; rename it");
  for (const TensorData &tensor : model.graph.initializers)
    if (!weights.insert(tensor.name).second)
      return sameName("initializers", tensor.name);
  return Status::success();
}

Status Importer::checkModel() const {
  if (model.irVersion > newestFormat)
    return inputError("its format is version " + std::to_string(model.irVersion) +
                      " of ONNX's, of which versions up to " + std::to_string(newestFormat) +
                      " are known; export it in one of those");
  if (model.opsets.empty())
    return inputError("it does not say which version of ONNX's operators it uses; export it anew");
  return checkNames();
}

Expected<te::Program> Importer::run() {
  KINTSUGI_RETURN_IF_ERROR(checkModel());
  KINTSUGI_RETURN_IF_ERROR(checkOperators(model));
  KINTSUGI_ASSIGN(Opsets opsets, opsetsOf(model.opsets));
  Scope scope;
  scope.opsets = &opsets;
  current = &scope;
  openGraph(model.graph, scope);
  KINTSUGI_RETURN_IF_ERROR(checkOptionsUsed(scope));
  for (const ValueInfo &input : model.graph.inputs)
    KINTSUGI_RETURN_IF_ERROR(addInput(input, scope));
  KINTSUGI_RETURN_IF_ERROR(importNodes(model.graph.nodes, outputNames(model.graph), scope));
  for (const ValueInfo &output : model.graph.outputs)
    KINTSUGI_RETURN_IF_ERROR(addOutput(output, scope));
  for (const CheckedTensor &checked : checks)
    te::addCheck(program, checked.tensor, checked.check);
  if (!model.graph.name.empty())
    program.name = model.graph.name;
  KINTSUGI_RETURN_IF_ERROR(program.verify());
  if (sizes)
    known = constants.numbers();
  return std::move(program);
}

} // namespace kintsugi::import
