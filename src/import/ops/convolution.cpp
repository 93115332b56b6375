//===- convolution.cpp - Convolutions and their transposes -------------------===//

#include "import/ops/convolution.h"

#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

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
///
/// What stride and dilation have in common, `apart`, is how far the positions lie apart that
/// anything meets; in these steps stride and dilation are coprime. Kernel position k = phase + tap
/// * stride then meets, of input q, the place
///     q * stride + k * dilation = phase * dilation + (q + tap * dilation) * stride,
/// so a place tells its phase, and the phase's quotient q + tap * dilation; and each phase is a
/// convolution over quotients, with weights of its own and the same input.
struct Spread {
  int64_t input, kernel, stride, dilation; ///< Coprime.
  int64_t apart, padLow, output;

  int64_t taps() const { return (kernel + stride - 1) / stride; }
  int64_t reach() const { return (taps() - 1) * dilation; } ///< From the last tap to the first.
  int64_t firstPlace() const { return (padLow + apart - 1) / apart; }
  int64_t places() const {
    return output == 0 ? 0 : (output - 1 + padLow) / apart - firstPlace() + 1;
  }
  int64_t firstQuotient() const { return firstPlace() / stride - (stride - 1) * dilation / stride; }
  int64_t quotients() const {
    return places() == 0 ? 0 : (firstPlace() + places() - 1) / stride - firstQuotient() + 1;
  }

  /// Of a place, counted from the first.
  Index phaseOf(const Index &place) const {
    return ((place + Index(firstPlace())) * inverse()).mod(stride);
  }
  /// Counted from the first.
  Index quotientOf(const Index &place) const {
    Index before = (phaseOf(place) * dilation).floorDiv(stride);
    return (place + Index(firstPlace())).floorDiv(stride) - before - Index(firstQuotient());
  }

private:
  /// Of the dilation, modulo the stride (Euclid's algorithm).
  int64_t inverse() const {
    int64_t a = stride, b = dilation % stride, ofA = 0, ofB = 1;
    while (b > 1) {
      ofA = std::exchange(ofB, ofA - a / b * ofB);
      a = std::exchange(b, a % b);
    }
    return ofB < 0 ? ofB + stride : ofB;
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
    int64_t apart = std::gcd(strides[d], dilations[d]);
    Spread s{c.extent(x, 2 + d),
             c.extent(k, 2 + d),
             strides[d] / apart,
             dilations[d] / apart,
             apart,
             pads[d],
             0};
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
    constexpr int64_t most = int64_t(1) << 62; // Of what indices multiply on the way to a phase.
    if (s.output > largestCount || s.stride > most / (s.output + low + 1))
      return c.error("its strides are out of range");
    spreads.push_back(s);
  }
  return spreads;
}

/// Weights [in, out, phases..., taps...], the last tap first, zero beyond the kernel.
ValueId phasedWeights(OpContext &c, ValueId k, llvm::ArrayRef<Spread> spreads) {
  size_t count = spreads.size();
  Shape shape{c.shape(k)[0], c.shape(k)[1]};
  for (const Spread &s : spreads)
    shape.push_back(s.stride);
  for (const Spread &s : spreads)
    shape.push_back(s.taps());
  return c.define(c.name() + ".phases", shape, [&](Indices i) {
    llvm::SmallVector<Index> at{i[0], i[1]};
    bool inside = true;
    for (auto [d, s] : llvm::enumerate(spreads)) {
      at.push_back(i[2 + d] + (Index(s.taps() - 1) - i[2 + count + d]) * s.stride);
      inside &= s.kernel % s.stride == 0;
    }
    return inside ? c.read(k, at) : c.readOr(k, at, Expr::literal(c.type(k), 0.0));
  });
}

/// x moved so that a quotient q, counted from the first, and tap t, the last first, meet at
/// q + t * dilation.
ValueId shiftedInput(OpContext &c, ValueId x, llvm::ArrayRef<Spread> spreads) {
  Shape shape{c.shape(x)[0], c.shape(x)[1]};
  bool same = true;
  llvm::SmallVector<int64_t> shifts;
  for (const Spread &s : spreads) {
    shape.push_back(s.quotients() == 0 ? 0 : s.quotients() + s.reach());
    shifts.push_back(s.firstQuotient() - s.reach());
    same &= shifts.back() == 0 && shape.back() == Extent(s.input);
  }
  return same ? x : c.define(c.name() + ".padded", shape, [&](Indices i) {
    llvm::SmallVector<Index> at(i.begin(), i.end());
    for (size_t d = 0; d < spreads.size(); ++d)
      at[2 + d] = i[2 + d] + Index(shifts[d]);
    return c.readOr(x, at, Expr::literal(c.type(x), 0.0));
  });
}

