//===- convolution.cpp - Convolutions and their transposes -------------------===//

#include "import/ops/convolution.h"

#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;

/// Iterators of a reduction, those of extent 1 left out: they would only be in the way of whoever
/// looks for a matrix product.
struct Reduction {
  Shape extents;
  llvm::SmallVector<int> places; ///< For each wanted iterator, its number, or -1.

  void add(int64_t extent, bool keep = false) {
    places.push_back(extent == 1 && !keep ? -1 : int(extents.size()));
    if (places.back() >= 0)
      extents.push_back(extent);
  }
  Index at(unsigned number, Indices r) const {
    return places[number] < 0 ? Index(0) : r[places[number]];
  }
};

/// Splits dimension 1 of a value [n, g, o, ...] back into channels.
ValueId mergedGroups(OpContext &c, std::string name, ValueId grouped) {
  Shape shape(c.shape(grouped).begin(), c.shape(grouped).end());
  int64_t perGroup = shape[2].constant();
  shape[1] = shape[1].constant() * perGroup;
  shape.erase(shape.begin() + 2);
  return c.view(std::move(name), grouped, shape, [&](Indices i) {
    llvm::SmallVector<Index> source{i[0], i[1].floorDiv(perGroup), i[1].mod(perGroup)};
    source.append(i.begin() + 2, i.end());
    return source;
  });
}

/// Where the output's channels stand: merged [n, o, ...], or by group [n, g, o, ...] where a group
/// has several channels on both sides. A depthwise convolution (one channel a group) needs no
/// reduction over channels and stays merged.
struct Channels {
  int64_t groups, inputs, outputs; ///< In a group.
  bool grouped() const { return groups > 1 && !(inputs == 1 && outputs == 1); }
};

} // namespace

Expected<ValueId> addBias(OpContext &c, std::string name, ValueId y, unsigned input) {
  ValueId bias = c.input(input);
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(bias, 1, "B"));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(y, bias));
  if (c.extent(bias, 0) != c.extent(y, 1))
    return c.error("B has " + llvm::Twine(c.extent(bias, 0)) + " elements for " +
                   llvm::Twine(c.extent(y, 1)) + " output channels");
  return c.define(std::move(name), c.shape(y),
                  [&](Indices i) { return c.read(y, i) + c.read(bias, {i[1]}); });
}

ValueId convolve(OpContext &c, std::string name, ElementType type, ValueId x, ValueId k,
                 const Windows &windows, int64_t groups, ElementType wide) {
  Channels channels{groups, c.extent(k, 1), c.extent(k, 0) / groups};
  Reduction reduction;
  reduction.add(channels.inputs, true);
  for (const Window &w : windows)
    reduction.add(w.kernel);
  bool grouped = channels.grouped();
  bool depthwise = groups > 1 && !grouped;
  Shape shape{c.shape(x)[0]};
  if (grouped)
    shape.append({groups, channels.outputs});
  else
    shape.push_back(c.shape(k)[0]);
  for (const Window &w : windows)
    shape.push_back(w.output);
  unsigned first = grouped ? 3 : 2;
  ValueId y =
      c.reduce(grouped ? name + ".grouped" : name, type, shape, Combiner::Sum, reduction.extents,
               [&](Indices i, Indices r) {
                 Index in = reduction.at(0, r);
                 Index channel = grouped ? i[1] * channels.inputs + in : depthwise ? i[1] : in;
                 llvm::SmallVector<Index> xAt{i[0], channel};
                 llvm::SmallVector<Index> kAt{grouped ? i[1] * channels.outputs + i[2] : i[1],
                                              depthwise ? Index(0) : in};
                 llvm::SmallVector<Index> kernel;
                 for (unsigned d = 0; d < windows.size(); ++d)
                   kernel.push_back(reduction.at(1 + d, r));
                 auto positions = windowIndices(windows, i.drop_front(first), kernel);
                 xAt.append(positions.begin(), positions.end());
                 kAt.append(kernel.begin(), kernel.end());
                 return Expr::cast(wide, c.read(x, xAt)) * Expr::cast(wide, c.read(k, kAt));
               });
  return grouped ? mergedGroups(c, std::move(name), y) : y;
}

