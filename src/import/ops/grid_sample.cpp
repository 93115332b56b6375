//===- grid_sample.cpp - Samples at positions that are data ------------------===//
//
// For each dimension, tables say which elements the sample at a place of the grid is made of, and
// with which weights; the sample is a sum over all combinations of them. Whatever is in the grid,
// NaNs and infinities included, the tables name elements of the input, or say that there is none.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;
using te::UnaryOp;

enum class Mode { Nearest, Linear, Cubic };
enum class Padding { Zeros, Border, Reflection };

struct Sampling {
  Mode mode = Mode::Linear;
  Padding padding = Padding::Zeros;
  bool alignsCorners = false;

  /// Elements along a dimension that a sample is made of.
  int64_t taps() const { return mode == Mode::Nearest ? 1 : mode == Mode::Linear ? 2 : 4; }
  /// Where the first of them is, from the one at or before the position.
  int64_t firstTap() const { return mode == Mode::Cubic ? -1 : 0; }
};

Expected<Sampling> readSampling(OpContext &c) {
  bool isOld = c.opset() < 20;
  const std::pair<const char *, Mode> modes[] = {{"nearest", Mode::Nearest},
                                                 {isOld ? "bilinear" : "linear", Mode::Linear},
                                                 {isOld ? "bicubic" : "cubic", Mode::Cubic}};
  static const std::pair<const char *, Padding> paddings[] = {
      {"zeros", Padding::Zeros}, {"border", Padding::Border}, {"reflection", Padding::Reflection}};
  std::string mode = c.text("mode", modes[1].first), padding = c.text("padding_mode", "zeros");
  const auto *knownMode = llvm::find_if(modes, [&](auto &each) { return mode == each.first; });
  if (knownMode == std::end(modes))
    return c.error("its mode '" + mode + "' is not known; '" + modes[0].first + "', '" +
                   modes[1].first + "' and '" + modes[2].first + "' are");
  const auto *knownPadding =
      llvm::find_if(paddings, [&](auto &each) { return padding == each.first; });
  if (knownPadding == std::end(paddings))
    return c.error("its padding_mode '" + padding +
                   "' is not known; 'zeros', 'border' and 'reflection' are");
  return Sampling{knownMode->second, knownPadding->second, c.integer("align_corners", 0) != 0};
}

/// One spatial dimension of the input.
class SampledAxis {
public:
  SampledAxis(const Sampling &sampling, int64_t extent, ElementType real)
      : sampling(sampling), extent(extent), real(real) {}

  /// Where -1 to 1 lie in units of elements, brought inside as the padding has it, or
  /// no farther outside than from where only what is outside is met.
  Expr position(Expr normalized) const {
    Expr shifted = normalized + at(1);
    Expr x = sampling.alignsCorners ? shifted * at(0.5) * at(extent - 1)
                                    : (shifted * at(extent) - at(1)) * at(0.5);
    if (sampling.mode == Mode::Nearest)
      x = Expr::unary(UnaryOp::Round, x);
    // Only elements are moved to the border of a cubic sample, as PyTorch and ONNX Runtime have it.
    bool isFree = sampling.padding == Padding::Zeros ||
                  (sampling.padding == Padding::Border && sampling.mode == Mode::Cubic);
    if (isFree)
      return clamped(x, at(-3), at(extent + 2));
    Expr moved = sampling.padding == Padding::Border ? clamped(x, at(0), at(extent - 1))
                                                     : clamped(reflected(x), at(low()), at(high()));
    return Expr::select(isWithin(x, at(low()), at(high())), x, moved);
  }

  /// The element that a tap reads, or -1 for none.
  Expr element(Expr position, const Index &tap) const {
    Expr i = Expr::cast(ElementType::I64, floorOf(std::move(position))) +
             Expr::index(tap + Index(sampling.firstTap()), ElementType::I64);
    if (sampling.padding == Padding::Zeros)
      return Expr::select(isWithin(i, integer(0), integer(extent - 1)), i, integer(-1));
    if (sampling.padding == Padding::Border)
      return clamped(i, integer(0), integer(extent - 1));
    return reflectedElement(std::move(i));
  }

