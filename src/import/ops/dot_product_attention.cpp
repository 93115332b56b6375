#include "import/ops/dot_product_attention.h"

#include "import/ops/arithmetic.h"
#include "import/ops/softmax.h"

#include <cmath>

namespace kintsugi::import {
namespace {

using te::Combiner;

class Attending {
public:
  Attending(Builder &b, const std::string &name, const DotProductAttention &attention)
      : b(b), name(name), a(attention), type(b.type(a.queries.tensor)), wide(accumulatorFor(type)),
        group(a.queries.heads / a.keys.heads),
        shape{a.queries.batch, a.queries.heads, a.queries.tokens, a.keys.tokens} {}

  AttentionSteps steps() {
    AttentionSteps s;
    s.scores = scores();
    s.bounded = a.softcap > 0 ? bounded(s.scores) : s.scores;
    s.masked = a.masked ? masked(s.bounded) : s.bounded;
    Softmax softmax = softmaxAlong(b, name + ".softmax", precise(s.masked), 3, stored());
    s.weights = b.castTo(name + ".weights", softmax.result, type);
    if (a.sink) {
      assert(!a.mayHideRows && "the greatest score is a number");
      s.result = besideSink(weighted(name + ".alone", s.weights), softmax);
      return s;
    }
    if (!a.mayHideRows) {
      s.result = weighted(name, s.weights);
      return s;
    }
    s.result = orZero(name, weighted(name + ".weighted", s.weights), softmax.greatest);
    s.weights = orZero(name + ".seen", s.weights, softmax.greatest);
    return s;
  }

private:
  ValueId scores() {
    ValueId product =
        b.reduce(name + ".product", wide, shape, Combiner::Sum, {Extent(a.queries.size)},
                 [&](Indices i, Indices r) {
                   return Expr::cast(wide, a.queries.read(b, i[0], i[1], i[2], r[0])) *
                          Expr::cast(wide, a.keys.read(b, i[0], i[1].floorDiv(group), i[3], r[0]));
                 });
    return b.define(name + ".scores", shape, [&](Indices i) {
      return Expr::stored(type, b.read(product, i) * number(wide, a.scale));
    });
  }

  ValueId bounded(ValueId scores) {
    return b.define(name + ".bounded", shape, [&](Indices i) {
      Expr cap = number(wide, a.softcap);
      Expr share = Expr::unary(te::UnaryOp::Tanh, Expr::cast(wide, b.read(scores, i)) / cap);
      return Expr::stored(type, share * cap);
    });
  }

  ValueId masked(ValueId scores) {
    return b.define(name + ".masked", shape,
                    [&](Indices i) { return a.masked(i, b.read(scores, i)); });
  }

  ElementType stored() const { return a.precision.value_or(type); }
  ValueId precise(ValueId scores) { return b.castTo(name + ".precise", scores, stored()); }

  ValueId weighted(std::string step, ValueId weights) {
    Shape result{shape[0], shape[1], shape[2], a.values.size};
    return b.reduce(std::move(step), type, result, Combiner::Sum, {shape[3]},
                    [&](Indices i, Indices r) {
                      Index head = i[1].floorDiv(group);
                      return Expr::cast(wide, b.read(weights, {i[0], i[1], i[2], r[0]})) *
                             Expr::cast(wide, a.values.read(b, i[0], head, r[0], i[3]));
                    });
  }

  /// The share of `x` that is not the sink's. An exponential of a sink that is far above the scores
  /// may be infinite; nothing is left of the result then.
  ValueId besideSink(ValueId x, const Softmax &softmax) {
    return b.define(name, b.shape(x), [&](Indices i) {
      Indices row = i.drop_back();
      Expr sum = b.read(softmax.sum, row), sink = Expr::cast(sum.type(), a.sink(row));
      Expr above = sink - Expr::cast(sum.type(), b.read(softmax.greatest, row));
      Expr share = sum / (sum + Expr::unary(te::UnaryOp::Exp, above));
      return Expr::cast(type, Expr::cast(sum.type(), b.read(x, i)) * share);
    });
  }

  /// `x` [batch, head, query, ..] where the query sees a key.
  ValueId orZero(std::string step, ValueId x, ValueId greatest) {
    return b.define(std::move(step), b.shape(x), [&](Indices i) {
      Expr most = b.read(greatest, i.drop_back());
      Expr seesNone = Expr::binary(te::BinaryOp::Equal, most, number(most.type(), -INFINITY));
      return Expr::select(seesNone, number(type, 0), b.read(x, i));
    });
  }

  Builder &b;
  const std::string &name;
  const DotProductAttention &a;
  ElementType type, wide;
  int64_t group; ///< Heads of queries that share one of keys.
  Shape shape;
};

} // namespace

AttentionSteps attend(Builder &b, const std::string &name, const DotProductAttention &attention) {
  return Attending(b, name, attention).steps();
}

} // namespace kintsugi::import
