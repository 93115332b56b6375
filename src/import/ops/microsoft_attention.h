//===- microsoft_attention.h - What com.microsoft's attentions share ---------===//
#ifndef KINTSUGI_IMPORT_OPS_MICROSOFT_ATTENTION_H
#define KINTSUGI_IMPORT_OPS_MICROSOFT_ATTENTION_H

#include "import/ops/heads.h"

namespace kintsugi::import {

/// An input that com.microsoft's operator has and its import function does not take.
struct RefusedInput {
  unsigned number;
  const char *name;
  const char *remedy; ///< What to do about it.
};
Status refuseInputs(OpContext &c, llvm::ArrayRef<RefusedInput> inputs);

/// What products of queries and keys of heads of `size` elements are multiplied by: attribute
/// scale, where it is there and not 0.
double scaleOf(OpContext &c, int64_t size);

/// The number in a tensor of one integer, where it is known at import.
std::optional<int64_t> knownNumber(OpContext &c, unsigned input);
Status requireOneInteger(OpContext &c, unsigned input, llvm::StringRef role);
/// It lies in [low, high): an error where it is known not to, a check of each run otherwise, for
/// which it is `what` by how much it exceeds `low`.
Status requireNumberWithin(OpContext &c, unsigned input, int64_t low, int64_t high,
                           const char *what);

/// What is added to scores of shape [batch, head, query, key]: an error where it does not fit them,
/// save in dimensions of -1. Nothing where it is left out.
Expected<std::optional<ValueId>> readScoreBias(OpContext &c, unsigned input, ValueId query,
                                               llvm::ArrayRef<int64_t> scores);
Expr withScoreBias(const Builder &b, ValueId bias, Indices i, const Expr &score);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_MICROSOFT_ATTENTION_H
