#include "import/ops/key_cache.h"

#include "import/ops/arithmetic.h"
#include "import/ops/join.h"

namespace kintsugi::import {

Expr PastLength::of(const Builder &b, const Index &sample) const {
  return bySample ? b.read(*bySample, {sample}) : integer(known);
}

Expr positionOf(const Builder &b, const PastLength &past, Indices i) {
  if (!past.bySample)
    return Expr::index(i[2] + Index(past.known), ElementType::I64);
  return Expr::index(i[2], ElementType::I64) + past.of(b, i[0]);
}

Expected<bool> hasPast(OpContext &c, unsigned keys, unsigned values) {
  if (c.hasInput(keys) != c.hasInput(values))
    return c.error("past_key and past_value go together; give both or none");
  return c.hasInput(keys);
}

Status requireCacheFits(OpContext &c, ValueId cache, const Heads &x, llvm::StringRef role) {
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x.tensor, cache));
  std::vector<int64_t> shape = c.dims(cache);
  if (shape.size() == 4 && shape[0] == x.batch && shape[1] == x.heads && shape[3] == x.size)
    return Status::success();
  return c.error("its " + role + " of shape " + shapeString(shape) + " does not fit " +
                 llvm::Twine(x.heads) + " heads of " + llvm::Twine(x.size) +
                 " elements of its input of shape " + shapeString(c.dims(x.tensor)));
}

/// By choices between old and new tokens.
static ValueId chosenByToken(Builder &b, std::string name, std::optional<ValueId> cache,
                             const Heads &x, const PastLength &past, int64_t tokens) {
  return b.define(std::move(name), {x.batch, x.heads, tokens, x.size}, [&](Indices i) {
    Expr old = number(b.type(x.tensor), 0);
    if (cache)
      old = b.extent(*cache, 2) < tokens ? b.readOr(*cache, i, old) : b.read(*cache, i);
    Expr first = past.of(b, i[0]), token = Expr::index(i[2], ElementType::I64);
    Index mine = past.bySample ? i[2] - Index::data(first) : i[2] - Index(past.known);
    Expr isNew = both(lessEqual(first, token), less(token, first + integer(x.tokens)));
    return Expr::select(isNew, x.read(b, i[0], i[1], mine, i[3]), old);
  });
}

Heads withCache(Builder &b, const std::string &name, std::optional<ValueId> cache, const Heads &x,
                const PastLength &past, int64_t tokens) {
  if (cache && b.extent(*cache, 2) == 0)
    cache.reset();
  bool isApart = !past.bySample && past.known + x.tokens == tokens;
  if (isApart && past.known == 0)
    return x.apart(b, name);
  Heads result = x;
  result.tokens = tokens;
  result.areSideBySide = false;
  bool isJoined = isApart && cache && b.extent(*cache, 2) == past.known;
  result.tensor = isJoined ? concatenated(b, name, {*cache, x.apart(b, name + ".new").tensor}, 2)
                           : chosenByToken(b, name, cache, x, past, tokens);
  return result;
}

} // namespace kintsugi::import
