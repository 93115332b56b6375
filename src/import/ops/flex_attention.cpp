//===- flex_attention.cpp - Attention whose scores and weights graphs change --===//
//
// ai.onnx.preview's FlexAttention. The graphs are imported where they stand, so that rules and
// schedules see attention in the steps that exporters write.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/families.h"
#include "import/ops/softmax.h"

#include <cmath>

namespace kintsugi::import {
namespace {

using te::Combiner;

struct Flexible {
  ValueId queries, keys, values; ///< [batch, head, token, element]
  int64_t group;                 ///< Heads of queries that share one of keys.
  ElementType precision;         ///< Of scores and weights.
};

Status requireShapes(OpContext &c) {
  std::vector<int64_t> q = c.dims(c.input(0)), k = c.dims(c.input(1)), v = c.dims(c.input(2));
  std::string shapes = "its queries, keys and values of shapes " + shapeString(q) + ", " +
                       shapeString(k) + " and " + shapeString(v);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    return c.error(shapes + " must have 4 dimensions");
  if (q[0] != k[0] || q[0] != v[0] || q[3] != k[3] || k[1] != v[1] || k[2] != v[2])
    return c.error(shapes + " don't fit each other");
  if (k[1] == 0 || q[1] % k[1] != 0)
    return c.error("its " + llvm::Twine(q[1]) + " heads of queries can't share " +
                   llvm::Twine(k[1]) + " heads of keys evenly");
  return Status::success();
}

Expected<Flexible> readFlexible(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(c.requireOnly({"scale", "score_mod", "prob_mod", "softmax_precision"}));
  for (unsigned k = 0; k < 3; ++k) {
    KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(k)));
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(0), c.input(k)));
  }
  KINTSUGI_RETURN_IF_ERROR(requireShapes(c));
  Flexible f{c.input(0), c.input(1), c.input(2), 0, accumulatorFor(c.type(c.input(0)))};
  f.group = c.extent(f.queries, 1) / c.extent(f.keys, 1);
  if (c.hasAttribute("softmax_precision")) {
    KINTSUGI_ASSIGN(f.precision, c.elementType("softmax_precision", 0));
  }
  if (!isFloat(f.precision) || !computes(f.precision))
    return c.error(llvm::Twine("its softmax_precision is ") + nameOf(f.precision) +
                   ", but must be a type of floating-point numbers");
  return f;
}

ValueId scoresOf(OpContext &c, const Flexible &f) {
  ElementType type = c.type(f.queries), wide = accumulatorFor(type);
  int64_t size = c.extent(f.queries, 3);
  double scale = c.real("scale", 1 / std::sqrt(double(size)));
  Shape shape{c.shape(f.queries)[0], c.shape(f.queries)[1], c.shape(f.queries)[2],
              c.shape(f.keys)[2]};
  ValueId product = c.reduce(
      c.name() + ".product", wide, shape, Combiner::Sum, {Extent(size)}, [&](Indices i, Indices r) {
        Expr query = c.read(f.queries, {i[0], i[1], i[2], r[0]});
        Expr key = c.read(f.keys, {i[0], i[1].floorDiv(f.group), i[3], r[0]});
        return Expr::cast(wide, query) * Expr::cast(wide, key);
      });
  return c.define(c.name() + ".scores", shape, [&](Indices i) {
    return Expr::cast(f.precision, Expr::stored(type, c.read(product, i) * number(wide, scale)));
  });
}

/// What a graph attribute, where there is one, makes of scores or weights.
Expected<ValueId> modified(OpContext &c, llvm::StringRef attribute, ValueId x) {
  if (!c.hasAttribute(attribute))
    return x;
  KINTSUGI_ASSIGN(const Graph *graph, c.graph(attribute));
  if (graph->inputs.size() != 1 || graph->outputs.size() != 1)
    return c.error("its " + attribute + " must have one input and one output");
  KINTSUGI_ASSIGN(std::vector<Binding> results, c.importer.importSubgraph(*graph, {{x, {}, {}}}));
  if (!results[0].tensor)
    return c.error("its " + attribute + " must give a tensor");
  ValueId y = *results[0].tensor;
  if (c.shape(y) != c.shape(x) || c.type(y) != c.type(x))
    return c.error("its " + attribute + " makes " + nameOf(c.type(y)) + " of shape " +
                   shapeString(c.dims(y)) + " of " + nameOf(c.type(x)) + " of shape " +
                   shapeString(c.dims(x)) + ", but must keep both");
  return y;
}

Status flexAttention(OpContext &c) {
  KINTSUGI_ASSIGN(Flexible f, readFlexible(c));
  KINTSUGI_ASSIGN(ValueId scores, modified(c, "score_mod", scoresOf(c, f)));
  ValueId weights = softmaxAlong(c, c.name() + ".softmax", scores, 3, f.precision).result;
  KINTSUGI_ASSIGN(weights, modified(c, "prob_mod", weights));
  Shape shape(c.shape(f.queries));
  shape[3] = c.shape(f.values)[3];
  ElementType wide = accumulatorFor(f.precision);
  c.output(0, c.reduce(c.name(), c.type(f.values), shape, Combiner::Sum, {c.shape(f.keys)[2]},
                       [&](Indices i, Indices r) {
                         Expr weight = c.read(weights, {i[0], i[1], i[2], r[0]});
                         Expr value = c.read(f.values, {i[0], i[1].floorDiv(f.group), r[0], i[3]});
                         return Expr::cast(wide, weight) * Expr::cast(wide, value);
                       }));
  return Status::success();
}

} // namespace

OperatorTable flexAttentionOperators() {
  static const Operator table[] = {
      {"FlexAttention", 1, 3, flexAttention, "ai.onnx.preview"},
  };
  return table;
}

} // namespace kintsugi::import
