//===- slice.cpp - Taking parts, joining and padding -------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/families.h"

#include "base/checked.h"
#include "import/ops/join.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace kintsugi::import {
namespace {

using te::BinaryOp;

llvm::SmallVector<Index> replaced(Indices indices, unsigned dimension, Index index) {
  llvm::SmallVector<Index> result(indices.begin(), indices.end());
  result[dimension] = std::move(index);
  return result;
}

/// Every `step`-th element of one dimension, from `start`.
struct Range {
  int64_t start = 0, step = 1, count = 0;
};

/// ONNX's rule: negative positions count from the end, then both are clamped.
Range clampedRange(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (extent == 0)
    return {};
  start += start < 0 ? extent : 0;
  end += end < 0 ? extent : 0;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    return {start, step, start < end ? (end - start - 1) / step + 1 : 0};
  }
  start = std::clamp<int64_t>(start, 0, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  return {start, step, start > end ? (start - end - 1) / -step + 1 : 0};
}

Status slice(OpContext &c) {
  ValueId x = c.input(0);
  std::vector<int64_t> starts, ends, axes, steps;
  bool hasAxes;
  if (c.opset() < 10) {
    starts = c.integers("starts");
    ends = c.integers("ends");
    axes = c.integers("axes");
    hasAxes = c.hasAttribute("axes");
  } else {
    KINTSUGI_ASSIGN(starts, c.constantIntegers(1, "starts"));
    KINTSUGI_ASSIGN(ends, c.constantIntegers(2, "ends"));
    KINTSUGI_ASSIGN(axes, c.constantIntegers(3, "axes"));
    KINTSUGI_ASSIGN(steps, c.constantIntegers(4, "steps"));
    hasAxes = c.hasInput(3);
  }
  if (!hasAxes) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    return c.error("its starts, ends, axes and steps are not equally many");
  KINTSUGI_ASSIGN(auto dimensions, c.axes(axes, c.rank(x)));
  llvm::SmallVector<Range> ranges;
  for (Extent extent : c.shape(x))
    ranges.push_back({0, 1, extent.constant()});
  for (size_t k = 0; k < dimensions.size(); ++k) {
    constexpr int64_t limit = int64_t(1) << 62; // Exporters write INT64_MAX for "to the end".
    if (steps[k] == 0)
      return c.error("a step of a slice must not be 0");
    ranges[dimensions[k]] =
        clampedRange(std::clamp(starts[k], -limit, limit), std::clamp(ends[k], -limit, limit),
                     std::clamp(steps[k], -limit, limit), c.extent(x, dimensions[k]));
  }
  Shape shape;
  for (const Range &range : ranges)
    shape.push_back(range.count);
  c.output(0, c.view(c.name(), x, shape, [&](Indices i) {
    llvm::SmallVector<Index> source;
    for (auto [index, range] : llvm::zip(i, ranges))
      source.push_back(range.count <= 1 ? Index(range.count ? range.start : 0)
                                        : index * range.step + Index(range.start));
    return source;
  }));
  return Status::success();
}

/// The sizes of the parts of a split.
Expected<std::vector<int64_t>> splitSizes(OpContext &c, int64_t extent) {
  std::vector<int64_t> sizes;
  if (c.opset() < 13) {
    sizes = c.integers("split");
  } else {
    KINTSUGI_ASSIGN(sizes, c.constantIntegers(1, "split"));
  }
  if (sizes.empty()) {
    int64_t parts = c.integer("num_outputs", c.numOutputs());
    if (parts < 1 || parts != c.numOutputs())
      return c.error("it must have as many outputs as parts");
    int64_t size = extent / parts + (extent % parts != 0); // The last part may be smaller.
    for (int64_t done = 0, k = 0; k < parts; ++k) {
      sizes.push_back(std::min(size, extent - done));
      done += sizes.back();
    }
  }
  int64_t sum = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > extent - sum)
      return c.error("its parts " + shapeString(sizes) + " don't fit an extent of " +
                     llvm::Twine(extent));
    sum += size;
  }
  if (sum != extent || sizes.size() != c.numOutputs())
    return c.error("its parts " + shapeString(sizes) + " don't make up an extent of " +
                   llvm::Twine(extent) + " in " + llvm::Twine(c.numOutputs()) + " outputs");
  return sizes;
}

