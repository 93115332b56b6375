//===- roi_align.cpp - Averages and maxima over regions of images -------------===//
//
// A region is cut into bins, and a bin into points, each a weighted sum of the four elements around
// it. For each dimension, tables say which elements and which weights those are; the result is a
// reduction over the points of a bin and the elements of a point.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;

constexpr int64_t largestOutput = 1 << 20;
/// Points of a bin along one dimension.
constexpr int64_t mostPoints = 1 << 12;

struct Regions {
  bool takesMaximum = false;
  double shift = 0.5; ///< Of half a pixel.
  double scale = 1;
  int64_t points = 0; ///< Of a bin, along each dimension; 0: by the size of the region.
};

/// The first is of rows, the second of columns.
struct RegionAxis {
  int64_t extent = 0, bins = 1;
  unsigned start = 0; ///< The coordinate of a region that it starts at; it ends two later.
  int64_t points = 1; ///< Of a bin; of the largest region.
  std::optional<ValueId> pointsOf; ///< [region], where they are not the same for all.
  ValueId elements, weights;       ///< [element of a point, region, bin, point]
};

Expected<Regions> readRegions(OpContext &c) {
  Regions r;
  std::string mode = c.text("mode", "avg");
  if (mode != "avg" && mode != "max")
    return c.error("its mode '" + mode + "' is not known; 'avg' and 'max' are");
  r.takesMaximum = mode == "max";
  std::string coordinates =
      c.text("coordinate_transformation_mode", c.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return c.error("its coordinate_transformation_mode '" + coordinates + "' is not known");
  r.shift = coordinates == "half_pixel" ? 0.5 : 0;
  r.scale = c.real("spatial_scale", 1);
  r.points = c.integer("sampling_ratio", 0);
  if (r.points < 0 || r.points > mostPoints)
    return c.error("its sampling_ratio is " + llvm::Twine(r.points) + ", which is out of range");
  return r;
}

class RegionPool {
public:
  RegionPool(OpContext &c, const Regions &regions)
      : c(c), r(regions), x(c.input(0)), rois(c.input(1)), type(c.type(x)),
        wide(accumulatorFor(type)), count(c.shape(rois)[0]) {}

  Status pool(int64_t height, int64_t width) {
    axes[0] = {c.extent(x, 2), height, 1};
    axes[1] = {c.extent(x, 3), width, 0};
    for (unsigned d = 0; d < 2; ++d) {
      axes[d].points = r.points;
      if (r.points == 0)
        KINTSUGI_RETURN_IF_ERROR(countPoints(d));
      addTables(d);
    }
    Shape output{count, c.shape(x)[1], height, width};
    if (r.takesMaximum)
      addMaximum(output);
    else
      addAverage(output);
    return Status::success();
  }

private:
  Expr real(double value) const { return number(wide, value); }

  /// As wide as the type computes.
  double rounded(double value) const {
    return wide == ElementType::F32 ? double(float(value)) : value;
  }

  Expr coordinate(const Index &region, unsigned which) const {
    return Expr::cast(wide, c.read(rois, {region, Index(int64_t(which))})) * real(r.scale) -
           real(r.shift);
  }

  /// Malformed regions are made one pixel large where coordinates are not shifted.
  Expr sizeOf(const RegionAxis &axis, const Index &region) const {
    Expr size = coordinate(region, axis.start + 2) - coordinate(region, axis.start);
    return r.shift != 0 ? size : Expr::binary(BinaryOp::Max, size, real(1));
  }

  /// Where the regions are known, how many points each has: about one an element.
  Status countPoints(unsigned d) {
    RegionAxis &axis = axes[d];
    const Tensor *known = c.knownValue(1);
    if (!known)
      return c.error(
          "its sampling_ratio is 0, which leaves it to the size of each region how many "
          "points it has, and its rois '" +
          c.node().inputs[1] +
          "' are not known when compiling; set sampling_ratio, or bind them with --bind");
    std::vector<double> numbers;
    axis.points = 1;
    auto at = [&](int64_t region, unsigned which) {
      double value = loadDouble(known->view(), region * 4 + which);
      return rounded(rounded(value * rounded(r.scale)) - r.shift);
    };
    for (int64_t region = 0; region < count.constant(); ++region) {
      double size = rounded(at(region, axis.start + 2) - at(region, axis.start));
      size = r.shift != 0 ? size : std::max(size, 1.0);
      double points = std::ceil(rounded(size / double(axis.bins)));
      if (!(points <= double(mostPoints)))
        return c.error("region " + llvm::Twine(region) + " of its rois has too many points");
      numbers.push_back(std::max(points, 0.0));
      axis.points = std::max(axis.points, int64_t(numbers.back()));
    }
    KINTSUGI_ASSIGN(Tensor table, Tensor::create(wide, {int64_t(numbers.size())}));
    for (auto [region, points] : llvm::enumerate(numbers))
      storeDouble(wide, table.bytes(), region, points);
    axis.pointsOf = c.constant(c.name() + ".points" + std::to_string(d), std::move(table));
    return Status::success();
  }

  Expr pointsOf(const RegionAxis &axis, const Index &region) const {
    return axis.pointsOf ? c.read(*axis.pointsOf, {region}) : real(double(axis.points));
  }

  /// Whether a region has the point.
  Expr hasPoint(const RegionAxis &axis, const Index &region, const Index &point) const {
    return less(Expr::index(point, wide), pointsOf(axis, region));
  }

  Expr positionOf(const RegionAxis &axis, const Index &region, const Index &bin,
                  const Index &point) const {
    Expr size = sizeOf(axis, region) / real(double(axis.bins));
    Expr within = (Expr::index(point, wide) + real(0.5)) * size / pointsOf(axis, region);
    return coordinate(region, axis.start) + Expr::index(bin, wide) * size + within;
  }

  /// What is more than a pixel outside of the image weighs nothing, and reads are inside whatever
  /// the coordinates are.
  void addTables(unsigned d) {
    RegionAxis &axis = axes[d];
    std::string suffix = std::to_string(d);
    double last = double(axis.extent - 1);
    Shape points{count, axis.bins, axis.points};
    ValueId position = c.define(c.name() + ".position" + suffix, points,
                                [&](Indices i) { return positionOf(axis, i[0], i[1], i[2]); });
    auto inside = [&](Indices i) { return clamped(c.read(position, i), real(0), real(last)); };
    Shape shape{2, count, axis.bins, axis.points};
    axis.elements = c.define(c.name() + ".element" + suffix, shape, [&](Indices i) {
      Expr before = Expr::cast(ElementType::I64, floorOf(inside(i.drop_front())));
      return Expr::binary(BinaryOp::Min, before + Expr::index(i[0], ElementType::I64),
                          integer(axis.extent - 1));
    });
    axis.weights = c.define(c.name() + ".weight" + suffix, shape, [&](Indices i) {
      Expr x = inside(i.drop_front()), part = x - floorOf(x);
      Expr weight = Expr::select(less(Expr::index(i[0], wide), real(1)), real(1) - part, part);
      Expr counts = isWithin(c.read(position, i.drop_front()), real(-1), real(last + 1));
      if (axis.pointsOf)
        counts = both(counts, hasPoint(axis, i[1], i[3]));
      return Expr::select(counts, weight, real(0));
    });
  }

  /// Reduction iterators: the points, then the elements of a point, of rows before columns.
  Shape reduction() const { return {axes[0].points, axes[1].points, 2, 2}; }

  Expr weighted(Indices i, Indices p) const {
    auto at = [&](unsigned d) { return llvm::SmallVector<Index>{p[2 + d], i[0], i[2 + d], p[d]}; };
    Expr element = c.read(x, {c.gather(c.input(2), {i[0]}), i[1], c.gather(axes[0].elements, at(0)),
                              c.gather(axes[1].elements, at(1))});
    return Expr::cast(wide, element) *
           (c.read(axes[0].weights, at(0)) * c.read(axes[1].weights, at(1)));
  }

  void addAverage(Dims output) {
    ValueId sum = c.reduce(c.name() + ".sum", wide, output, Combiner::Sum, reduction(),
                           [&](Indices i, Indices p) { return weighted(i, p); });
    c.output(0, c.define(c.name(), output, [&](Indices i) {
      Expr points = pointsOf(axes[0], i[0]) * pointsOf(axes[1], i[0]);
      return Expr::cast(type, c.read(sum, i) / Expr::binary(BinaryOp::Max, points, real(1)));
    }));
  }

  /// Of the weighted elements, as ONNX has it, not of the points.
  void addMaximum(Dims output) {
    bool isUneven = axes[0].pointsOf.has_value();
    ValueId greatest =
        c.reduce(c.name() + ".greatest", wide, output, Combiner::Max, reduction(),
                 [&](Indices i, Indices p) {
                   Expr value = weighted(i, p);
                   return isUneven
                              ? Expr::select(both(hasPoint(axes[0], i[0], p[0]),
                                                  hasPoint(axes[1], i[0], p[1])),
                                             value, real(-std::numeric_limits<double>::infinity()))
                              : value;
                 });
    c.output(0, c.define(c.name(), output, [&](Indices i) {
      Expr value = c.read(greatest, i);
      if (isUneven) // A region without points has no greatest one.
        value =
            Expr::select(both(hasPoint(axes[0], i[0], Index(0)), hasPoint(axes[1], i[0], Index(0))),
                         value, real(0));
      return Expr::cast(type, value);
    }));
  }

  OpContext &c;
  const Regions &r;
  ValueId x, rois;
  ElementType type, wide;
  Extent count; ///< Of regions.
  RegionAxis axes[2];
};

Status roiAlign(OpContext &c) {
  ValueId x = c.input(0), rois = c.input(1), batches = c.input(2);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, rois));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(x, 4, "its input"));
  if (c.rank(rois) != 2 || c.extent(rois, 1) != 4)
    return c.error("its rois of shape " + shapeString(c.dims(rois)) +
                   " must have two dimensions, of which the last is 4");
  if (!isInteger(c.type(batches)) || c.dims(batches) != std::vector<int64_t>{c.extent(rois, 0)})
    return c.error("its batch_indices must be one integer for each of its " +
                   llvm::Twine(c.extent(rois, 0)) + " rois");
  KINTSUGI_ASSIGN(Regions regions, readRegions(c));
  int64_t height = c.integer("output_height", 1), width = c.integer("output_width", 1);
  if (height < 1 || width < 1 || height > largestOutput || width > largestOutput)
    return c.error("its output_height and output_width of " + llvm::Twine(height) + " and " +
                   llvm::Twine(width) + " are out of range");
  KINTSUGI_ASSIGN(Shape output,
                  c.makeShape(std::vector{c.extent(rois, 0), c.extent(x, 1), height, width}));
  if (llvm::is_contained(output, Extent(0))) {
    c.output(0, c.define(c.name(), output, [&](Indices) { return number(c.type(x), 0); }));
    return Status::success();
  }
  if (c.count(x) == 0)
    return c.error("its input of shape " + shapeString(c.dims(x)) + " has nothing to read");
  KINTSUGI_RETURN_IF_ERROR(c.requireWithin(batches, 0, c.extent(x, 0), "batch index"));
  return RegionPool(c, regions).pool(height, width);
}

} // namespace

OperatorTable roiAlignOperators() {
  static const Operator table[] = {
      {"RoiAlign", 10, 3, roiAlign},
  };
  return table;
}

} // namespace kintsugi::import
