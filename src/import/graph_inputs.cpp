//===- graph_inputs.cpp - A model's inputs -----------------------------------===//
//
// Open dimensions are bound by name, and inputs may be bound to values.
//
//===----------------------------------------------------------------------===//

#include "base/checked.h"
#include "import/importer.h"
#include "te/constant.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

namespace kintsugi::import {
namespace {

std::string nameOfDimension(const ValueInfo &info, size_t axis) {
  const Dimension &dimension = (*info.shape)[axis];
  return dimension.name.empty() ? info.name + "." + std::to_string(axis) : dimension.name;
}

std::string describeShape(const ValueInfo &info) {
  std::vector<std::string> parts;
  for (size_t axis = 0; axis < info.shape->size(); ++axis) {
    const Dimension &dimension = (*info.shape)[axis];
    parts.push_back(dimension.value ? std::to_string(*dimension.value)
                                    : nameOfDimension(info, axis));
  }
  return "[" + llvm::join(parts, ", ") + "]";
}

} // namespace

Expected<Shape> Importer::inputShape(const ValueInfo &info) {
  std::vector<int64_t> extents;
  for (size_t axis = 0; axis < info.shape->size(); ++axis) {
    if (auto fixed = (*info.shape)[axis].value) {
      extents.push_back(*fixed);
      continue;
    }
    std::string name = nameOfDimension(info, axis);
    auto given = options.dims.find(name);
    if (given == options.dims.end())
      return inputError("input '" + info.name + "' has the open dimension '" + name +
                        "'; give it a size with --dim " + name + "=N");
    if (given->second < 0)
      return usageError("--dim " + name + "=" + std::to_string(given->second) +
                        ": a size is at least 0");
    extents.push_back(given->second);
  }
  auto bytes = bytesOf(info.element, extents);
  if (!bytes || *bytes > int64_t(1) << 46)
    return inputError("input '" + info.name + "' of shape " + shapeString(extents) +
                      " is too large");
  Shape shape;
  for (int64_t extent : extents)
    shape.push_back(extent);
  return shape;
}

bool Importer::hasDefault(const ValueInfo &info, const Scope &scope) {
  return scope.initializers.count(info.name) || scope.sparse.count(info.name);
}

Status Importer::addInput(const ValueInfo &info, Scope &scope) {
  auto given = options.bound.find(info.name);
  if (given == options.bound.end() && hasDefault(info, scope))
    return Status::success(); // Files of old versions list the weights among the inputs.
  if (given != options.bound.end()) {
    const Tensor &value = *given->second;
    bool matches = info.element == ElementType::Invalid || value.type() == info.element;
    if (matches && info.shape) {
      matches = info.shape->size() == value.rank();
      for (size_t axis = 0; matches && axis < value.rank(); ++axis) {
        const Dimension &dimension = (*info.shape)[axis];
        auto size = options.dims.find(nameOfDimension(info, axis));
        matches = dimension.value
                      ? *dimension.value == value.shape()[axis]
                      : size == options.dims.end() || size->second == value.shape()[axis];
      }
    }
    if (!matches)
      return inputError("--bind " + info.name + ": the value is " +
                        std::string(nameOf(value.type())) + shapeString(value.shape()) +
                        ", but the input is " + std::string(nameOf(info.element)) +
                        (info.shape ? describeShape(info) : ""));
    KINTSUGI_ASSIGN(Tensor copy, value.clone());
    Shape shape;
    for (int64_t extent : value.shape())
      shape.push_back(extent);
    auto source = std::make_shared<te::TensorConstant>(std::move(copy));
    scope.names[info.name].tensor =
        program.addConstant(info.name, value.type(), shape, std::move(source));
    return Status::success();
  }
  if (info.kind != TypeKind::Tensor || info.element == ElementType::Invalid ||
      info.element == ElementType::Str)
    return inputError("input '" + info.name +
                      "' is not a tensor of numbers, which is not supported");
  if (!info.shape)
    return inputError("input '" + info.name +
                      "' has no shape; give it one when exporting the model");
  KINTSUGI_ASSIGN(Shape shape, inputShape(info));
  scope.names[info.name].tensor = program.addInput(info.name, info.element, shape);
  return Status::success();
}

Status Importer::checkOptionsUsed(const Scope &scope) const {
  std::set<std::string> open;
  for (const ValueInfo &info : model.graph.inputs)
    for (size_t axis = 0; info.shape && !hasDefault(info, scope) && axis < info.shape->size();
         ++axis)
      if (!(*info.shape)[axis].value)
        open.insert(nameOfDimension(info, axis));
  for (const auto &[name, size] : options.dims)
    if (!open.count(name))
      return usageError("--dim " + name +
                        ": the model has no open dimension of that name; its open dimensions: " +
                        (open.empty() ? "none" : llvm::join(open, ", ") + " (a --dim for each)"));
  for (const auto &[name, value] : options.bound)
    if (llvm::none_of(model.graph.inputs, [&](const ValueInfo &info) { return info.name == name; }))
      return usageError("--bind " + name + ": the model has no input of that name");
  return Status::success();
}

} // namespace kintsugi::import
