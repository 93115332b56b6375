//===- pooling.cpp - Pools ---------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/window.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;
using te::UnaryOp;

/// What no element is below: what stands in the pads of a maximum.
Expr lowest(ElementType type) {
  if (isFloat(type))
    return Expr::literal(type, -std::numeric_limits<double>::infinity());
  if (!isSigned(type))
    return Expr::literal(type, int64_t(0));
  return Expr::literal(type, std::numeric_limits<int64_t>::min() >> (64 - bitsOf(type)));
}

struct Pool {
  Windows windows;
  Shape output;    ///< [n, c, spatial...]
  Shape reduction; ///< The kernel.

  llvm::SmallVector<Index> source(Indices i, Indices r) const {
    llvm::SmallVector<Index> at{i[0], i[1]};
    auto positions = windowIndices(windows, i.drop_front(2), r);
    at.append(positions.begin(), positions.end());
    return at;
  }
};

Expected<Pool> readPool(OpContext &c) {
  ValueId x = c.input(0);
  if (c.rank(x) < 3)
    return c.error("its input of shape " + shapeString(c.dims(x)) +
                   " must have a batch, a channel and spatial dimensions");
  KINTSUGI_ASSIGN(std::vector<int64_t> kernel, kernelShape(c, x));
  KINTSUGI_ASSIGN(Windows windows, readWindows(c, x, kernel, c.integer("ceil_mode", 0) != 0));
  Pool pool{windows, {c.shape(x)[0], c.shape(x)[1]}, {}};
  for (const Window &w : windows) {
    pool.output.push_back(w.output);
    pool.reduction.push_back(w.kernel);
  }
  return pool;
}

/// The flat position in x of the greatest element of each window. With storage_order 1 the first
/// spatial dimension runs fastest within a channel.
Status outputPositions(OpContext &c, const Pool &pool, ValueId paddedInput) {
  ValueId x = c.input(0);
  bool columns = c.integer("storage_order", 0) != 0;
  auto key = [&](Indices i, Indices r) { return c.read(paddedInput, pool.source(i, r)); };
  auto payload = [&](Indices i, Indices r) {
    auto at = pool.source(i, r);
    Shape shape(c.shape(x).begin(), c.shape(x).end());
    for (auto [d, w] : llvm::enumerate(pool.windows))
      at[2 + d] = at[2 + d] - Index(w.padLow);
    if (columns) {
      std::reverse(at.begin() + 2, at.end());
      std::reverse(shape.begin() + 2, shape.end());
    }
    return Expr::index(te::linearize(at, shape), ElementType::I64);
  };
  c.output(1, c.argReduce(c.name(1), pool.output, Combiner::ArgMax, pool.reduction, key, payload));
  return Status::success();
}

Status maxPool(OpContext &c) {
  ValueId x = c.input(0);
  if (c.type(x) == ElementType::Bool)
    return c.error("booleans have no order");
  KINTSUGI_ASSIGN(Pool pool, readPool(c));
  ValueId input = padded(c, x, pool.windows, lowest(c.type(x)));
  c.output(0, c.reduce(c.name(), c.type(x), pool.output, Combiner::Max, pool.reduction,
                       [&](Indices i, Indices r) { return c.read(input, pool.source(i, r)); }));
  if (c.hasOutput(1))
    return outputPositions(c, pool, input);
  return Status::success();
}

/// How many positions of each window lie in the input, or in it and its pads.
std::vector<double> counts(const Window &w, bool includePads) {
  int64_t low = includePads ? -w.padLow : 0, high = w.input + (includePads ? w.padHigh : 0);
  std::vector<double> result;
  for (int64_t o = 0; o < w.output; ++o) {
    int64_t count = 0;
    for (int64_t k = 0; k < w.kernel; ++k) {
      int64_t position = o * w.stride + k * w.dilation - w.padLow;
      count += position >= low && position < high;
    }
    result.push_back(count);
  }
  return result;
}

/// The number of elements that an average divides by: a literal where all windows have as many,
/// else a product of one table for each dimension.
Expected<std::function<Expr(Indices)>> divisor(OpContext &c, const Pool &pool, ElementType wide) {
  bool includePads = c.integer("count_include_pad", 0) != 0;
  double common = 1;
  llvm::SmallVector<std::pair<unsigned, ValueId>> tables;
  for (auto [d, w] : llvm::enumerate(pool.windows)) {
    if (w.output > 1 << 24 || w.kernel > 1 << 24 || w.output * w.kernel > int64_t(1) << 30)
      return c.error("its windows are too many or too large");
    std::vector<double> number = counts(w, includePads);
    if (llvm::all_equal(number)) {
      common *= number.empty() ? 1 : number[0];
      continue;
    }
    KINTSUGI_ASSIGN(Tensor table, Tensor::create(wide, {int64_t(number.size())}));
    for (size_t o = 0; o < number.size(); ++o)
      storeDouble(wide, table.bytes(), o, number[o]);
    tables.push_back({d, c.constant(c.name() + ".count" + std::to_string(d), std::move(table))});
  }
  return std::function<Expr(Indices)>([&c, wide, common, tables](Indices i) {
    Expr product = Expr::literal(wide, common);
    for (auto [d, table] : tables)
      product = product * c.read(table, {i[2 + d]});
    return product;
  });
}