Expected<Windows> convolutionWindows(OpContext &c, ValueId x, ValueId k, int64_t groups) {
  if (c.rank(x) < 3)
    return c.error("its input of shape " + shapeString(c.dims(x)) +
                   " must have a batch, a channel and spatial dimensions");
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(k, c.rank(x), "W"));
  if (groups < 1 || c.extent(k, 0) % groups != 0 || c.extent(k, 1) > c.extent(x, 1) ||
      c.extent(k, 1) * groups != c.extent(x, 1))
    return c.error("its input of shape " + shapeString(c.dims(x)) + " and weights of shape " +
                   shapeString(c.dims(k)) + " don't fit " + llvm::Twine(groups) + " groups");
  std::vector<int64_t> kernel = c.dims(k);
  kernel.erase(kernel.begin(), kernel.begin() + 2);
  if (c.integers("kernel_shape", kernel) != kernel)
    return c.error("kernel_shape differs from its weights' shape " + shapeString(c.dims(k)));
  return readWindows(c, x, kernel, false);
}

namespace {

Status convolution(OpContext &c) {
  ValueId x = c.input(0), k = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, k));
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  int64_t groups = c.integer("group", 1);
  KINTSUGI_ASSIGN(Windows windows, convolutionWindows(c, x, k, groups));
  ElementType type = c.type(x), wide = accumulatorFor(type);
  bool hasBias = c.hasInput(2);
  ValueId input = padded(c, x, windows, Expr::literal(type, 0.0));
  ValueId y =
      convolve(c, hasBias ? c.name() + ".sum" : c.name(), type, input, k, windows, groups, wide);
  if (hasBias) {
    KINTSUGI_ASSIGN(y, addBias(c, c.name(), y, 2));
  }
  c.output(0, y);
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Transposed

/// One spatial dimension of a transposed convolution: input q and kernel position k meet the output
/// at q * stride + k * dilation - padLow.
struct Spread {
  int64_t input, kernel, stride, dilation, padLow = 0, output = 0;

  /// What q is, times the stride, of an output and a tap; taps are counted from the last kernel
  /// position.
  Index meeting(const Index &output, const Index &tap) const {
    return output + tap * dilation + (padLow - (kernel - 1) * dilation);
  }
};

Expected<llvm::SmallVector<Spread>> readSpreads(OpContext &c, ValueId x, ValueId k) {
  size_t count = c.rank(x) - 2;
  KINTSUGI_ASSIGN(auto strides, spatialAttribute(c, "strides", count, 1, 1));
  KINTSUGI_ASSIGN(auto dilations, spatialAttribute(c, "dilations", count, 1, 1));
  KINTSUGI_ASSIGN(auto pads, spatialAttribute(c, "pads", 2 * count, 0, 0));
  KINTSUGI_ASSIGN(auto extra, spatialAttribute(c, "output_padding", count, 0, 0));
  bool hasShape = c.hasAttribute("output_shape");
  KINTSUGI_ASSIGN(auto outputs, spatialAttribute(c, "output_shape", count, 0, 0));
  std::string mode = c.text("auto_pad", "NOTSET");
  bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  llvm::SmallVector<Spread> spreads;
  for (size_t d = 0; d < count; ++d) {
    Spread s{c.extent(x, 2 + d), c.extent(k, 2 + d), strides[d], dilations[d]};
    int64_t low = mode == "NOTSET" || hasShape ? pads[d] : 0;
    int64_t high = mode == "NOTSET" || hasShape ? pads[count + d] : 0;
    int64_t full = strides[d] * (s.input - 1) + extra[d] + (s.kernel - 1) * dilations[d] + 1;
    if (s.input > int64_t(1) << 31 || s.kernel < 1 || s.kernel > int64_t(1) << 31 || full < 0)
      return c.error("its spatial extents are out of range");
    if (same || hasShape) {
      s.output = hasShape ? outputs[d] : s.input * strides[d];
      int64_t total = std::max<int64_t>(0, full - s.output);
      low = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = total - low;
    } else {
      s.output = full - low - high;
    }
    if (s.output < 0)
      return c.error("its pads are larger than its output");
    s.padLow = low;
    if (s.output > largestCount)
      return c.error("its strides are out of range");
    spreads.push_back(s);
  }
  return spreads;
}

/// x moved so that outputs and taps meet it where they say; for strides of 1.
ValueId shiftedInput(OpContext &c, ValueId x, llvm::ArrayRef<Spread> spreads) {
  Shape shape{c.shape(x)[0], c.shape(x)[1]};
  bool same = true;
  for (const Spread &s : spreads) {
    shape.push_back(s.output == 0 ? 0 : s.output + (s.kernel - 1) * s.dilation);
    same &= s.meeting(0, 0) == Index(0) && shape.back() == Extent(s.input);
  }
  return same ? x : c.define(c.name() + ".padded", shape, [&](Indices i) {
    llvm::SmallVector<Index> at(i.begin(), i.end());
    for (auto [d, s] : llvm::enumerate(spreads))
      at[2 + d] = s.meeting(i[2 + d], 0);
    return c.readOr(x, at, Expr::literal(c.type(x), 0.0));
  });
}

