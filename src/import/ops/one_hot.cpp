//===- one_hot.cpp - Rows that say which class an element is -----------------===//

#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::import {
namespace {

using te::BinaryOp;

/// How many classes there are: an extent of the result.
Expected<int64_t> depthOf(OpContext &c) {
  KINTSUGI_ASSIGN(const Tensor *depth, c.constantInput(1, "depth"));
  if (depth->count() != 1 || depth->type() == ElementType::Bool)
    return c.error("its depth must be one number");
  if (isInteger(depth->type()))
    return loadInteger(depth->view(), 0);
  double given = loadDouble(depth->view(), 0);
  if (!(std::abs(given) < double(largestCount))) // NaN too.
    return c.error("its depth must be finite, and not too large");
  return static_cast<int64_t>(given);
}

Status oneHot(OpContext &c) {
  ValueId indices = c.input(0), values = c.input(2);
  ElementType given = c.type(indices);
  if (given == ElementType::Bool)
    return c.error("its indices must be numbers, but are booleans");
  if (c.dims(values) != std::vector<int64_t>{2})
    return c.error("its values have shape " + shapeString(c.dims(values)) +
                   ", but must be two, for off and on");
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", -1), c.rank(indices) + 1));
  KINTSUGI_ASSIGN(int64_t depth, depthOf(c));
  std::vector<int64_t> wanted = c.dims(indices);
  wanted.insert(wanted.begin() + axis, depth);
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  const Tensor *known = c.knownValue(2);
  auto value = [&](int64_t k) {
    return known ? OpContext::literalOf(known->view(), k) : c.read(values, {Index(k)});
  };
  // Version 9 knew no positions that are counted from the end.
  bool wraps = c.opset() >= 11 && (isFloat(given) || isSigned(given));
  c.output(0, c.define(c.name(), shape, [&](Indices i) {
    constexpr ElementType wide = ElementType::I64;
    llvm::SmallVector<Index> at(i.begin(), i.end());
    at.erase(at.begin() + axis);
    Expr position = Expr::cast(wide, c.read(indices, at));
    if (wraps)
      position = Builder::wrapped(std::move(position), depth);
    Expr isHere = Expr::binary(BinaryOp::Equal, Expr::index(i[axis], wide), position);
    return Expr::select(isHere, value(1), value(0));
  }));
  return Status::success();
}

} // namespace

OperatorTable oneHotOperators() {
  static const Operator table[] = {
      {"OneHot", 9, 3, oneHot},
  };
  return table;
}

} // namespace kintsugi::import
