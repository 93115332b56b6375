//===- image.cpp - Crops of images, and images made of their windows ---------===//

#include "import/ops/families.h"
#include "import/ops/window.h"

#include "base/checked.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;

Status centerCropPad(OpContext &c) {
  ValueId x = c.input(0);
  std::vector<int64_t> all(c.rank(x));
  std::iota(all.begin(), all.end(), 0);
  std::vector<int64_t> given = c.integers("axes", all);
  KINTSUGI_ASSIGN(auto axes, c.axes(given, c.rank(x)));
  KINTSUGI_ASSIGN(std::vector<int64_t> extents, c.constantIntegers(1, "shape"));
  if (extents.size() != axes.size())
    return c.error("its shape has " + llvm::Twine(extents.size()) + " extents for " +
                   llvm::Twine(axes.size()) + " axes");
  std::vector<int64_t> wanted = c.dims(x);
  for (auto [axis, extent] : llvm::zip(axes, extents))
    wanted[axis] = extent;
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  // Where an image of an odd difference can't be in the middle, it is nearer to the beginning, and
  // so is what is cut out of one.
  llvm::SmallVector<int64_t> low;
  bool isPadded = false;
  for (unsigned d = 0; d < c.rank(x); ++d) {
    int64_t extent = c.extent(x, d);
    isPadded |= wanted[d] > extent;
    low.push_back((wanted[d] - extent) / 2);
  }
  if (Dims(shape) == c.shape(x)) {
    c.output(0, x);
    return Status::success();
  }
  auto source = [&](Indices i) {
    llvm::SmallVector<Index> at;
    for (auto [index, before] : llvm::zip(i, low))
      at.push_back(index - Index(before));
    return at;
  };
  Expr zero = Expr::literal(c.type(x), 0.0);
  c.output(0, isPadded ? c.define(c.name(), shape,
                                  [&](Indices i) { return c.readOr(x, source(i), zero); })
                       : c.view(c.name(), x, shape, source));
  return Status::success();
}

/// Where blocks of the given extents lie in an image.
Expected<Windows> readBlocks(OpContext &c, llvm::ArrayRef<int64_t> image,
                             llvm::ArrayRef<int64_t> block) {
  constexpr int64_t largest = (int64_t(1) << 31) - 1;
  size_t count = image.size();
  if (count == 0 || block.size() != count)
    return c.error("its image has " + llvm::Twine(count) + " dimensions and its blocks have " +
                   llvm::Twine(block.size()));
  KINTSUGI_ASSIGN(auto strides, spatialAttribute(c, "strides", count, 1, 1));
  KINTSUGI_ASSIGN(auto dilations, spatialAttribute(c, "dilations", count, 1, 1));
  KINTSUGI_ASSIGN(auto pads, spatialAttribute(c, "pads", 2 * count, 0, 0));
  Windows windows;
  for (size_t d = 0; d < count; ++d) {
    if (image[d] < 1 || image[d] > largest || block[d] < 1 || block[d] > largest)
      return c.error("its image " + shapeString(image) + " or its block " + shapeString(block) +
                     " has an extent out of range");
    Window w{image[d], block[d], strides[d], dilations[d], pads[d], pads[count + d]};
    int64_t slack = w.input + w.padLow + w.padHigh - w.span();
    if (slack < 0)
      return c.error("its block of extent " + llvm::Twine(w.kernel) +
                     " does not fit an image of extent " + llvm::Twine(w.input));
    w.output = slack / w.stride + 1;
    windows.push_back(w);
  }
  return windows;
}

/// x [N, C * block, blocks] as [N, C, block..., blocks...].
Expected<ValueId> separated(OpContext &c, const Windows &windows) {
  ValueId x = c.input(0);
  std::vector<int64_t> block, blocks;
  for (const Window &w : windows) {
    block.push_back(w.kernel);
    blocks.push_back(w.output);
  }
  auto elements = elementCount(block), count = elementCount(blocks);
  if (!elements || c.extent(x, 1) % *elements != 0 || count != c.extent(x, 2))
    return c.error("its input of shape " + shapeString(c.dims(x)) + " does not hold " +
                   shapeString(blocks) + " blocks of " + shapeString(block) + " elements");
  std::vector<int64_t> wanted{c.extent(x, 0), c.extent(x, 1) / *elements};
  wanted.insert(wanted.end(), block.begin(), block.end());
  wanted.insert(wanted.end(), blocks.begin(), blocks.end());
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  return c.reshape(c.name() + ".blocks", x, shape);
}

/// Each element of the image is the sum of the elements of blocks that lie on it.
Status col2Im(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(c.input(0), 3, "its input"));
  KINTSUGI_ASSIGN(std::vector<int64_t> image, c.constantIntegers(1, "image_shape"));
  KINTSUGI_ASSIGN(std::vector<int64_t> block, c.constantIntegers(2, "block_shape"));
  KINTSUGI_ASSIGN(Windows windows, readBlocks(c, image, block));
  KINTSUGI_ASSIGN(ValueId x, separated(c, windows));
  std::vector<int64_t> wanted{c.extent(x, 0), c.extent(x, 1)};
  wanted.insert(wanted.end(), image.begin(), image.end());
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  Shape reduction(c.shape(x).slice(2, windows.size()));
  ElementType type = c.type(x), wide = accumulatorFor(type);
  Combiner combiner = type == ElementType::Bool ? Combiner::Or : Combiner::Sum;
  c.output(0, c.reduce(c.name(), type, shape, combiner, reduction, [&](Indices i, Indices r) {
    llvm::SmallVector<Index> at(i.begin(), i.begin() + 2);
    at.append(r.begin(), r.end());
    std::optional<Expr> meets;
    for (auto [d, w] : llvm::enumerate(windows)) {
      // Blocks start at multiples of the stride.
      Index start = i[2 + d] + Index(w.padLow) - r[d] * w.dilation;
      at.push_back(start.floorDiv(w.stride));
      if (w.stride == 1)
        continue;
      Expr here = Expr::binary(BinaryOp::Equal, Expr::index(start.mod(w.stride), ElementType::I64),
                               Expr::literal(ElementType::I64, int64_t(0)));
      meets = meets ? Expr::binary(BinaryOp::And, *meets, here) : here;
    }
    Expr element = Expr::cast(wide, c.readOr(x, at, Expr::literal(type, 0.0)));
    return meets ? Expr::select(*meets, element, Expr::literal(wide, 0.0)) : element;
  }));
  return Status::success();
}

} // namespace

OperatorTable imageOperators() {
  static const Operator table[] = {
      {"CenterCropPad", 18, 2, centerCropPad},
      {"Col2Im", 18, 3, col2Im},
  };
  return table;
}

} // namespace kintsugi::import
