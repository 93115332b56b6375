//===- op_context.cpp - What an operator's import function sees --------------===//

#include "import/op_context.h"

#include "base/checked.h"
#include "calls/call.h"
#include "te/check.h"
#include "te/exact_tensor.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
OpContext::OpContext(const Node &node, int64_t opset, std::vector<Binding> inputs,
                     te::Program &program, ConstantFolder &constants, GraphImporter &importer)
    : Builder(program), constants(constants), importer(importer), onnx(node), version(opset),
      inputs(std::move(inputs)), outputs(node.outputs.size()) {}

//===----------------------------------------------------------------------===//
// Attributes

const Attribute *OpContext::find(llvm::StringRef name, AttributeKind kind, llvm::StringRef what) {
  const Attribute *attribute = onnx.attribute(name);
  // Files of the first opsets leave the kind out.
  if (attribute && attribute->kind != kind && attribute->kind != AttributeKind::Undefined) {
    fail("attribute '" + name + "' is not " + what);
    return nullptr;
  }
  return attribute;
}

Expected<const Graph *> OpContext::graph(llvm::StringRef name) const {
  const Attribute *attribute = onnx.attribute(name);
  if (!attribute || !attribute->graph)
    return error("its graph '" + name + "' is missing");
  return attribute->graph.get();
}

Error OpContext::unsupported(ElementType type) const {
  return error(llvm::Twine("elements of type ") + nameOf(type) +
               " are not supported, and it makes some");
}

int64_t OpContext::integer(llvm::StringRef name, int64_t otherwise) {
  const Attribute *attribute = find(name, AttributeKind::Int, "an integer");
  return attribute ? attribute->i : otherwise;
}

Expected<ElementType> OpContext::elementType(llvm::StringRef name, int64_t otherwise) {
  int64_t given = integer(name, otherwise);
  auto type = elementTypeFromOnnx(static_cast<int32_t>(given));
  if (!type || given != static_cast<int32_t>(given))
    return error("attribute '" + name + "' is no element type");
  return *type;
}

Status OpContext::requireOnly(llvm::ArrayRef<llvm::StringRef> attributes) const {
  for (const Attribute &attribute : onnx.attributes)
    if (!llvm::is_contained(attributes, attribute.name))
      return error("attribute '" + attribute.name + "' is not known; leave it out");
  return Status::success();
}

double OpContext::real(llvm::StringRef name, double otherwise) {
  const Attribute *attribute = find(name, AttributeKind::Float, "a number");
  return attribute ? attribute->f : otherwise;
}

std::string OpContext::text(llvm::StringRef name, llvm::StringRef otherwise) {
  const Attribute *attribute = find(name, AttributeKind::String, "a string");
  return attribute ? attribute->s : otherwise.str();
}

std::vector<int64_t> OpContext::integers(llvm::StringRef name, std::vector<int64_t> otherwise) {
  const Attribute *attribute = find(name, AttributeKind::Ints, "a list of integers");
  return attribute ? attribute->ints : std::move(otherwise);
}

std::vector<double> OpContext::reals(llvm::StringRef name, std::vector<double> otherwise) {
  const Attribute *attribute = find(name, AttributeKind::Floats, "a list of numbers");
  if (!attribute)
    return otherwise;
  return {attribute->floats.begin(), attribute->floats.end()};
}

//===----------------------------------------------------------------------===//
// Tensors

Expected<const Tensor *> OpContext::constantInput(unsigned number, llvm::StringRef role) {
  if (const Tensor *value = knownValue(number))
    return value;
  const std::string &tensor = onnx.inputs[number];
  std::vector<std::string> needed = constants.inputsBehind(input(number));
  if (needed.empty())
    return error("its " + role + " '" + tensor + "' is too large to be computed when compiling");
  std::string reason = "its " + role.str() + " '" + tensor + "' must be known when compiling";
  if (needed.size() > 1 || needed[0] != tensor)
    reason += ", but depends on " + std::to_string(needed.size()) + " of the model's inputs";
  unknown = needed;
  return error(reason + "; bind it with --bind " + needed[0] + "=FILE.npz");
}

