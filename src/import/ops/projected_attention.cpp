//===- projected_attention.cpp - com.microsoft's Attention --------------------===//
//
// Queries, keys and values are one product of the tokens with weights, [token, q + k + v].
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/dot_product_attention.h"
#include "import/ops/families.h"
#include "import/ops/join.h"
#include "import/ops/matmul.h"
#include "import/ops/microsoft_attention.h"
#include "import/ops/padding_mask.h"

namespace kintsugi::import {
namespace {

/// The operator's inputs, by number.
enum Input : unsigned { Tokens, Weights, Bias, Mask, Past, ScoreBias };

Status checkNode(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(
      c.requireOnly({"do_rotary", "mask_filter_value", "num_heads", "past_present_share_buffer",
                     "qkv_hidden_sizes", "rotary_embedding_dim", "scale", "unidirectional"}));
  if (c.integer("do_rotary", 0) != 0)
    return c.error("do_rotary is not supported; rotate by RotaryEmbedding nodes in front of a "
                   "MultiHeadAttention");
  if (c.integer("past_present_share_buffer", 0) != 0 || c.hasInput(6))
    return c.error("past_present_share_buffer and past_sequence_length are not supported; export "
                   "the model with caches that grow");
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(Tokens)));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(c.input(Tokens), 3, "its input"));
  return c.requireRank(c.input(Weights), 2, "its weights");
}

/// How many elements queries, keys and values of a token have.
Expected<std::vector<int64_t>> readWidths(OpContext &c, int64_t heads) {
  int64_t columns = c.extent(c.input(Weights), 1);
  std::vector<int64_t> widths = c.integers("qkv_hidden_sizes");
  if (widths.empty())
    widths.assign(3, columns / 3);
  bool fits = heads > 0 && widths.size() == 3 && widths[0] == widths[1];
  int64_t sum = 0;
  for (int64_t width : widths) {
    fits = fits && width >= 0 && width <= columns && width % heads == 0;
    sum += fits ? width : 0;
  }
  if (!fits || sum != columns)
    return c.error("its weights of shape " + shapeString(c.dims(c.input(Weights))) +
                   " don't fit queries, keys and values of " + shapeString(widths) +
                   " elements (qkv_hidden_sizes) in " + llvm::Twine(heads) + " heads (num_heads)");
  return widths;
}

Expected<ValueId> projected(OpContext &c) {
  ValueId x = c.input(Tokens), weights = c.input(Weights);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, weights));
  if (c.extent(x, 2) != c.extent(weights, 0))
    return c.error("its input of shape " + shapeString(c.dims(x)) +
                   " does not fit weights of shape " + shapeString(c.dims(weights)));
  KINTSUGI_ASSIGN(ValueId product, matrixProduct(c, c.name() + ".projected", x, weights));
  if (!c.hasInput(Bias))
    return product;
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, c.input(Bias)));
  if (c.dims(c.input(Bias)) != std::vector{c.extent(weights, 1)})
    return c.error("its bias of shape " + shapeString(c.dims(c.input(Bias))) +
                   " does not fit weights of shape " + shapeString(c.dims(weights)));
  return c.define(c.name() + ".biased", c.shape(product),
                  [&](Indices i) { return c.read(product, i) + c.read(c.input(Bias), {i[2]}); });
}

struct Operands {
  Heads queries, keys, values;
};

Operands split(OpContext &c, ValueId projected, llvm::ArrayRef<int64_t> widths, int64_t heads) {
  int64_t batch = c.extent(projected, 0), tokens = c.extent(projected, 1), first = 0;
  auto next = [&](const char *step, int64_t width) {
    Shape shape{batch, tokens, width};
    ValueId part = c.view(c.name() + step, projected, shape, [&](Indices i) {
      return llvm::SmallVector<Index>{i[0], i[1], i[2] + Index(first)};
    });
    first += width;
    return Heads{part, batch, heads, tokens, width / heads, true};
  };
  Operands x;
  x.queries = next(".query", widths[0]);
  x.keys = next(".key", widths[1]);
  x.values = next(".value", widths[2]);
  return x;
}

/// Puts keys and values of earlier calls, [2, batch, head, token, element], in front; how many.
Expected<int64_t> addPast(OpContext &c, Operands &x) {
  if (!c.hasInput(Past) && !c.hasOutput(1))
    return 0;
  if (x.keys.size != x.values.size)
    return c.error("its keys of " + llvm::Twine(x.keys.size) + " and values of " +
                   llvm::Twine(x.values.size) +
                   " elements don't fit in one tensor of the past; "
                   "leave past and present out");
  PastLength length;
  std::vector<int64_t> wanted{2, x.keys.batch, x.keys.heads, 0, x.keys.size};
  if (c.hasInput(Past)) {
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x.keys.tensor, c.input(Past)));
    std::vector<int64_t> shape = c.dims(c.input(Past));
    if (shape.size() == 5)
      length.known = wanted[3] = shape[3];
    if (shape != wanted)
      return c.error("its past of shape " + shapeString(shape) +
                     " does not fit keys and values of " + "shape " + shapeString(wanted));
  }
  auto withPast = [&](const char *step, Heads &heads, int64_t part) {
    std::optional<ValueId> cache;
    Shape shape{heads.batch, heads.heads, length.known, heads.size};
    if (length.known != 0)
      cache = c.view(c.name() + step + ".past", c.input(Past), shape, [&](Indices i) {
        return llvm::SmallVector<Index>{part, i[0], i[1], i[2], i[3]};
      });
    heads =
        withCache(c, c.name() + step + ".all", cache, heads, length, length.known + heads.tokens);
  };
  withPast(".key", x.keys, 0);
  withPast(".value", x.values, 1);
  return length.known;
}

Status projectedAttention(OpContext &c) {
  KINTSUGI_RETURN_IF_ERROR(checkNode(c));
  int64_t heads = c.integer("num_heads", 0);
  KINTSUGI_ASSIGN(std::vector<int64_t> widths, readWidths(c, heads));
  KINTSUGI_ASSIGN(ValueId product, projected(c));
  Operands x = split(c, product, widths, heads);
  KINTSUGI_ASSIGN(int64_t past, addPast(c, x));
  DotProductAttention a{x.queries, x.keys, x.values, scaleOf(c, x.queries.size)};
  ScoreSizes sizes{x.queries.batch,  heads,         x.queries.tokens,
                   x.queries.tokens, x.keys.tokens, {past, {}}};
  KINTSUGI_ASSIGN(PaddingMask mask,
                  PaddingMask::read(c, Mask, ScoreBias, c.input(Tokens), sizes, false));
  if (mask.isNeeded())
    a.masked = [&](Indices i, Expr score) { return mask.applied(i, std::move(score)); };
  c.output(0, Heads::sideBySide(c, c.name() + ".sidebyside", attend(c, c.name(), a).result));
  if (c.hasOutput(1)) {
    KINTSUGI_ASSIGN(ValueId present, stacked(c, c.name(1), {x.keys.tensor, x.values.tensor}, 0));
    c.output(1, present);
  }
  return Status::success();
}

} // namespace

OperatorTable projectedAttentionOperators() {
  static const Operator table[] = {
      {"Attention", 1, 2, projectedAttention, "com.microsoft"},
  };
  return table;
}

} // namespace kintsugi::import
