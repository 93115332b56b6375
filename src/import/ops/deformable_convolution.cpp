//===- deformable_convolution.cpp - Convolutions of elements that data picks --===//
//
// Each element that a window meets is moved by an offset, and what lies there between elements is
// interpolated. With the windows' elements put side by side, what is left is a convolution whose
// windows don't overlap.
//
//===----------------------------------------------------------------------===//

#include "base/checked.h"
#include "import/ops/arithmetic.h"
#include "import/ops/convolution.h"
#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

struct Deformed {
  ValueId x, offsets;
  std::optional<ValueId> mask;
  Windows windows;
  int64_t groups = 1;
  int64_t shared = 1; ///< Channels that share offsets.
  int64_t taps = 1;   ///< Of a window.
};

/// [batch, groups of offsets * taps * numbers, windows...]
Status requireOfWindows(OpContext &c, const Deformed &d, unsigned input, int64_t numbers,
                        llvm::StringRef role) {
  const int64_t factors[] = {c.extent(d.x, 1) / d.shared, d.taps, numbers};
  std::vector<int64_t> wanted{c.extent(d.x, 0), elementCount(factors).value_or(-1)};
  for (const Window &w : d.windows)
    wanted.push_back(w.output);
  std::vector<int64_t> given = c.dims(c.input(input));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(d.x, c.input(input)));
  if (given == wanted)
    return Status::success();
  return c.error("its " + role + " has shape " + shapeString(given) + " instead of " +
                 shapeString(wanted));
}

Expected<Deformed> readDeformed(OpContext &c) {
  Deformed d{c.input(0), c.input(2), {}, {}};
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(d.x));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(d.x, c.input(1)));
  if (c.rank(d.x) > 5)
    return c.error("its input of shape " + shapeString(c.dims(d.x)) +
                   " has more than 3 spatial dimensions, which is not supported");
  d.groups = c.integer("group", 1);
  KINTSUGI_ASSIGN(d.windows, convolutionWindows(c, d.x, c.input(1), d.groups));
  int64_t offsetGroups = c.integer("offset_group", 1), channels = c.extent(d.x, 1);
  if (offsetGroups < 1 || channels % offsetGroups != 0)
    return c.error("its " + llvm::Twine(channels) + " channels are not " +
                   llvm::Twine(offsetGroups) + " groups that share offsets");
  d.shared = std::max<int64_t>(1, channels / offsetGroups);
  for (const Window &w : d.windows) {
    if (w.kernel > largestCount / std::max(d.taps, w.output))
      return c.error("its windows have too many elements");
    d.taps *= w.kernel;
  }
  KINTSUGI_RETURN_IF_ERROR(requireOfWindows(c, d, 2, d.windows.size(), "offset"));
  if (c.hasInput(4)) {
    KINTSUGI_RETURN_IF_ERROR(requireOfWindows(c, d, 4, 1, "mask"));
    d.mask = c.input(4);
  }
  return d;
}

/// An element of a window, by its coordinates among elements that stand side by side.
class Tap {
public:
  Tap(Builder &b, const Deformed &d, Indices i)
      : b(b), d(d), wide(accumulatorFor(b.type(d.x))), sample(i[0]), channel(i[1]) {
    for (auto [w, place] : llvm::zip_equal(d.windows, i.drop_front(2))) {
      outputs.push_back(place.floorDiv(w.kernel));
      inKernel.push_back(place.mod(w.kernel));
      number = number * w.kernel + inKernel.back();
    }
  }

  Expr value() const {
    Expr sum = interpolated();
    return d.mask ? sum * ofWindow(*d.mask, 1, 0) : sum;
  }

private:
  /// One of the numbers that a tap of a window has in a tensor.
  Expr ofWindow(ValueId tensor, int64_t numbers, int64_t which) const {
    Index tap = channel.floorDiv(d.shared) * d.taps + number;
    llvm::SmallVector<Index> at{sample, tap * numbers + Index(which)};
    at.append(outputs.begin(), outputs.end());
    return Expr::cast(wide, b.read(tensor, at));
  }

  /// Along one dimension; what is further out than an element is nowhere, too.
  Expr position(unsigned axis) const {
    const Window &w = d.windows[axis];
    Index start = outputs[axis] * w.stride + inKernel[axis] * w.dilation - Index(w.padLow);
    Expr moved = Expr::index(start, wide) + ofWindow(d.offsets, d.windows.size(), axis);
    return clamped(moved, import::number(wide, -1), import::number(wide, double(w.input)));
  }

  /// The elements around the position, weighted by how near they are; zero outside.
  Expr interpolated() const {
    llvm::SmallVector<Expr> below, share;
    for (unsigned axis = 0; axis < d.windows.size(); ++axis) {
      Expr here = position(axis);
      below.push_back(floorOf(here));
      share.push_back(here - below.back());
    }
    std::optional<Expr> sum;
    for (unsigned corner = 0; corner < 1u << d.windows.size(); ++corner) {
      llvm::SmallVector<Index> at{sample, channel};
      std::optional<Expr> weight;
      for (unsigned axis = 0; axis < d.windows.size(); ++axis) {
        bool isAbove = corner >> axis & 1;
        at.push_back(Index::data(Expr::cast(ElementType::I64, below[axis])) + Index(isAbove));
        Expr factor = isAbove ? share[axis] : import::number(wide, 1) - share[axis];
        weight = weight ? *weight * factor : factor;
      }
      Expr element = b.readOr(d.x, at, import::number(b.type(d.x), 0));
      Expr term = Expr::cast(wide, element) * *weight;
      sum = sum ? *sum + term : term;
    }
    return *sum;
  }

  Builder &b;
  const Deformed &d;
  ElementType wide;
  Index sample, channel, number = 0;
  llvm::SmallVector<Index> outputs, inKernel;
};

Status deformableConvolution(OpContext &c) {
  KINTSUGI_ASSIGN(Deformed d, readDeformed(c));
  ElementType type = c.type(d.x), wide = accumulatorFor(type);
  Shape shape{c.shape(d.x)[0], c.shape(d.x)[1]};
  Windows apart;
  for (const Window &w : d.windows) {
    Window side;
    side.kernel = side.stride = w.kernel;
    side.output = w.output;
    side.input = w.kernel * w.output;
    shape.push_back(side.input);
    apart.push_back(side);
  }
  ValueId sampled = c.define(c.name() + ".sampled", shape,
                             [&](Indices i) { return Expr::stored(type, Tap(c, d, i).value()); });
  bool hasBias = c.hasInput(3);
  ValueId y = convolve(c, hasBias ? c.name() + ".sum" : c.name(), type, sampled, c.input(1), apart,
                       d.groups, wide);
  if (hasBias) {
    KINTSUGI_ASSIGN(y, addBias(c, c.name(), y, 3));
  }
  c.output(0, y);
  return Status::success();
}

} // namespace

OperatorTable deformableConvolutionOperators() {
  static const Operator table[] = {
      {"DeformConv", 19, 3, deformableConvolution},
  };
  return table;
}

} // namespace kintsugi::import