  /// What a tap's element is multiplied with: Keys' kernel (1981), or a hat.
  Expr weight(Expr position, const Index &tap) const {
    Expr place = Expr::index(tap + Index(sampling.firstTap()), real);
    Expr d = Expr::unary(UnaryOp::Abs, place - (position - floorOf(position)));
    if (sampling.mode == Mode::Linear)
      return at(1) - d;
    constexpr double a = -0.75;
    Expr near = ((at(a + 2) * d - at(a + 3)) * d) * d + at(1);
    Expr far = ((at(a) * d - at(5 * a)) * d + at(8 * a)) * d - at(4 * a);
    return Expr::select(lessEqual(d, at(1)), near, far);
  }

private:
  Expr at(double value) const { return number(real, value); }

  /// The borders that reflect: the centers of the outer elements, or their outer edges.
  double low() const { return sampling.alignsCorners ? 0 : -0.5; }
  double high() const { return sampling.alignsCorners ? extent - 1 : extent - 0.5; }

  Expr reflected(Expr x) const {
    double range = high() - low();
    if (range == 0)
      return at(low());
    Expr distance = Expr::unary(UnaryOp::Abs, x - at(low()));
    Expr rest = distance - floorOf(distance / at(2 * range)) * at(2 * range);
    return at(low()) + Expr::select(lessEqual(rest, at(range)), rest, at(2 * range) - rest);
  }

  Expr reflectedElement(Expr i) const {
    int64_t period = sampling.alignsCorners ? 2 * (extent - 1) : 2 * extent;
    if (period == 0)
      return integer(0);
    Expr rest = Expr::binary(BinaryOp::Mod, std::move(i), integer(period));
    Expr back = integer(sampling.alignsCorners ? period : period - 1) - rest;
    return Expr::select(less(rest, integer(extent)), rest, back);
  }

  const Sampling &sampling;
  int64_t extent;
  ElementType real;
};

/// Tables [tap, batch, place of the grid...].
struct AxisTables {
  ValueId elements, weights;
};

class GridSampler {
public:
  GridSampler(OpContext &c, const Sampling &sampling, Dims output)
      : c(c), sampling(sampling), x(c.input(0)), grid(c.input(1)), spatial(c.rank(x) - 2),
        output(output) {
    bool isWide = c.type(grid) == ElementType::F64 || c.type(x) == ElementType::F64 ||
                  (isInteger(c.type(x)) && bitsOf(c.type(x)) >= 32);
    real = isWide ? ElementType::F64 : ElementType::F32;
    places.assign(c.shape(grid).begin(), c.shape(grid).end() - 1);
  }

  void sample() {
    for (unsigned d = 0; d < spatial; ++d)
      tables.push_back(tablesOf(d));
    ElementType type = c.type(x);
    if (sampling.mode == Mode::Nearest) {
      const llvm::SmallVector<Index> none(spatial, Index(0));
      c.output(0, c.define(c.name(), output, [&](Indices i) { return element(i, none); }));
      return;
    }
    Shape taps(spatial, Extent(sampling.taps()));
    std::string name = isFloat(type) ? c.name() : c.name() + ".sum";
    ValueId sum = c.reduce(name, isFloat(type) ? type : real, output, Combiner::Sum, taps,
                           [&](Indices i, Indices r) {
                             Expr product = Expr::cast(real, element(i, r));
                             for (unsigned d = 0; d < spatial; ++d)
                               product = product * c.read(tables[d].weights, place(i, r[d]));
                             return product;
                           });
    c.output(0, c.castTo(c.name(), sum, type));
  }

private:
  AxisTables tablesOf(unsigned d) {
    SampledAxis axis(sampling, c.extent(x, 2 + d), real);
    std::string suffix = std::to_string(d);
    ValueId position = c.define(c.name() + ".position" + suffix, places, [&](Indices i) {
      llvm::SmallVector<Index> at(i.begin(), i.end());
      at.push_back(Index(int64_t(spatial - 1 - d))); // A grid names the innermost dimension first.
      return axis.position(Expr::cast(real, c.read(grid, at)));
    });
    Shape shape{Extent(sampling.taps())};
    shape.append(places.begin(), places.end());
    AxisTables result;
    result.elements = c.define(c.name() + ".element" + suffix, shape, [&](Indices i) {
      return axis.element(c.read(position, i.drop_front()), i[0]);
    });
    if (sampling.mode != Mode::Nearest)
      result.weights = c.define(c.name() + ".weight" + suffix, shape, [&](Indices i) {
        return axis.weight(c.read(position, i.drop_front()), i[0]);
      });
    return result;
  }

