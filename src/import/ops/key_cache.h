//===- key_cache.h - Keys and values of earlier calls -------------------------===//
//
// Decoders keep keys and values in tensors [batch, head, token, element] that a call takes and
// gives back with those of its own tokens. Where the tensors are longer than what is in them, how
// much that is may be a number of the run, and differ between samples.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_OPS_KEY_CACHE_H
#define KINTSUGI_IMPORT_OPS_KEY_CACHE_H

#include "import/ops/heads.h"

namespace kintsugi::import {

/// How many tokens precede those of a call.
struct PastLength {
  int64_t known = 0;
  std::optional<ValueId> bySample; ///< [batch] of i64, where that is known in a run alone.

  Expr of(const Builder &b, const Index &sample) const;
};

/// The token of [batch, head, query, ...] among all of its sample, an i64.
Expr positionOf(const Builder &b, const PastLength &past, Indices i);

/// Whether keys and values of earlier calls are given; an error where one of both is.
Expected<bool> hasPast(OpContext &c, unsigned keys, unsigned values);

/// An error where a cache can't hold heads like those of `x`; `role` says what it is.
Status requireCacheFits(OpContext &c, ValueId cache, const Heads &x, llvm::StringRef role);

/// The first `tokens` of what is in `cache`, if there is one, with the tokens of `x` from `past`
/// on.
Heads withCache(Builder &b, const std::string &name, std::optional<ValueId> cache, const Heads &x,
                const PastLength &past, int64_t tokens);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_KEY_CACHE_H
