//===- reduce.cpp - Reductions over axes -------------------------------------===//

#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;
using te::UnaryOp;

/// Which dimensions a reduction removes, and the shape it leaves.
struct Reducing {
  llvm::SmallVector<unsigned> axes;
  bool keep = true;
  Shape result;    ///< Reduced dimensions have extent 1 or are gone.
  Shape reduction; ///< The extents of the axes.

  /// The coordinates in the input of result coordinates `i` and reduction coordinates `r`.
  llvm::SmallVector<Index> source(Indices i, Indices r, unsigned rank) const {
    llvm::SmallVector<Index> coordinates(rank);
    unsigned next = 0;
    for (unsigned d = 0; d < rank; ++d) {
      auto found = llvm::find(axes, d);
      if (found == axes.end())
        coordinates[d] = i[next++];
      else
        coordinates[d] = r[found - axes.begin()], next += keep;
    }
    return coordinates;
  }
};

Reducing reducingOver(OpContext &c, ValueId x, llvm::SmallVector<unsigned> axes, bool keep) {
  Reducing result{std::move(axes), keep, {}, {}};
  for (unsigned d = 0; d < c.rank(x); ++d) {
    if (!llvm::is_contained(result.axes, d))
      result.result.push_back(c.shape(x)[d]);
    else if (keep)
      result.result.push_back(1);
  }
  for (unsigned axis : result.axes)
    result.reduction.push_back(c.shape(x)[axis]);
  return result;
}

/// Reads the axes, which became an input in operator set `inputSince`. Nothing where the operator
/// leaves its input as it is (no axes and noop_with_empty_axes).
Expected<std::optional<Reducing>> reducing(OpContext &c, int64_t inputSince) {
  ValueId x = c.input(0);
  std::vector<int64_t> given;
  if (c.opset() >= inputSince) {
    KINTSUGI_ASSIGN(given, c.constantIntegers(1, "axes"));
  } else {
    given = c.integers("axes");
  }
  KINTSUGI_ASSIGN(llvm::SmallVector<unsigned> axes, c.axes(given, c.rank(x)));
  if (axes.empty() && c.integer("noop_with_empty_axes", 0))
    return std::optional<Reducing>();
  if (axes.empty())
    for (unsigned d = 0; d < c.rank(x); ++d)
      axes.push_back(d);
  llvm::sort(axes);
  return std::optional(reducingOver(c, x, std::move(axes), c.integer("keepdims", 1) != 0));
}

/// The parts of Reduce*: what is combined, how, and what becomes of the result.
struct Recipe {
  Combiner combiner;
  llvm::function_ref<Expr(Expr)> before;
  llvm::function_ref<Expr(Expr, double count)> after; ///< May be null.
};

Status reduceBy(OpContext &c, int64_t inputSince, const Recipe &recipe) {
  ValueId x = c.input(0);
  ElementType type = c.type(x), wide = accumulatorFor(type);
  KINTSUGI_ASSIGN(std::optional<Reducing> over, reducing(c, inputSince));
  if (!over) {
    c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
      Expr value = recipe.before(Expr::cast(wide, c.read(x, i)));
      return Expr::cast(type, recipe.after ? recipe.after(value, 1) : value);
    }));
    return Status::success();
  }
  bool last = !recipe.after;
  ValueId combined =
      c.reduce(last ? c.name() : c.name() + ".reduced", last ? type : wide, over->result,
               recipe.combiner, over->reduction, [&](Indices i, Indices r) {
                 auto source = over->source(i, r, c.rank(x));
                 return recipe.before(Expr::cast(wide, c.read(x, source)));
               });
  if (last) {
    c.output(0, combined);
    return Status::success();
  }
  double count = 1;
  for (Extent extent : over->reduction)
    count *= extent.constant();
  c.output(0, c.define(c.name(), over->result, [&](Indices i) {
    return Expr::cast(type, recipe.after(c.read(combined, i), count));
  }));
  return Status::success();
}

Expr itself(Expr x) { return x; }
Expr squared(Expr x) { return x * x; }
Expr absolute(Expr x) { return Expr::unary(UnaryOp::Abs, std::move(x)); }
Expr root(Expr x, double) { return Expr::unary(UnaryOp::Sqrt, std::move(x)); }
Expr logarithm(Expr x, double) { return Expr::unary(UnaryOp::Log, std::move(x)); }
Expr divided(Expr x, double count) { return x / Expr::literal(x.type(), count); }

Status numeric(OpContext &c) {
  if (c.type(c.input(0)) != ElementType::Bool)
    return Status::success();
  return c.error("booleans have no arithmetic");
}

Status reduceSum(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(numeric(c));
  return reduceBy(c, 13, {Combiner::Sum, itself, nullptr});
}