Expected<std::vector<int64_t>> OpContext::constantIntegers(unsigned number, llvm::StringRef role) {
  std::vector<int64_t> result;
  if (!hasInput(number))
    return result;
  KINTSUGI_ASSIGN(const Tensor *value, constantInput(number, role));
  if (!isInteger(value->type()) && value->type() != ElementType::Bool)
    return error("its " + role + " must be integers");
  for (int64_t i = 0; i < value->count(); ++i)
    result.push_back(loadInteger(value->view(), i));
  return result;
}

Expected<std::vector<double>> OpContext::constantReals(unsigned number, llvm::StringRef role) {
  std::vector<double> result;
  if (!hasInput(number))
    return result;
  KINTSUGI_ASSIGN(const Tensor *value, constantInput(number, role));
  if (!computes(value->type()))
    return error("its " + role + " must be numbers");
  for (int64_t i = 0; i < value->count(); ++i)
    result.push_back(loadDouble(value->view(), i));
  return result;
}

Expected<unsigned> OpContext::axis(int64_t axis, unsigned rank) const {
  int64_t result = axis < 0 ? axis + int64_t(rank) : axis;
  if (axis >= int64_t(rank) || result < 0)
    return error("axis " + llvm::Twine(axis) + " is outside of a tensor with " + llvm::Twine(rank) +
                 " dimensions");
  return static_cast<unsigned>(result);
}

Expected<llvm::SmallVector<unsigned>> OpContext::axes(std::span<const int64_t> given,
                                                      unsigned rank) const {
  llvm::SmallVector<unsigned> result;
  for (int64_t one : given) {
    KINTSUGI_ASSIGN(unsigned number, axis(one, rank));
    if (llvm::is_contained(result, number))
      return error("axis " + llvm::Twine(one) + " is named twice");
    result.push_back(number);
  }
  return result;
}

Status OpContext::requireRank(ValueId tensor, unsigned wanted, llvm::StringRef role) const {
  if (rank(tensor) == wanted)
    return Status::success();
  return error(role + " has shape " + shapeString(dims(tensor)) + ", but must have " +
               llvm::Twine(wanted) + " dimensions");
}

Status OpContext::requireSameType(ValueId a, ValueId b) const {
  if (type(a) == type(b))
    return Status::success();
  return error(llvm::Twine("its inputs have different element types, ") + nameOf(type(a)) +
               " and " + nameOf(type(b)));
}

Status OpContext::requireFloat(ValueId tensor) const {
  if (isFloat(type(tensor)))
    return Status::success();
  return error(llvm::Twine("it needs floating-point numbers, but '") + program.value(tensor).name +
               "' is " + nameOf(type(tensor)));
}

/// What is known behind a counted call may be of elements that a run does not have.
static Error outsideAtMost(const Error &error) {
  return inputError(error.message + ", at least where nodes before it whose results data size give "
                                    "as many elements as they can, which is not supported; use a "
                                    "session with fallback='onnxruntime'");
}

Status OpContext::requireWithin(ValueId tensor, int64_t low, int64_t high, const char *what) {
  if (count(tensor) == 0)
    return Status::success();
  const Tensor *known = constants.value(tensor);
  if (!known) {
    importer.requireRange(tensor, low, high, what);
    return Status::success();
  }
  te::Check check{low, high, what, ""};
  for (int64_t k = 0; k < known->count(); ++k)
    if (int64_t value = loadInteger(known->view(), k); !check.contains(value))
      return importer.hasCountedCalls() ? outsideAtMost(check.error(value)) : check.error(value);
  return Status::success();
}

