//===- affine_grid.cpp - Grids of positions by affine maps --------------------===//

#include "import/ops/families.h"

namespace kintsugi::import {
namespace {

/// Where the elements of a dimension are between -1 and 1, which are the centers of the outer ones
/// or their outer edges.
Expected<ValueId> coordinates(OpContext &c, unsigned d, int64_t extent, bool alignsCorners) {
  ElementType wide = accumulatorFor(c.type(c.input(0)));
  KINTSUGI_ASSIGN(Tensor table, Tensor::create(wide, {extent}));
  for (int64_t i = 0; i < extent; ++i)
    storeDouble(wide, table.bytes(), i,
                alignsCorners ? 2.0 * double(i) / double(extent - 1) - 1
                              : double(2 * i + 1) / double(extent) - 1);
  return c.constant(c.name() + ".axis" + std::to_string(d), std::move(table));
}

constexpr int64_t longestAxis = 1 << 22;

Status affineGrid(OpContext &c) {
  ValueId theta = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(theta));
  KINTSUGI_ASSIGN(std::vector<int64_t> size, c.constantIntegers(1, "size"));
  bool alignsCorners = c.integer("align_corners", 0) != 0;
  if (size.size() != 4 && size.size() != 5)
    return c.error("its size has " + llvm::Twine(size.size()) + " numbers, but must have 4 or 5");
  unsigned spatial = size.size() - 2;
  if (c.dims(theta) != std::vector<int64_t>{size[0], spatial, spatial + 1})
    return c.error("its theta of shape " + shapeString(c.dims(theta)) +
                   " does not fit its size of " + shapeString(size));
  std::vector<int64_t> wanted{size[0]};
  llvm::SmallVector<ValueId> axes;
  for (unsigned d = 0; d < spatial; ++d) {
    int64_t extent = size[2 + d];
    if (extent < 1 || extent > longestAxis)
      return c.error("its size has an extent of " + llvm::Twine(extent));
    if (alignsCorners && extent == 1)
      return c.error("its size has an extent of 1, which has no two corners to align with; set "
                     "align_corners to 0");
    wanted.push_back(extent);
    KINTSUGI_ASSIGN(ValueId axis, coordinates(c, d, extent, alignsCorners));
    axes.push_back(axis);
  }
  wanted.push_back(spatial);
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  ElementType wide = accumulatorFor(c.type(theta));
  c.output(0, c.define(c.name(), shape, [&](Indices i) {
    auto factor = [&](int64_t column) {
      return Expr::cast(wide, c.read(theta, {i[0], i.back(), Index(column)}));
    };
    // The columns of theta are of the innermost dimension first; the last one is added.
    Expr sum = factor(spatial);
    for (unsigned d = 0; d < spatial; ++d)
      sum = sum + factor(spatial - 1 - d) * c.read(axes[d], {i[1 + d]});
    return Expr::cast(c.type(theta), sum);
  }));
  return Status::success();
}

} // namespace

OperatorTable affineGridOperators() {
  static const Operator table[] = {
      {"AffineGrid", 20, 2, affineGrid},
  };
  return table;
}

} // namespace kintsugi::import