Status reduceMean(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(numeric(c));
  return reduceBy(c, 18, {Combiner::Sum, itself, divided});
}

Status reduceProd(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(numeric(c));
  return reduceBy(c, 18, {Combiner::Prod, itself, nullptr});
}

Status reduceMax(OpContext &c) {
  bool isBool = c.type(c.input(0)) == ElementType::Bool;
  return reduceBy(c, 18, {isBool ? Combiner::Or : Combiner::Max, itself, nullptr});
}

Status reduceMin(OpContext &c) {
  bool isBool = c.type(c.input(0)) == ElementType::Bool;
  return reduceBy(c, 18, {isBool ? Combiner::And : Combiner::Min, itself, nullptr});
}

Status reduceL1(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(numeric(c));
  return reduceBy(c, 18, {Combiner::Sum, absolute, nullptr});
}

Status reduceL2(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(0)));
  return reduceBy(c, 18, {Combiner::Sum, squared, root});
}

Status reduceSumSquare(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(numeric(c));
  return reduceBy(c, 18, {Combiner::Sum, squared, nullptr});
}

Status reduceLogSum(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(0)));
  return reduceBy(c, 18, {Combiner::Sum, itself, logarithm});
}

/// log sum exp(x) = m + log sum exp(x - m), m the maximum (or 0 where that is infinite).
Status reduceLogSumExp(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  ElementType type = c.type(x), wide = accumulatorFor(type);
  KINTSUGI_ASSIGN(std::optional<Reducing> over, reducing(c, 18));
  if (!over) {
    c.output(0, x);
    return Status::success();
  }
  auto element = [&](Indices i, Indices r) {
    return Expr::cast(wide, c.read(x, over->source(i, r, c.rank(x))));
  };
  ValueId greatest =
      c.reduce(c.name() + ".max", wide, over->result, Combiner::Max, over->reduction, element);
  ValueId shift = c.define(c.name() + ".shift", over->result, [&](Indices i) {
    Expr m = c.read(greatest, i);
    return Expr::select(Expr::unary(UnaryOp::IsInf, m), Expr::literal(wide, 0.0), m);
  });
  ValueId sum = c.reduce(c.name() + ".sum", wide, over->result, Combiner::Sum, over->reduction,
                         [&](Indices i, Indices r) {
                           return Expr::unary(UnaryOp::Exp, element(i, r) - c.read(shift, i));
                         });
  c.output(0, c.define(c.name(), over->result, [&](Indices i) {
    return Expr::cast(type, c.read(shift, i) + Expr::unary(UnaryOp::Log, c.read(sum, i)));
  }));
  return Status::success();
}

template <Combiner combiner> Status argument(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(numeric(c));
  KINTSUGI_ASSIGN(unsigned axis, c.axis(c.integer("axis", 0), c.rank(x)));
  Reducing over = reducingOver(c, x, {axis}, c.integer("keepdims", 1) != 0);
  bool last = c.integer("select_last_index", 0) != 0;
  int64_t extent = c.extent(x, axis);
  if (extent == 0 && !llvm::is_contained(over.result, Extent(0)))
    return c.error("its axis " + llvm::Twine(axis) + " has no elements to choose from");
  // The first of equal keys wins; to find the last one, walk backwards.
  auto position = [&](Indices r) { return last ? Index(extent - 1) - r[0] : r[0]; };
  auto key = [&](Indices i, Indices r) {
    return c.read(x, over.source(i, {position(r)}, c.rank(x)));
  };
  auto payload = [&](Indices, Indices r) { return Expr::index(position(r), ElementType::I64); };
  c.output(0, c.argReduce(c.name(), over.result, combiner, over.reduction, key, payload));
  return Status::success();
}

} // namespace

OperatorTable reduceOperators() {
  static const Operator table[] = {
      {"ReduceSum", 1, 1, reduceSum},
      {"ReduceMean", 1, 1, reduceMean},
      {"ReduceProd", 1, 1, reduceProd},
      {"ReduceMax", 1, 1, reduceMax},
      {"ReduceMin", 1, 1, reduceMin},
      {"ReduceL1", 1, 1, reduceL1},
      {"ReduceL2", 1, 1, reduceL2},
      {"ReduceSumSquare", 1, 1, reduceSumSquare},
      {"ReduceLogSum", 1, 1, reduceLogSum},
      {"ReduceLogSumExp", 1, 1, reduceLogSumExp},
      {"ArgMax", 1, 1, argument<Combiner::ArgMax>},
      {"ArgMin", 1, 1, argument<Combiner::ArgMin>},
  };
  return table;
}

} // namespace kintsugi::import
