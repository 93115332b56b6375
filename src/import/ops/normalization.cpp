//===- normalization.cpp - Normalizations ------------------------------------===//
//
// Scales are f32 where the tensor is narrower, as statistics are.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/statistics.h"

namespace kintsugi::import {
namespace {

using te::Combiner;
using te::UnaryOp;

/// A vector with one number for each channel (dimension 1).
Status requireChannels(OpContext &c, unsigned input, int64_t channels, llvm::StringRef role) {
  ValueId value = c.input(input);
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(value, 1, role));
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(value));
  if (c.extent(value, 0) == channels)
    return Status::success();
  return c.error(role + " has " + llvm::Twine(c.extent(value, 0)) + " elements for " +
                 llvm::Twine(channels) + " channels");
}

/// y = x * scale[channel] + shift[channel], with scale and shift of the wide type.
ValueId scaledChannels(OpContext &c, ValueId x, ValueId scale, ValueId shift) {
  ElementType wide = c.type(scale);
  return c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr scaled = Expr::cast(wide, c.read(x, i)) * c.read(scale, {i[1]});
    return Expr::cast(c.type(x), scaled + c.read(shift, {i[1]}));
  });
}

/// The statistics of a batch in training, and the running ones that they update.
struct BatchStatistics {
  ValueId mean, variance;
};

BatchStatistics trainingStatistics(OpContext &c, ValueId x, double momentum) {
  llvm::SmallVector<unsigned> axes = dimensionsFrom(0, c.rank(x));
  axes.erase(axes.begin() + 1);
  Groups groups(c, x, axes);
  ElementType wide = accumulatorFor(c.type(x));
  BatchStatistics batch;
  batch.mean = meanOf(c, c.name() + ".mean", x, groups, itself);
  ValueId centered = c.define(c.name() + ".centered", c.shape(x), [&](Indices i) {
    return Expr::cast(wide, c.read(x, i)) - c.read(batch.mean, {i[1]});
  });
  batch.variance = meanOf(c, c.name() + ".variance", centered, groups, squared);
  auto updated = [&](unsigned output, ValueId old, ValueId now) {
    if (!c.hasOutput(output))
      return;
    c.output(output, c.define(c.name(output), c.shape(old), [&](Indices i) {
      Expr kept = Expr::cast(wide, c.read(old, i)) * Expr::literal(wide, momentum);
      return Expr::cast(c.type(old), kept + c.read(now, i) * Expr::literal(wide, 1 - momentum));
    }));
  };
  updated(1, c.input(3), batch.mean);
  updated(2, c.input(4), batch.variance);
  return batch;
}

Status batchNormalization(OpContext &c) {
  ValueId x = c.input(0), gamma = c.input(1), beta = c.input(2);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  if (c.rank(x) < 2)
    return c.error("its input must have a batch and a channel dimension");
  static const char *const roles[] = {"", "scale", "B", "mean", "var"};
  for (unsigned k = 1; k < 5; ++k)
    KINTSUGI_RETURN_IF_ERROR(requireChannels(c, k, c.extent(x, 1), roles[k]));
  if (c.opset() < 9 && !c.integer("spatial", 1))
    return c.error("statistics for each position (spatial = 0) are not supported");
  bool training = c.opset() >= 14 && c.integer("training_mode", 0);
  for (unsigned k = 1; !training && k < c.numOutputs(); ++k)
    if (c.hasOutput(k))
      return c.error("its statistics are outputs, as in training; export the model for inference");
  BatchStatistics given{c.input(3), c.input(4)};
  if (training)
    given = trainingStatistics(c, x, c.real("momentum", 0.9f));
  ElementType wide = accumulatorFor(c.type(x));
  double epsilon = c.real("epsilon", 1e-5f);
  auto read = [&](ValueId value, Indices i) { return Expr::cast(wide, c.read(value, i)); };
  ValueId scale = c.define(c.name() + ".scale", c.shape(gamma), [&](Indices i) {
    Expr deviation =
        Expr::unary(UnaryOp::Sqrt, read(given.variance, i) + Expr::literal(wide, epsilon));
    return read(gamma, i) / deviation;
  });
  ValueId shift = c.define(c.name() + ".shift", c.shape(beta), [&](Indices i) {
    return read(beta, i) - read(given.mean, i) * c.read(scale, i);
  });
  c.output(0, scaledChannels(c, x, scale, shift));
  return Status::success();
}