  /// Where the tables tell of the output at `i`.
  static llvm::SmallVector<Index> place(Indices i, const Index &tap) {
    llvm::SmallVector<Index> result{tap, i[0]};
    result.append(i.begin() + 2, i.end());
    return result;
  }

  /// What the output at `i` reads by the taps, 0 outside.
  Expr element(Indices i, Indices taps) const {
    llvm::SmallVector<Index> source{i[0], i[1]};
    std::optional<Expr> isInside;
    for (unsigned d = 0; d < spatial; ++d) {
      Expr one = c.read(tables[d].elements, place(i, taps[d]));
      source.push_back(Index::data(one));
      Expr isIn = lessEqual(integer(0), one);
      isInside = isInside ? both(*isInside, isIn) : isIn;
    }
    Expr inside = c.read(x, source);
    if (sampling.padding != Padding::Zeros)
      return inside;
    return Expr::select(*isInside, inside, Expr::literal(c.type(x), int64_t(0)));
  }

  OpContext &c;
  const Sampling &sampling;
  ValueId x, grid;
  unsigned spatial;
  Shape output;
  ElementType real; ///< Of positions, weights and sums.
  Shape places;     ///< Of the grid: [batch, ...].
  llvm::SmallVector<AxisTables> tables;
};

Status gridSample(OpContext &c) {
  ValueId x = c.input(0), grid = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(grid));
  KINTSUGI_ASSIGN(Sampling sampling, readSampling(c));
  if (c.opset() < 20)
    KINTSUGI_RETURN_IF_ERROR(c.requireRank(x, 4, "its input"));
  if (c.rank(x) < 3)
    return c.error("its input of shape " + shapeString(c.dims(x)) +
                   " must have a batch, a channel and spatial dimensions");
  unsigned spatial = c.rank(x) - 2;
  if (c.rank(grid) != c.rank(x) || c.extent(grid, 0) != c.extent(x, 0) ||
      c.extent(grid, spatial + 1) != spatial)
    return c.error("its grid of shape " + shapeString(c.dims(grid)) +
                   " does not fit its input of shape " + shapeString(c.dims(x)));
  std::vector<int64_t> places = c.dims(grid), wanted{c.extent(x, 0), c.extent(x, 1)};
  wanted.insert(wanted.end(), places.begin() + 1, places.end() - 1);
  KINTSUGI_ASSIGN(Shape output, c.makeShape(wanted));
  if (llvm::is_contained(output, Extent(0))) {
    c.output(0, c.define(c.name(), output,
                         [&](Indices) { return Expr::literal(c.type(x), int64_t(0)); }));
    return Status::success();
  }
  if (c.count(x) == 0)
    return c.error("its input of shape " + shapeString(c.dims(x)) + " has nothing to sample");
  GridSampler(c, sampling, output).sample();
  return Status::success();
}

} // namespace

OperatorTable gridSampleOperators() {
  static const Operator table[] = {
      {"GridSample", 16, 2, gridSample},
  };
  return table;
}

} // namespace kintsugi::import