/// The sums of all phases: [n, o, quotients..., phases...], with groups [n, g, o, ...].
ValueId sumsByPhase(OpContext &c, std::string name, ElementType type, ValueId x, ValueId k,
                    llvm::ArrayRef<Spread> spreads, int64_t groups) {
  size_t count = spreads.size();
  int64_t inputs = c.extent(x, 1) / groups;
  ElementType wide = accumulatorFor(type);
  ValueId weights = phasedWeights(c, k, spreads), shifted = shiftedInput(c, x, spreads);
  Shape result{c.shape(x)[0]};
  if (groups > 1)
    result.push_back(groups);
  result.push_back(c.shape(k)[1]);
  unsigned first = result.size();
  Reduction reduction;
  reduction.add(inputs, true);
  for (const Spread &s : spreads)
    result.push_back(s.quotients());
  for (const Spread &s : spreads) {
    result.push_back(s.stride);
    reduction.add(s.taps());
  }
  return c.reduce(
      std::move(name), type, result, Combiner::Sum, reduction.extents, [&](Indices i, Indices r) {
        Index in = reduction.at(0, r);
        Index channel = groups > 1 ? i[1] * inputs + in : in;
        llvm::SmallVector<Index> xAt{i[0], channel};
        llvm::SmallVector<Index> kAt{channel, i[first - 1]};
        for (auto [d, s] : llvm::enumerate(spreads))
          xAt.push_back(i[first + d] + reduction.at(1 + d, r) * s.dilation);
        for (size_t d = 0; d < count; ++d)
          kAt.push_back(i[first + count + d]);
        for (size_t d = 0; d < count; ++d)
          kAt.push_back(reduction.at(1 + d, r));
        return Expr::cast(wide, c.read(shifted, xAt)) * Expr::cast(wide, c.read(weights, kAt));
      });
}

/// What lies at the places that anything meets, by phases.
ValueId transposedAtPlaces(OpContext &c, std::string name, ElementType type, ValueId x, ValueId k,
                           llvm::ArrayRef<Spread> spreads, int64_t groups) {
  int64_t outputs = c.extent(k, 1);
  ValueId y = sumsByPhase(c, name + ".byphase", type, x, k, spreads, groups);
  Shape merged{c.shape(x)[0], groups * outputs};
  for (const Spread &s : spreads)
    merged.push_back(s.places());
  return c.view(std::move(name), y, merged, [&](Indices i) {
    llvm::SmallVector<Index> at{i[0]};
    if (groups > 1)
      at.push_back(i[1].floorDiv(outputs));
    at.push_back(groups > 1 ? i[1].mod(outputs) : i[1]);
    for (auto [d, s] : llvm::enumerate(spreads))
      at.push_back(s.quotientOf(i[2 + d]));
    for (auto [d, s] : llvm::enumerate(spreads))
      at.push_back(s.phaseOf(i[2 + d]));
    return at;
  });
}

/// The whole output: zero between the places.
ValueId transposed(OpContext &c, std::string name, ElementType type, ValueId x, ValueId k,
                   llvm::ArrayRef<Spread> spreads, int64_t groups) {
  if (llvm::all_of(spreads, [](const Spread &s) { return s.apart == 1; }))
    return transposedAtPlaces(c, std::move(name), type, x, k, spreads, groups);
  Expr zero = Expr::literal(type, 0.0);
  Shape shape{c.shape(x)[0], groups * c.extent(k, 1)};
  bool isEmpty = false;
  for (const Spread &s : spreads) {
    shape.push_back(s.output);
    isEmpty |= s.places() == 0;
  }
  if (isEmpty)
    return c.define(std::move(name), shape, [&](Indices) { return zero; });
  ValueId y = transposedAtPlaces(c, name + ".places", type, x, k, spreads, groups);
  return c.define(std::move(name), shape, [&](Indices i) {
    llvm::SmallVector<Index> at{i[0], i[1]};
    std::optional<Expr> meets;
    for (auto [d, s] : llvm::enumerate(spreads)) {
      Index position = i[2 + d] + Index(s.padLow);
      at.push_back(position.floorDiv(s.apart) - Index(s.firstPlace()));
      if (s.apart == 1)
        continue;
      Expr here =
          Expr::binary(BinaryOp::Equal, Expr::index(position.mod(s.apart), ElementType::I64),
                       Expr::literal(ElementType::I64, int64_t(0)));
      meets = meets ? Expr::binary(BinaryOp::And, *meets, here) : here;
    }
    return Expr::select(*meets, c.read(y, at), zero);
  });
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
