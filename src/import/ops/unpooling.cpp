//===- unpooling.cpp - The inverse of a maximum pool --------------------------===//
//
// A definition says what each element of the result is, so an element looks which of the windows
// that cover it names it. A window that names an element beyond itself would not be looked at: it
// is an error, of each run where the indices are not known.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/families.h"
#include "import/ops/window.h"

#include "base/checked.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;

/// One spatial dimension. Window i covers places from i * stride - padLow on.
struct Unpooled {
  int64_t windows, kernel, stride, padLow;
  int64_t places; ///< That indices count.
  int64_t output; ///< No fewer.

  /// How many windows cover a place.
  int64_t covering() const { return (kernel + stride - 1) / stride; }
};

class Unpooling {
public:
  Unpooling(OpContext &c, llvm::ArrayRef<Unpooled> axes)
      : c(c), x(c.input(0)), indices(c.input(1)), axes(axes) {
    for (const Unpooled &axis : axes) {
      channel.push_back(axis.places);
      places *= axis.places;
      covering.push_back(axis.covering());
    }
  }

  /// Every index lies in its channel, and in its window there.
  Status requireInside() {
    ValueId inChannel = c.define(c.name() + ".place", c.shape(x),
                                 [&](Indices i) { return placeInChannel(c.read(indices, i), i); });
    KINTSUGI_RETURN_IF_ERROR(
        c.requireWithin(inChannel, 0, std::max<int64_t>(1, places), "index within its channel"));
    int64_t below = places;
    for (auto [d, axis] : llvm::enumerate(axes)) {
      below /= axis.places;
      ValueId offset =
          c.define(c.name() + ".offset" + std::to_string(d), c.shape(x),
                   [&, d = d, &axis = axis](Indices i) {
                     Expr place = Expr::binary(BinaryOp::Rem, c.read(inChannel, i) / integer(below),
                                               integer(axis.places));
                     return place - Expr::index(i[2 + d] * axis.stride - Index(axis.padLow),
                                                ElementType::I64);
                   });
      KINTSUGI_RETURN_IF_ERROR(c.requireWithin(offset, 0, axis.kernel, "index within its window"));
    }
    return Status::success();
  }

  ValueId result(Dims output) {
    return llvm::all_equal(covering) && covering.front() == Extent(1) ? ofOneWindow(output)
                                                                      : ofLastWindow(output);
  }

private:
  ValueId ofOneWindow(Dims output) {
    const llvm::SmallVector<Index> first(axes.size(), Index(0));
    return c.define(c.name(), output, [&](Indices i) {
      return Expr::select(isNamedBy(i, first), c.read(x, windowAt(i, first)), zero());
    });
  }

  ValueId ofLastWindow(Dims output) {
    Shape windows(c.shape(x).drop_front(2));
    // By a number above 0.
    ValueId last = c.reduce(
        c.name() + ".last", ElementType::I64, output, Combiner::Max, covering,
        [&](Indices i, Indices t) {
          Index number = te::linearize(Indices(windowAt(i, t)).drop_front(2), windows) + Index(1);
          return Expr::select(isNamedBy(i, t), Expr::index(number, ElementType::I64), integer(0));
        });
    return c.define(c.name(), output, [&](Indices i) {
      Expr number = c.read(last, i);
      llvm::SmallVector<Index> at{i[0], i[1]};
      at.append(te::delinearize(Index::data(number) - Index(1), windows));
      return Expr::select(less(integer(0), number), c.read(x, at), zero());
    });
  }

  Expr zero() const { return number(c.type(x), 0); }

  /// Indices count through the whole result.
  Expr placeInChannel(Expr index, Indices i) const {
    Index start = (i[0] * c.extent(x, 1) + i[1]) * places;
    return std::move(index) - Expr::index(start, ElementType::I64);
  }

  /// Coordinates of one of the windows that cover the element at `i`, the last for `t` of zeros.
  llvm::SmallVector<Index> windowAt(Indices i, Indices t) const {
    llvm::SmallVector<Index> at{i[0], i[1]};
    for (auto [d, axis] : llvm::enumerate(axes))
      at.push_back((i[2 + d] + Index(axis.padLow)).floorDiv(axis.stride) - t[d]);
    return at;
  }