Status split(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", 0), c.rank(x)));
  KINTSUGI_ASSIGN(std::vector<int64_t> sizes, splitSizes(c, c.extent(x, axis)));
  int64_t offset = 0;
  for (unsigned part = 0; part < sizes.size(); ++part) {
    Shape shape(c.shape(x).begin(), c.shape(x).end());
    shape[axis] = sizes[part];
    if (c.hasOutput(part))
      c.output(part, c.view(c.name(part), x, shape,
                            [&](Indices i) { return replaced(i, axis, i[axis] + Index(offset)); }));
    offset += sizes[part];
  }
  return Status::success();
}

Status concat(OpContext &c) {
  llvm::SmallVector<ValueId> parts;
  for (unsigned k = 0; k < c.numInputs(); ++k) {
    if (!c.hasInput(k))
      return c.error("input " + llvm::Twine(k + 1) + " is missing");
    parts.push_back(c.input(k));
  }
  // Operator sets before 4 had a default.
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", 1), c.rank(parts[0])));
  KINTSUGI_ASSIGN(ValueId all, joined(c, c.name(), parts, axis));
  c.output(0, all);
  return Status::success();
}

/// Keeps what is on and above (below) a diagonal of each matrix; the rest becomes 0.
Status trilu(OpContext &c) {
  ValueId x = c.input(0);
  unsigned rank = c.rank(x);
  if (rank < 2)
    return c.error("its input has no matrices: it needs at least two dimensions");
  KINTSUGI_ASSIGN(std::vector<int64_t> given, c.constantIntegers(1, "k"));
  if (given.size() > 1)
    return c.error("its k must be one number");
  // A diagonal outside of the matrix is as good as the nearest one that touches none of it.
  int64_t rows = c.shape(x)[rank - 2].constant(), columns = c.shape(x)[rank - 1].constant();
  Index diagonal(given.empty() ? 0 : std::clamp(given[0], -rows, columns));
  bool isUpper = c.integer("upper", 1);
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr first = Expr::index(i[rank - 2] + diagonal, ElementType::I64);
    Expr column = Expr::index(i[rank - 1], ElementType::I64);
    Expr isKept = isUpper ? Expr::binary(BinaryOp::LessEqual, first, column)
                          : Expr::binary(BinaryOp::LessEqual, column, first);
    return Expr::select(isKept, c.read(x, i), Expr::literal(c.type(x), 0.0));
  }));
  return Status::success();
}

enum class PadMode { Constant, Reflect, Edge, Wrap };

/// How much is added before and after each dimension; negative crops.
struct Padding {
  llvm::SmallVector<int64_t> low, high;
  PadMode mode = PadMode::Constant;
};

/// Indices hold sums of two such numbers.
constexpr int64_t mostPadding = largestCount / 2;

Expected<Padding> paddingOf(OpContext &c) {
  static const std::pair<const char *, PadMode> modes[] = {{"constant", PadMode::Constant},
                                                           {"reflect", PadMode::Reflect},
                                                           {"edge", PadMode::Edge},
                                                           {"wrap", PadMode::Wrap}};
  unsigned rank = c.rank(c.input(0));
  Padding padding;
  std::string mode = c.text("mode", "constant");
  auto known = llvm::find_if(modes, [&](auto &entry) { return mode == entry.first; });
  if (known == std::end(modes))
    return c.error("its mode '" + mode + "' is not known");
  padding.mode = known->second;
  std::vector<int64_t> pads, axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.opset() < 11) {
    pads = c.integers("pads");
  } else {
    KINTSUGI_ASSIGN(pads, c.constantIntegers(1, "pads"));
    if (c.hasInput(3)) {
      KINTSUGI_ASSIGN(axes, c.constantIntegers(3, "axes"));
    }
  }
  KINTSUGI_ASSIGN(auto dimensions, c.axes(axes, rank));
  if (pads.size() != 2 * dimensions.size())
    return c.error("it has " + llvm::Twine(pads.size()) + " pads for " +
                   llvm::Twine(dimensions.size()) + " dimensions");
  padding.low.assign(rank, 0);
  padding.high.assign(rank, 0);
  for (int64_t pad : pads)
    if (pad < -mostPadding || pad > mostPadding)
      return c.error("its pad " + llvm::Twine(pad) + " is out of range");
  for (size_t k = 0; k < dimensions.size(); ++k) {
    padding.low[dimensions[k]] = pads[k];
    padding.high[dimensions[k]] = pads[dimensions.size() + k];
  }
  return padding;
}

