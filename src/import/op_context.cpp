//===- op_context.cpp - What an operator's import function sees --------------===//

#include "import/op_context.h"

#include "base/checked.h"
#include "import/reshape_map.h"
#include "te/constant.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::import {
namespace {

/// No tensor of a model that could ever run is larger; sums of a few such numbers don't overflow.
constexpr int64_t largestCount = int64_t(1) << 46;

llvm::SmallVector<te::Iterator, 4> iterators(llvm::StringRef prefix, Dims shape) {
  llvm::SmallVector<te::Iterator, 4> result;
  for (auto [number, extent] : llvm::enumerate(shape))
    result.push_back({(prefix + llvm::Twine(number)).str(), extent});
  return result;
}

llvm::SmallVector<Index> indices(unsigned first, size_t count) {
  llvm::SmallVector<Index> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(Index::iterator(first + i));
  return result;
}

} // namespace

ElementType accumulatorFor(ElementType type) {
  return type == ElementType::F16 || type == ElementType::BF16 ? ElementType::F32 : type;
}

bool computes(ElementType type) {
  switch (type) {
  case ElementType::F32:
  case ElementType::F64:
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::Bool:
  case ElementType::I8:
  case ElementType::I16:
  case ElementType::I32:
  case ElementType::I64:
  case ElementType::U8:
  case ElementType::U16:
  case ElementType::U32:
  case ElementType::U64:
    return true;
  default:
    return false;
  }
}

OpContext::OpContext(const Node &node, int64_t opset, std::vector<Binding> inputs,
                     te::Program &program, ConstantFolder &constants, GraphImporter &importer)
    : program(program), constants(constants), importer(importer), onnx(node), version(opset),
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