/// Whether a whole input lies where an output and a tap meet; null where that is always so.
std::optional<Expr> meets(llvm::ArrayRef<Spread> spreads, Indices outputs, Indices taps) {
  std::optional<Expr> all;
  for (auto [s, output, tap] : llvm::zip_equal(spreads, outputs, taps)) {
    if (s.stride == 1)
      continue;
    Index rest = s.meeting(output, tap).mod(s.stride);
    Expr here = Expr::binary(BinaryOp::Equal, Expr::index(rest, ElementType::I64),
                             Expr::literal(ElementType::I64, int64_t(0)));
    all = all ? Expr::binary(BinaryOp::And, *all, here) : here;
  }
  return all;
}

/// y[n, o, spatial...]: the sum over channels and taps of what they meet. How that is computed is
/// up to rules.
ValueId transposed(OpContext &c, std::string name, ElementType type, ValueId x, ValueId k,
                   llvm::ArrayRef<Spread> spreads, int64_t groups) {
  ElementType wide = accumulatorFor(type);
  int64_t inputs = c.extent(x, 1) / groups;
  bool isSpread = llvm::any_of(spreads, [](const Spread &s) { return s.stride > 1; });
  ValueId input = isSpread ? x : shiftedInput(c, x, spreads);
  Shape result{c.shape(x)[0]};
  if (groups > 1)
    result.push_back(groups);
  result.push_back(c.shape(k)[1]);
  unsigned first = result.size();
  Reduction reduction;
  reduction.add(inputs, true);
  for (const Spread &s : spreads) {
    result.push_back(s.output);
    reduction.add(s.kernel);
  }
  ValueId y =
      c.reduce(groups > 1 ? name + ".grouped" : name, type, result, Combiner::Sum,
               reduction.extents, [&](Indices i, Indices r) {
                 Index in = reduction.at(0, r);
                 Index channel = groups > 1 ? i[1] * inputs + in : in;
                 llvm::SmallVector<Index> xAt{i[0], channel}, kAt{channel, i[first - 1]}, taps;
                 for (auto [d, s] : llvm::enumerate(spreads)) {
                   taps.push_back(reduction.at(1 + d, r));
                   xAt.push_back(isSpread ? s.meeting(i[first + d], taps[d]).floorDiv(s.stride)
                                          : i[first + d] + taps[d] * s.dilation);
                   kAt.push_back(Index(s.kernel - 1) - taps[d]);
                 }
                 Expr element =
                     isSpread ? c.readOr(input, xAt, Expr::literal(type, 0.0)) : c.read(input, xAt);
                 Expr term = Expr::cast(wide, element) * Expr::cast(wide, c.read(k, kAt));
                 std::optional<Expr> condition = meets(spreads, i.drop_front(first), taps);
                 return condition ? Expr::select(*condition, term, Expr::literal(wide, 0.0)) : term;
               });
  return groups > 1 ? mergedGroups(c, std::move(name), y) : y;
}

Status transposedConvolution(OpContext &c) {
  ValueId x = c.input(0), k = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, k));
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  if (c.rank(x) < 3)
    return c.error("its input must have a batch, a channel and spatial dimensions");
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(k, c.rank(x), "W"));
  int64_t groups = c.integer("group", 1);
  if (groups < 1 || c.extent(x, 1) != c.extent(k, 0) || c.extent(x, 1) % groups != 0 ||
      groups > int64_t(1) << 31)
    return c.error("its input of shape " + shapeString(c.dims(x)) + " and weights of shape " +
                   shapeString(c.dims(k)) + " don't fit " + llvm::Twine(groups) + " groups");
  KINTSUGI_ASSIGN(auto spreads, readSpreads(c, x, k));
  bool hasBias = c.hasInput(2);
  std::string name = hasBias ? c.name() + ".sum" : c.name();
  ValueId y = transposed(c, name, c.type(x), x, k, spreads, groups);
  if (hasBias) {
    KINTSUGI_ASSIGN(y, addBias(c, c.name(), y, 2));
  }
  c.output(0, y);
  return Status::success();
}

} // namespace

OperatorTable convolutionOperators() {
  static const Operator table[] = {
      {"Conv", 1, 2, convolution},
      {"ConvTranspose", 1, 2, transposedConvolution},
  };
  return table;
}

} // namespace kintsugi::import