Status averagePool(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_ASSIGN(Pool pool, readPool(c));
  ElementType type = c.type(x), wide = accumulatorFor(type);
  KINTSUGI_ASSIGN(auto count, divisor(c, pool, wide));
  ValueId input = padded(c, x, pool.windows, Expr::literal(type, 0.0));
  ValueId sum = c.reduce(
      c.name() + ".sum", wide, pool.output, Combiner::Sum, pool.reduction,
      [&](Indices i, Indices r) { return Expr::cast(wide, c.read(input, pool.source(i, r))); });
  c.output(0, c.define(c.name(), pool.output,
                       [&](Indices i) { return Expr::cast(type, c.read(sum, i) / count(i)); }));
  return Status::success();
}

/// The p-th root of the sum of |x|^p.
Expr power(Expr x, double p) {
  Expr magnitude = Expr::unary(UnaryOp::Abs, x);
  if (p == 1)
    return magnitude;
  if (p == 2)
    return x * x;
  return Expr::binary(BinaryOp::Pow, magnitude, Expr::literal(x.type(), p));
}

Expr root(Expr x, double p) {
  if (p == 1)
    return x;
  if (p == 2)
    return Expr::unary(UnaryOp::Sqrt, x);
  return Expr::binary(BinaryOp::Pow, x, Expr::literal(x.type(), 1 / p));
}

Expected<double> normOrder(OpContext &c) {
  // A real number before operator set 2.
  double p = c.opset() < 2 ? c.real("p", 2) : c.integer("p", 2);
  if (!(p > 0))
    return c.error("p must be positive");
  return p;
}

Status lpPool(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_ASSIGN(double p, normOrder(c));
  KINTSUGI_ASSIGN(Pool pool, readPool(c));
  ElementType type = c.type(x), wide = accumulatorFor(type);
  ValueId input = padded(c, x, pool.windows, Expr::literal(type, 0.0));
  ValueId sum = c.reduce(c.name() + ".sum", wide, pool.output, Combiner::Sum, pool.reduction,
                         [&](Indices i, Indices r) {
                           return power(Expr::cast(wide, c.read(input, pool.source(i, r))), p);
                         });
  c.output(0, c.define(c.name(), pool.output,
                       [&](Indices i) { return Expr::cast(type, root(c.read(sum, i), p)); }));
  return Status::success();
}

/// A reduction of all spatial dimensions to extents of 1.
struct GlobalPool {
  Shape output, reduction;
  double count = 1;
};

Expected<GlobalPool> readGlobal(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  if (c.rank(x) < 2)
    return c.error("its input must have a batch and a channel dimension");
  GlobalPool pool{{c.shape(x)[0], c.shape(x)[1]}, {}};
  for (Extent extent : c.shape(x).drop_front(2)) {
    pool.output.push_back(1);
    pool.reduction.push_back(extent);
    pool.count *= extent.constant();
  }
  return pool;
}

llvm::SmallVector<Index> globalSource(Indices i, Indices r) {
  llvm::SmallVector<Index> at{i[0], i[1]};
  at.append(r.begin(), r.end());
  return at;
}

Status globalMaxPool(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(GlobalPool pool, readGlobal(c));
  c.output(0, c.reduce(c.name(), c.type(x), pool.output, Combiner::Max, pool.reduction,
                       [&](Indices i, Indices r) { return c.read(x, globalSource(i, r)); }));
  return Status::success();
}

Status globalSum(OpContext &c, double p, llvm::function_ref<Expr(Expr, double count)> finish) {
  ValueId x = c.input(0);
  KINTSUGI_ASSIGN(GlobalPool pool, readGlobal(c));
  ElementType type = c.type(x), wide = accumulatorFor(type);
  ValueId sum = c.reduce(c.name() + ".sum", wide, pool.output, Combiner::Sum, pool.reduction,
                         [&](Indices i, Indices r) {
                           Expr value = Expr::cast(wide, c.read(x, globalSource(i, r)));
                           return p == 0 ? value : power(value, p);
                         });
  c.output(0, c.define(c.name(), pool.output, [&](Indices i) {
    return Expr::cast(type, finish(c.read(sum, i), pool.count));
  }));
  return Status::success();
}

Status globalAveragePool(OpContext &c) {
  return globalSum(c, 0,
                   [](Expr sum, double count) { return sum / Expr::literal(sum.type(), count); });
}

Status globalLpPool(OpContext &c) {
  KINTSUGI_ASSIGN(double p, normOrder(c));
  return globalSum(c, p, [&](Expr sum, double) { return root(sum, p); });
}

} // namespace

OperatorTable poolingOperators() {
  static const Operator table[] = {
      {"MaxPool", 1, 1, maxPool},
      {"AveragePool", 1, 1, averagePool},
      {"LpPool", 1, 1, lpPool},
      {"GlobalMaxPool", 1, 1, globalMaxPool},
      {"GlobalAveragePool", 1, 1, globalAveragePool},
      {"GlobalLpPool", 1, 1, globalLpPool},
  };
  return table;
}

} // namespace kintsugi::import