int64_t OpContext::integer(llvm::StringRef name, int64_t otherwise) {
  const Attribute *attribute = find(name, AttributeKind::Int, "an integer");
  return attribute ? attribute->i : otherwise;
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

std::vector<int64_t> OpContext::dims(ValueId tensor) const { return te::plainShape(shape(tensor)); }

int64_t OpContext::count(ValueId tensor) const { return *elementCount(dims(tensor)); }

Expected<const Tensor *> OpContext::constantInput(unsigned number, llvm::StringRef role) {
  const Tensor *value = knownValue(number);
  if (value)
    return value;
  const std::string &tensor = onnx.inputs[number];
  const te::Value &bound = program.value(input(number));
  if (bound.kind == te::ValueKind::Input)
    return error("its " + role + " '" + tensor +
                 "' must be known when compiling; bind it with --bind " + tensor + "=FILE.npz");
  return error("its " + role + " '" + tensor +
               "' must be known when compiling, but depends on the model's inputs");
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

//===----------------------------------------------------------------------===//
// Building

std::string OpContext::name(unsigned output) const {
  if (hasOutput(output))
    return onnx.outputs[output];
  return (onnx.name.empty() ? onnx.op : onnx.name) + "." + std::to_string(output);
}

Expr OpContext::read(ValueId tensor, Indices indices) const {
  assert(indices.size() == rank(tensor));
  return Expr::read(tensor, type(tensor), indices);
}

Expr OpContext::readOr(ValueId tensor, Indices indices, Expr fill) const {
  assert(indices.size() == rank(tensor));
  return Expr::read(tensor, type(tensor), indices, std::move(fill));
}

Expr OpContext::readBroadcast(ValueId tensor, Indices indices) const {
  assert(indices.size() >= rank(tensor));
  llvm::SmallVector<Index> own;
  size_t offset = indices.size() - rank(tensor);
  for (unsigned d = 0; d < rank(tensor); ++d)
    own.push_back(extent(tensor, d) == 1 ? Index(0) : indices[offset + d]);
  return read(tensor, own);
}

Index OpContext::gatherWrapped(Expr position, int64_t extent) const {
  ElementType type = position.type();
  if (!isSigned(type))
    return Index::data(position);
  if (type != ElementType::I32 && type != ElementType::I64) // The extent may not fit.
    position = Expr::cast(type = ElementType::I64, position);
  Expr negative = Expr::binary(te::BinaryOp::Less, position, Expr::literal(type, int64_t(0)));
  return Index::data(Expr::select(negative, position + Expr::literal(type, extent), position));
}

Shape OpContext::bounded(llvm::StringRef name, Dims shape) {
  std::vector<int64_t> extents = te::plainShape(shape);
  auto elements = elementCount(extents);
  if (elements && *elements <= largestCount)
    return Shape(shape.begin(), shape.end());
  fail("its result '" + name + "' would have the shape " + shapeString(extents) +
       ", which is too large");
  return Shape(shape.size(), 1);
}

ValueId OpContext::define(std::string name, Dims shape, Pointwise body) {
  te::Definition definition;
  definition.parallel = iterators("i", bounded(name, shape));
  Expr element = body(indices(0, shape.size()));
  ElementType type = element.type();
  definition.bodies.push_back(std::move(element));
  return program.define(std::move(name), type, std::move(definition));
}

ValueId OpContext::reduce(std::string name, ElementType type, Dims shape, te::Combiner combiner,
                          Dims reduction, Reduced body) {
  te::Definition definition;
  definition.parallel = iterators("i", bounded(name, shape));
  Expr element = body(indices(0, shape.size()), indices(shape.size(), reduction.size()));
  te::Reduction level{combiner, element.type(), {}};
  for (te::Iterator &iterator : iterators("r", bounded(name, reduction)))
    level.iterators.push_back(iterator);
  definition.reduction = std::move(level);
  definition.bodies.push_back(std::move(element));
  return program.define(std::move(name), type, std::move(definition));
}

ValueId OpContext::argReduce(std::string name, Dims shape, te::Combiner combiner, Dims reduction,
                             Reduced key, Reduced payload) {
  te::Definition definition;
  definition.parallel = iterators("i", bounded(name, shape));
  auto outer = indices(0, shape.size()), inner = indices(shape.size(), reduction.size());
  definition.bodies = {key(outer, inner), payload(outer, inner)};
  te::Reduction level{combiner, definition.bodies[0].type(), {}};
  for (te::Iterator &iterator : iterators("r", bounded(name, reduction)))
    level.iterators.push_back(iterator);
  definition.reduction = std::move(level);
  ElementType type = definition.bodies[1].type();
  return program.define(std::move(name), type, std::move(definition));
}

ValueId OpContext::view(std::string name, ValueId tensor, Dims shape,
                        llvm::function_ref<llvm::SmallVector<Index>(Indices)> map) {
  llvm::SmallVector<te::Interval> ranges;
  for (Extent extent : shape)
    ranges.push_back(te::Interval::of(extent));
  return define(std::move(name), shape, [&](Indices i) {
    llvm::SmallVector<Index> source = map(i);
    for (Index &index : source)
      index = te::simplify(index, ranges);
    return read(tensor, source);
  });
}

ValueId OpContext::reshape(std::string name, ValueId tensor, Dims wanted) {
  if (wanted == shape(tensor))
    return tensor;
  return view(std::move(name), tensor, wanted,
              [&](Indices i) { return reshapeMap(i, wanted, shape(tensor)); });
}

ValueId OpContext::transpose(std::string name, ValueId tensor,
                             llvm::ArrayRef<unsigned> permutation) {
  assert(permutation.size() == rank(tensor));
  Shape wanted;
  for (unsigned source : permutation)
    wanted.push_back(shape(tensor)[source]);
  return view(std::move(name), tensor, wanted, [&](Indices i) {
    llvm::SmallVector<Index> map(i.size());
    for (auto [target, source] : llvm::enumerate(permutation))
      map[source] = i[target];
    return map;
  });
}

ValueId OpContext::castTo(std::string name, ValueId tensor, ElementType wanted) {
  if (type(tensor) == wanted)
    return tensor;
  return define(std::move(name), shape(tensor),
                [&](Indices i) { return Expr::cast(wanted, read(tensor, i)); });
}

ValueId OpContext::constant(std::string name, Tensor value) {
  ElementType type = value.type();
  Shape shape;
  for (int64_t extent : value.shape())
    shape.push_back(extent);
  return program.addConstant(std::move(name), type, std::move(shape),
                             std::make_shared<te::TensorConstant>(std::move(value)));
}

ValueId OpContext::scalar(ElementType type, double value) {
  return define(name() + ".scalar", {}, [&](Indices) { return Expr::literal(type, value); });
}

void OpContext::fail(const llvm::Twine &reason) {
  if (problem.ok())
    problem = inputError(reason.str());
}

} // namespace kintsugi::import