/// Pads one dimension by repeating what is there.
Expected<ValueId> padDimension(OpContext &c, std::string name, ValueId x, unsigned d, int64_t low,
                               int64_t high, PadMode mode) {
  int64_t extent = c.extent(x, d);
  int64_t reach = mode == PadMode::Reflect ? extent - 1 : extent;
  bool fits = mode == PadMode::Reflect ? low <= reach && high <= reach : true;
  if (extent == 0 || !fits)
    return c.error("dimension " + llvm::Twine(d) + " of extent " + llvm::Twine(extent) +
                   " is too short for its pads");
  if (extent > mostPadding)
    return c.error("dimension " + llvm::Twine(d) + " of extent " + llvm::Twine(extent) +
                   " is too long to be repeated");
  std::vector<int64_t> wanted = c.dims(x);
  wanted[d] = extent + low + high;
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  return c.define(std::move(name), shape, [&](Indices i) {
    Index inside = i[d] - Index(low);
    auto at = [&](Index index) { return c.read(x, replaced(i, d, std::move(index))); };
    if (mode == PadMode::Wrap)
      return at(inside.mod(extent));
    Expr result = at(inside);
    if (high > 0)
      result = Expr::select(
          below(i[d], low + extent), result,
          at(mode == PadMode::Edge ? Index(extent - 1) : Index(2 * (extent - 1)) - inside));
    if (low > 0)
      result = Expr::select(below(i[d], low),
                            at(mode == PadMode::Edge ? Index(0) : Index(0) - inside), result);
    return result;
  });
}

Expected<Expr> padValue(OpContext &c) {
  ValueId x = c.input(0);
  if (c.opset() < 11)
    return Expr::literal(c.type(x), c.real("value", 0));
  if (!c.hasInput(2))
    return Expr::literal(c.type(x), 0.0);
  ValueId value = c.input(2);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, value));
  if (c.count(value) != 1)
    return c.error("its constant value must be a scalar");
  if (const Tensor *known = c.knownValue(2))
    return OpContext::literalOf(known->view());
  return c.readBroadcast(value, llvm::SmallVector<Index>(c.rank(value)));
}

Status pad(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(Padding padding, paddingOf(c));
  llvm::SmallVector<unsigned> padded;
  std::vector<int64_t> wanted = c.dims(x);
  for (unsigned d = 0; d < c.rank(x); ++d) {
    if (padding.low[d] || padding.high[d])
      padded.push_back(d);
    wanted[d] += padding.low[d] + padding.high[d];
  }
  KINTSUGI_ASSIGN(Shape shape, c.makeShape(wanted));
  if (padded.empty()) {
    c.output(0, x);
    return Status::success();
  }
  if (padding.mode != PadMode::Constant) {
    for (unsigned d : padded) {
      bool last = d == padded.back();
      std::string name = last ? c.name() : c.name() + ".axis" + std::to_string(d);
      KINTSUGI_ASSIGN(x,
                      padDimension(c, name, x, d, padding.low[d], padding.high[d], padding.mode));
    }
    c.output(0, x);
    return Status::success();
  }
  KINTSUGI_ASSIGN(Expr fill, padValue(c));
  bool cropsOnly =
      llvm::all_of(padded, [&](unsigned d) { return padding.low[d] <= 0 && padding.high[d] <= 0; });
  c.output(0, c.define(c.name(), shape, [&](Indices i) {
    llvm::SmallVector<Index> source;
    for (auto [index, low] : llvm::zip(i, padding.low))
      source.push_back(index - Index(low));
    return cropsOnly ? c.read(x, source) : c.readOr(x, source, fill);
  }));
  return Status::success();
}

} // namespace

OperatorTable sliceOperators() {
  static const Operator table[] = {
      {"Slice", 1, 1, slice, "", Elements::Any},
      {"Split", 1, 1, split, "", Elements::Any},
      {"Concat", 1, 1, concat, "", Elements::Any},
      {"Pad", 1, 1, pad, "", Elements::Any},
      {"Trilu", 14, 1, trilu},
  };
  return table;
}

} // namespace kintsugi::import