Status instanceNormalization(OpContext &c) {
  ValueId x = c.input(0), gamma = c.input(1), beta = c.input(2);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  if (c.rank(x) < 3)
    return c.error("its input must have a batch, a channel and spatial dimensions");
  KINTSUGI_RETURN_IF_ERROR(requireChannels(c, 1, c.extent(x, 1), "scale"));
  KINTSUGI_RETURN_IF_ERROR(requireChannels(c, 2, c.extent(x, 1), "B"));
  Groups groups(c, x, dimensionsFrom(2, c.rank(x)));
  Standardized s = standardized(c, x, groups, c.real("epsilon", 1e-5f));
  ElementType wide = c.type(s.centered);
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr scale = c.read(s.inverse, groups.outerOf(i)) * Expr::cast(wide, c.read(gamma, {i[1]}));
    return Expr::cast(c.type(x),
                      c.read(s.centered, i) * scale + Expr::cast(wide, c.read(beta, {i[1]})));
  }));
  return Status::success();
}

/// An optional scale or bias that broadcasts to x.
Status requireBroadcasts(OpContext &c, unsigned input, llvm::StringRef role) {
  if (!c.hasInput(input))
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(input)));
  KINTSUGI_ASSIGN(Shape common, c.broadcast({c.input(0), c.input(input)}));
  if (Dims(common) == c.shape(c.input(0)))
    return Status::success();
  return c.error(role + " of shape " + shapeString(c.dims(c.input(input))) +
                 " does not broadcast to its input");
}

/// A statistic as an output of the input's rank, with extents 1 where it was reduced.
void outputStatistic(OpContext &c, unsigned number, ValueId statistic, const Groups &groups) {
  if (!c.hasOutput(number))
    return;
  Shape shape;
  for (unsigned d = 0, next = 0; d < groups.reduced.size(); ++d)
    shape.push_back(groups.reduced[d] ? Extent(1) : groups.outer[next++]);
  c.output(number, c.reshape(c.name(number), statistic, shape));
}

Status layerNormalization(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_RETURN_IF_ERROR(requireBroadcasts(c, 1, "Scale"));
  KINTSUGI_RETURN_IF_ERROR(requireBroadcasts(c, 2, "B"));
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", -1), c.rank(x)));
  Groups groups(c, x, dimensionsFrom(axis, c.rank(x)));
  Standardized s = standardized(c, x, groups, c.real("epsilon", 1e-5f));
  ElementType wide = c.type(s.centered);
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr y = c.read(s.centered, i) * c.read(s.inverse, groups.outerOf(i)) *
             Expr::cast(wide, c.readBroadcast(c.input(1), i));
    if (c.hasInput(2))
      y = y + Expr::cast(wide, c.readBroadcast(c.input(2), i));
    return Expr::cast(c.type(x), y);
  }));
  outputStatistic(c, 1, s.mean, groups);
  outputStatistic(c, 2, s.inverse, groups);
  return Status::success();
}

Status rmsNormalization(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_RETURN_IF_ERROR(requireBroadcasts(c, 1, "scale"));
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", -1), c.rank(x)));
  Groups groups(c, x, dimensionsFrom(axis, c.rank(x)));
  ValueId meanSquare = meanOf(c, c.name() + ".meansquare", x, groups, squared);
  ValueId inverse = inverseRoot(c, c.name() + ".inverse", meanSquare, c.real("epsilon", 1e-5f));
  ElementType wide = c.type(inverse);
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr y = Expr::cast(wide, c.read(x, i)) * c.read(inverse, groups.outerOf(i));
    return Expr::cast(c.type(x), y * Expr::cast(wide, c.readBroadcast(c.input(1), i)));
  }));
  return Status::success();
}

/// Scale and bias belong to channels since operator set 21, to groups before.
Status groupNormalization(OpContext &c) {
  ValueId x = c.input(0), gamma = c.input(1), beta = c.input(2);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  if (c.rank(x) < 2)
    return c.error("its input must have a batch and a channel dimension");
  int64_t groupCount = c.integer("num_groups", 0), channels = c.extent(x, 1);
  if (groupCount < 1 || channels % groupCount != 0)
    return c.error(llvm::Twine(channels) + " channels can't be divided into " +
                   llvm::Twine(groupCount) + " groups");
  int64_t perGroup = channels / groupCount;
  bool byChannel = c.opset() >= 21;
  KINTSUGI_RETURN_IF_ERROR(requireChannels(c, 1, byChannel ? channels : groupCount, "scale"));
  KINTSUGI_RETURN_IF_ERROR(requireChannels(c, 2, byChannel ? channels : groupCount, "bias"));
  Shape split(c.shape(x).begin(), c.shape(x).end());
  split[1] = groupCount;
  split.insert(split.begin() + 2, Extent(perGroup));
  ValueId grouped = c.reshape(c.name() + ".grouped", x, split);
  Groups groups(c, grouped, dimensionsFrom(2, split.size()));
  Standardized s = standardized(c, grouped, groups, c.real("epsilon", 1e-5f));
  ElementType wide = c.type(s.centered);
  ValueId y = c.define(c.name() + ".scaled", split, [&](Indices i) {
    Index place = byChannel ? i[1] * perGroup + i[2] : i[1];
    Expr scaled = c.read(s.centered, i) * c.read(s.inverse, {i[0], i[1]}) *
                  Expr::cast(wide, c.read(gamma, {place}));
    return Expr::cast(c.type(x), scaled + Expr::cast(wide, c.read(beta, {place})));
  });
  c.output(0, c.reshape(c.name(), y, c.shape(x)));
  return Status::success();
}

