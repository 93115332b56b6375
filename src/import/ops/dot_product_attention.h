//===- dot_product_attention.h - Attention for the operators that are it -----===//
//
// softmax(q k') v, written in the steps that exporters write it in, so that the rules and schedules
// for attention find it: a product, what is done to scores, a softmax, a product. Scores and
// weights have the queries' type where they are stored; sums and softmaxes are of the
// accumulator's.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_DOT_PRODUCT_ATTENTION_H
#define KINTSUGI_IMPORT_OPS_DOT_PRODUCT_ATTENTION_H

#include "import/ops/heads.h"

#include <functional>

namespace kintsugi::import {

struct DotProductAttention {
  Heads queries;
  Heads keys, values; ///< Each head of them serves as many neighboring ones of the queries.
  double scale = 1;   ///< Of the products of queries and keys.
  double softcap = 0; ///< Scores x are softcap * tanh(x / softcap); 0: they are not bounded.
  /// The score of [batch, head, query, key] behind the masks; empty where there are none.
  std::function<Expr(Indices, Expr)> masked;
  /// One more score of each [batch, head, query], of a key whose value is 0; empty where there is
  /// none. It is in the result, not in the weights.
  std::function<Expr(Indices)> sink;
  bool mayHideRows = false; ///< Whether a query may see no key at all: its result is 0 then.
  /// What softmaxes are computed in, if it is more or less than the accumulator of the scores.
  std::optional<ElementType> precision;
};

/// Each [batch, head, query, key], save the result: [batch, head, query, element].
struct AttentionSteps {
  ValueId scores, bounded, masked, weights, result;
};

AttentionSteps attend(Builder &b, const std::string &name, const DotProductAttention &attention);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_DOT_PRODUCT_ATTENTION_H