  /// Whether that window is there and names the element, which may lie beyond what indices count.
  Expr isNamedBy(Indices i, Indices t) const {
    Expr place = placeInChannel(c.readOr(indices, windowAt(i, t), integer(-1)), i);
    Expr mine = Expr::index(te::linearize(i.drop_front(2), channel), ElementType::I64);
    Expr result = Expr::binary(BinaryOp::Equal, place, mine);
    for (auto [d, axis] : llvm::enumerate(axes))
      if (axis.output > axis.places)
        result = both(result, less(Expr::index(i[2 + d], ElementType::I64), integer(axis.places)));
    return result;
  }

  OpContext &c;
  ValueId x, indices;
  llvm::ArrayRef<Unpooled> axes;
  Shape channel, covering;
  int64_t places = 1; ///< Of a channel.
};

using Axes = llvm::SmallVector<Unpooled>;

Expected<Axes> readAxes(OpContext &c) {
  ValueId x = c.input(0);
  unsigned spatial = c.rank(x) - 2;
  KINTSUGI_ASSIGN(std::vector<int64_t> kernel, kernelShape(c, x));
  KINTSUGI_ASSIGN(std::vector<int64_t> strides, spatialAttribute(c, "strides", spatial, 1, 1));
  KINTSUGI_ASSIGN(std::vector<int64_t> pads, spatialAttribute(c, "pads", 2 * spatial, 0, 0));
  Axes axes;
  for (unsigned d = 0; d < spatial; ++d) {
    int64_t windows = c.extent(x, 2 + d), low = pads[d], high = pads[spatial + d];
    auto reach = checkedMul(windows - 1, strides[d]);
    if (!reach || *reach > largestCount || low >= kernel[d] || high >= kernel[d])
      return c.error("its kernel_shape, strides and pads make no output");
    int64_t places = *reach + kernel[d] - low - high;
    if (windows == 0 || places < 1)
      return c.error("its kernel_shape, strides and pads make no output");
    axes.push_back({windows, kernel[d], strides[d], low, places, places});
  }
  return axes;
}

/// Indices count the places that the attributes give; what output_shape has beyond is zero.
Status applyOutputShape(OpContext &c, Axes &axes) {
  if (!c.hasInput(2))
    return Status::success();
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(std::vector<int64_t> shape, c.constantIntegers(2, "output_shape"));
  bool fits = shape.size() == c.rank(x) && shape[0] == c.extent(x, 0) && shape[1] == c.extent(x, 1);
  bool isSame = true, pads = false;
  for (unsigned d = 0; fits && d < axes.size(); ++d) {
    axes[d].output = shape[2 + d];
    fits = axes[d].output >= axes[d].places;
    isSame &= axes[d].output == axes[d].places;
    pads |= axes[d].places != (axes[d].windows - 1) * axes[d].stride + axes[d].kernel;
  }
  if (!fits)
    return c.error("its output_shape " + shapeString(shape) +
                   " is not at least what its input, kernel_shape, strides and pads make");
  if (!isSame && pads)
    return c.error("its output_shape " + shapeString(shape) +
                   " is not what its pads make, so that its indices have no meaning; leave one of "
                   "both out");
  return Status::success();
}

Status maxUnpool(OpContext &c) {
  ValueId x = c.input(0), indices = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  if (c.rank(x) < 3)
    return c.error("its input of shape " + shapeString(c.dims(x)) +
                   " must have a batch, a channel and spatial dimensions");
  if (c.type(indices) != ElementType::I64 || c.shape(indices) != c.shape(x))
    return c.error("its indices must be i64, as many as its input has elements");
  KINTSUGI_ASSIGN(Axes axes, readAxes(c));
  KINTSUGI_RETURN_IF_ERROR(applyOutputShape(c, axes));
  std::vector<int64_t> wanted{c.extent(x, 0), c.extent(x, 1)}, counted = wanted;
  for (const Unpooled &axis : axes) {
    wanted.push_back(axis.output);
    counted.push_back(axis.places);
  }
  KINTSUGI_RETURN_IF_ERROR(c.makeShape(counted).status());
  KINTSUGI_ASSIGN(Shape output, c.makeShape(wanted));
  Unpooling unpooling(c, axes);
  KINTSUGI_RETURN_IF_ERROR(unpooling.requireInside());
  c.output(0, unpooling.result(output));
  return Status::success();
}

} // namespace

OperatorTable unpoolingOperators() {
  static const Operator table[] = {
      {"MaxUnpool", 9, 2, maxUnpool},
  };
  return table;
}

} // namespace kintsugi::import