Status meanVarianceNormalization(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  std::vector<int64_t> given = c.integers("axes", {0, 2, 3});
  KINTSUGI_ASSIGN(auto axes, c.axes(given, c.rank(x)));
  Groups groups(c, x, axes);
  // The specification adds 1e-9 to the deviation, not to the variance.
  Standardized s = standardized(c, x, groups, 0);
  ElementType wide = c.type(s.centered);
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr deviation = Expr::literal(wide, 1.0) / c.read(s.inverse, groups.outerOf(i));
    return Expr::cast(c.type(x), c.read(s.centered, i) / (deviation + Expr::literal(wide, 1e-9)));
  }));
  return Status::success();
}

Status lpNormalization(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", -1), c.rank(x)));
  int64_t p = c.integer("p", 2);
  if (p != 1 && p != 2)
    return c.error("p must be 1 or 2");
  Groups groups(c, x, {axis});
  ElementType wide = accumulatorFor(c.type(x));
  ValueId sum = c.reduce(c.name() + ".sum", wide, groups.outer, Combiner::Sum, groups.reduction,
                         [&](Indices i, Indices r) {
                           Expr value = Expr::cast(wide, c.read(x, groups.source(i, r)));
                           return p == 1 ? Expr::unary(UnaryOp::Abs, value) : value * value;
                         });
  ValueId norm = c.define(c.name() + ".norm", groups.outer, [&](Indices i) {
    return p == 1 ? c.read(sum, i) : Expr::unary(UnaryOp::Sqrt, c.read(sum, i));
  });
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr length = c.read(norm, groups.outerOf(i));
    Expr isZero = Expr::binary(te::BinaryOp::Equal, length, Expr::literal(wide, 0.0));
    Expr zero = Expr::literal(wide, 0.0);
    return Expr::cast(c.type(x),
                      Expr::select(isZero, zero, Expr::cast(wide, c.read(x, i)) / length));
  }));
  return Status::success();
}

/// y = x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta
Status lrn(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  int64_t size = c.integer("size", 0);
  if (c.rank(x) < 2 || size < 1 || size > 1 << 20)
    return c.error("it needs channels and a positive size");
  double alpha = c.real("alpha", 0.0001f), beta = c.real("beta", 0.75), bias = c.real("bias", 1);
  ElementType wide = accumulatorFor(c.type(x));
  ValueId sum = c.reduce(c.name() + ".sum", wide, c.shape(x), Combiner::Sum, {Extent(size)},
                         [&](Indices i, Indices r) {
                           llvm::SmallVector<Index> at(i.begin(), i.end());
                           at[1] = i[1] + r[0] - Index((size - 1) / 2);
                           Expr zero = Expr::literal(c.type(x), 0.0);
                           return squared(Expr::cast(wide, c.readOr(x, at, zero)));
                         });
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr base = Expr::literal(wide, bias) + Expr::literal(wide, alpha / size) * c.read(sum, i);
    Expr power = Expr::binary(te::BinaryOp::Pow, base, Expr::literal(wide, beta));
    return Expr::cast(c.type(x), Expr::cast(wide, c.read(x, i)) / power);
  }));
  return Status::success();
}

} // namespace

OperatorTable normalizationOperators() {
  static const Operator table[] = {
      {"BatchNormalization", 1, 5, batchNormalization},
      {"InstanceNormalization", 1, 3, instanceNormalization},
      {"LayerNormalization", 17, 2, layerNormalization},
      {"RMSNormalization", 23, 2, rmsNormalization},
      {"GroupNormalization", 18, 3, groupNormalization},
      {"MeanVarianceNormalization", 9, 1, meanVarianceNormalization},
      {"LpNormalization", 1, 1, lpNormalization},
      {"LRN", 1, 1, lrn},
  };
  return table;
}

} // namespace kintsugi::import