Status OpContext::requirePositions(ValueId tensor, int64_t extent) {
  if (count(tensor) == 0)
    return Status::success();
  if (extent == 0)
    return error("its dimension has no elements to choose from");
  return requireWithin(tensor, isSigned(type(tensor)) ? -extent : 0, extent, "index");
}

/// The first `extent` slices along the dimensions that a call counts.
static Expected<Tensor> cutToCount(const Tensor &whole, const calls::ResultType &type,
                                   int64_t extent) {
  KINTSUGI_ASSIGN(te::ExactTensor exact, te::ExactTensor::from(whole.view()));
  for (const calls::CountedDimension &counted : type.counted)
    exact = exact.first(extent, counted.dimension);
  return exact.rounded();
}

Expected<llvm::SmallVector<ValueId>> OpContext::countedCall(llvm::ArrayRef<std::string> names,
                                                            te::Call call) {
  std::vector<calls::TensorType> types;
  std::vector<TensorView> operands;
  for (ValueId id : call.operands) {
    types.push_back({type(id), dims(id)});
    if (const Tensor *known = constants.value(id))
      operands.push_back(known->view());
  }
  Expected<std::vector<calls::ResultType>> results =
      calls::find(call.callee)->infer(types, call.attributes);
  if (!results.ok())
    return error("it " + results.error().message);
  for (const calls::ResultType &result : *results)
    KINTSUGI_RETURN_IF_ERROR(makeShape(result.shape).status());
  if (operands.size() != call.operands.size())
    return importer.addCountedCall(names, std::move(call));
  std::vector<Tensor> tensors;
  std::vector<calls::ResultView> views;
  for (const calls::ResultType &result : *results) {
    KINTSUGI_ASSIGN(Tensor tensor, Tensor::create(result.type, result.shape));
    tensors.push_back(std::move(tensor));
  }
  for (Tensor &tensor : tensors)
    views.push_back({tensor.type(), tensor.shape(), tensor.bytes()});
  KINTSUGI_RETURN_IF_ERROR(calls::run(call.callee, operands, call.attributes, views));
  int64_t count = loadInteger(tensors.back().view(), 0);
  llvm::SmallVector<ValueId> values;
  for (auto [name, tensor, result] : llvm::zip_equal(names, tensors, *results)) {
    KINTSUGI_ASSIGN(Tensor cut, cutToCount(tensor, result, count));
    values.push_back(constant(name, std::move(cut)));
  }
  return values;
}

Expected<Shape> OpContext::makeShape(std::span<const int64_t> extents) const {
  auto elements = elementCount(extents);
  if (!elements || *elements > largestCount)
    return error("its result would have the shape " + shapeString(extents) +
                 ", which is negative or too large");
  Shape result;
  for (int64_t extent : extents) {
    if (extent > largestCount)
      return error("its result would have the shape " + shapeString(extents) +
                   ", which is too large");
    result.push_back(extent);
  }
  return result;
}

Expected<Shape> OpContext::broadcast(llvm::ArrayRef<ValueId> tensors) const {
  std::vector<int64_t> result;
  for (ValueId tensor : tensors)
    if (rank(tensor) > result.size())
      result.resize(rank(tensor), 1);
  std::fill(result.begin(), result.end(), 1);
  for (ValueId tensor : tensors) {
    size_t offset = result.size() - rank(tensor);
    for (unsigned d = 0; d < rank(tensor); ++d) {
      int64_t mine = extent(tensor, d);
      int64_t &common = result[offset + d];
      if (mine != 1 && common != 1 && mine != common)
        return error(llvm::Twine("its inputs' shapes ") + shapeString(dims(tensors.front())) +
                     " and " + shapeString(dims(tensor)) + " don't broadcast");
      if (common == 1)
        common = mine;
    }
  }
  return makeShape(result);
}

std::string OpContext::name(unsigned output) const {
  if (hasOutput(output))
    return onnx.outputs[output];
  return (onnx.name.empty() ? onnx.op : onnx.name) + "." + std::to_string(output);
}

} // namespace kintsugi::import
