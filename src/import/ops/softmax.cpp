//===- softmax.cpp - Softmax and its relatives -------------------------------===//
//
// The maximum is always subtracted before the exponential.
//
//===----------------------------------------------------------------------===//

#include "import/ops/softmax.h"

#include "import/ops/families.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::Combiner;
using te::UnaryOp;

/// The dimensions that are normalized over: one axis since operator set 13, before that all from
/// the axis on.
struct Normalized {
  unsigned first, end; ///< Equal where the tensor is a scalar.
  Shape outer;         ///< The others' extents.
  Shape reduction;     ///< Theirs.

  llvm::SmallVector<Index> source(Indices i, Indices r) const {
    llvm::SmallVector<Index> result(i.begin(), i.begin() + first);
    if (first < end)
      result.append(r.begin(), r.end());
    result.append(i.begin() + first, i.end());
    return result;
  }
  /// The outer coordinates of an element.
  llvm::SmallVector<Index> outerOf(Indices i) const {
    llvm::SmallVector<Index> result(i.begin(), i.begin() + first);
    result.append(i.begin() + end, i.end());
    return result;
  }
};

Normalized overDimensions(Dims shape, unsigned first, unsigned end) {
  Normalized over{first, end, {}, {}};
  for (unsigned d = 0; d < shape.size(); ++d)
    (d >= first && d < end ? over.reduction : over.outer).push_back(shape[d]);
  return over;
}

Expected<Normalized> normalizedOver(OpContext &c) {
  ValueId x = c.input(0);
  bool single = c.opset() >= 13;
  int64_t given = c.integer("axis", single ? -1 : 1);
  if (c.rank(x) == 0 && (given == 0 || given == -1)) // As if it were a list of one number.
    return Normalized{0, 0, {}, {Extent(1)}};
  KINTSUGI_ASSIGN(unsigned axis, c.axis(given, c.rank(x)));
  return overDimensions(c.shape(x), axis, single ? axis + 1 : c.rank(x));
}

struct Exponentials {
  Normalized over;
  ElementType wide;
  ValueId greatest, shifted, sum;
};

/// max; x - max (or its exponential); the sum of the exponentials.
Exponentials exponentials(Builder &b, const std::string &name, ValueId x, Normalized over,
                          bool keepExponential) {
  Exponentials e{std::move(over), accumulatorFor(b.type(x)), {}, {}, {}};
  e.greatest = b.reduce(name + ".max", b.type(x), e.over.outer, Combiner::Max, e.over.reduction,
                        [&](Indices i, Indices r) { return b.read(x, e.over.source(i, r)); });
  std::string step = keepExponential ? ".exp" : ".shifted";
  e.shifted = b.define(name + step, b.shape(x), [&](Indices i) {
    Expr shifted = Expr::cast(e.wide, b.read(x, i)) -
                   Expr::cast(e.wide, b.read(e.greatest, e.over.outerOf(i)));
    return keepExponential ? Expr::unary(UnaryOp::Exp, shifted) : shifted;
  });
  e.sum = b.reduce(name + ".sum", e.wide, e.over.outer, Combiner::Sum, e.over.reduction,
                   [&](Indices i, Indices r) {
                     Expr term = b.read(e.shifted, e.over.source(i, r));
                     return keepExponential ? term : Expr::unary(UnaryOp::Exp, term);
                   });
  return e;
}

ValueId logarithms(Builder &b, const std::string &name, ValueId x, Normalized over,
                   ElementType stored) {
  Exponentials e = exponentials(b, name, x, std::move(over), false);
  return b.define(name, b.shape(x), [&](Indices i) {
    Expr log = Expr::unary(UnaryOp::Log, b.read(e.sum, e.over.outerOf(i)));
    return Expr::cast(stored, b.read(e.shifted, i) - log);
  });
}

Softmax quotients(Builder &b, const std::string &name, ValueId x, Normalized over,
                  llvm::function_ref<Expr(Expr)> rounded) {
  Exponentials e = exponentials(b, name, x, std::move(over), true);
  ValueId result = b.define(name, b.shape(x), [&](Indices i) {
    return rounded(b.read(e.shifted, i) / b.read(e.sum, e.over.outerOf(i)));
  });
  return {result, e.greatest, e.sum};
}

Status softmax(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_ASSIGN(Normalized over, normalizedOver(c));
  auto rounded = [&](Expr quotient) { return Expr::cast(c.type(x), quotient); };
  c.output(0, quotients(c, c.name(), x, std::move(over), rounded).result);
  return Status::success();
}

Status logSoftmax(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_ASSIGN(Normalized over, normalizedOver(c));
  c.output(0, logarithms(c, c.name(), x, std::move(over), c.type(x)));
  return Status::success();
}

/// 1 at the first greatest element, 0 elsewhere.
Status hardmax(OpContext &c) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_ASSIGN(Normalized over, normalizedOver(c));
  auto position = [&](Indices r) {
    return Expr::index(te::linearize(r, over.reduction), ElementType::I64);
  };
  ValueId best = c.argReduce(
      c.name() + ".argmax", over.outer, Combiner::ArgMax, over.reduction,
      [&](Indices i, Indices r) { return c.read(x, over.source(i, r)); },
      [&](Indices, Indices r) { return position(r); });
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr here = position(over.first < over.end ? i.slice(over.first, over.end - over.first)
                                               : Indices(Index(0)));
    Expr isBest = Expr::binary(te::BinaryOp::Equal, here, c.read(best, over.outerOf(i)));
    return Expr::select(isBest, Expr::literal(c.type(x), 1.0), Expr::literal(c.type(x), 0.0));
  }));
  return Status::success();
}

} // namespace

Softmax softmaxAlong(Builder &b, const std::string &name, ValueId x, unsigned axis,
                     ElementType stored) {
  return quotients(b, name, x, overDimensions(b.shape(x), axis, axis + 1),
                   [&](Expr quotient) { return Expr::stored(stored, quotient); });
}

ValueId logSoftmaxAlong(Builder &b, const std::string &name, ValueId x, unsigned axis,
                        ElementType stored) {
  return logarithms(b, name, x, overDimensions(b.shape(x), axis, axis + 1), stored);
}

OperatorTable softmaxOperators() {
  static const Operator table[] = {
      {"Softmax", 1, 1, softmax},
      {"LogSoftmax", 1, 1, logSoftmax},
      {"Hardmax", 1, 1, hardmax},
  };
  return table;
}

} // namespace kintsugi::import
