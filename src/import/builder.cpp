//===- builder.cpp - Adds primitive definitions to a program -----------------===//

#include "import/builder.h"

#include "base/checked.h"
#include "import/reshape_map.h"
#include "te/constant.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

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

std::vector<int64_t> Builder::dims(ValueId tensor) const { return te::plainShape(shape(tensor)); }

int64_t Builder::count(ValueId tensor) const { return *elementCount(dims(tensor)); }

Expr Builder::read(ValueId tensor, Indices indices) const {
  assert(indices.size() == rank(tensor));
  return Expr::read(tensor, type(tensor), indices);
}

Expr Builder::readOr(ValueId tensor, Indices indices, Expr fill) const {
  assert(indices.size() == rank(tensor));
  return Expr::read(tensor, type(tensor), indices, std::move(fill));
}

Expr Builder::readBroadcast(ValueId tensor, Indices indices) const {
  assert(indices.size() >= rank(tensor));
  llvm::SmallVector<Index> own;
  size_t offset = indices.size() - rank(tensor);
  for (unsigned d = 0; d < rank(tensor); ++d)
    own.push_back(extent(tensor, d) == 1 ? Index(0) : indices[offset + d]);
  return read(tensor, own);
}

Expr Builder::wrapped(Expr position, int64_t extent) {
  ElementType type = position.type();
  Expr negative = Expr::binary(te::BinaryOp::Less, position, Expr::literal(type, int64_t(0)));
  return Expr::select(negative, position + Expr::literal(type, extent), position);
}

Index Builder::gatherWrapped(Expr position, int64_t extent) const {
  ElementType type = position.type();
  if (!isSigned(type))
    return Index::data(position);
  if (type != ElementType::I32 && type != ElementType::I64) // The extent may not fit.
    position = Expr::cast(ElementType::I64, position);
  return Index::data(wrapped(std::move(position), extent));
}

Shape Builder::bounded(llvm::StringRef name, Dims shape) {
  std::vector<int64_t> extents = te::plainShape(shape);
  auto elements = elementCount(extents);
  bool fits = llvm::all_of(extents, [](int64_t extent) { return extent <= largestCount; });
  if (elements && *elements <= largestCount && fits)
    return Shape(shape.begin(), shape.end());
  fail("its result '" + name + "' would have the shape " + shapeString(extents) +
       ", which is too large");
  return Shape(shape.size(), 1);
}

ValueId Builder::define(std::string name, Dims shape, Pointwise body) {
  te::Definition definition;
  definition.parallel = iterators("i", bounded(name, shape));
  Expr element = body(indices(0, shape.size()));
  ElementType type = element.type();
  definition.bodies.push_back(std::move(element));
  return program.define(std::move(name), type, std::move(definition));
}

ValueId Builder::reduce(std::string name, ElementType type, Dims shape, te::Combiner combiner,
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

ValueId Builder::argReduce(std::string name, Dims shape, te::Combiner combiner, Dims reduction,
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

ValueId Builder::view(std::string name, ValueId tensor, Dims shape,
                      llvm::function_ref<llvm::SmallVector<Index>(Indices)> map) {
  llvm::SmallVector<te::Interval> ranges;
  for (Extent extent : shape)
    ranges.push_back(te::Interval::of(extent));
  bool isEmpty = llvm::is_contained(shape, Extent(0)); // Nothing to read, perhaps nothing there.
  return define(std::move(name), shape, [&](Indices i) {
    if (isEmpty)
      return Expr::literal(type(tensor), int64_t(0));
    llvm::SmallVector<Index> source = map(i);
    for (Index &index : source)
      index = te::simplify(index, ranges);
    return read(tensor, source);
  });
}

ValueId Builder::reshape(std::string name, ValueId tensor, Dims wanted) {
  if (wanted == shape(tensor))
    return tensor;
  return view(std::move(name), tensor, wanted,
              [&](Indices i) { return reshapeMap(i, wanted, shape(tensor)); });
}

ValueId Builder::transpose(std::string name, ValueId tensor, llvm::ArrayRef<unsigned> permutation) {
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

ValueId Builder::castTo(std::string name, ValueId tensor, ElementType wanted) {
  if (type(tensor) == wanted)
    return tensor;
  return define(std::move(name), shape(tensor),
                [&](Indices i) { return Expr::cast(wanted, read(tensor, i)); });
}

ValueId Builder::constant(std::string name, Tensor value) {
  ElementType type = value.type();
  Shape shape;
  for (int64_t extent : value.shape())
    shape.push_back(extent);
  return program.addConstant(std::move(name), type, std::move(shape),
                             std::make_shared<te::TensorConstant>(std::move(value)));
}

Expr Builder::literalOf(TensorView tensor, int64_t element) {
  if (isFloat(tensor.type))
    return Expr::literal(tensor.type, loadDouble(tensor, element));
  return Expr::literal(tensor.type, loadInteger(tensor, element));
}

void Builder::fail(const llvm::Twine &reason) {
  if (problem.ok())
    problem = inputError(reason.str());
}

} // namespace kintsugi::import
