//===- multi_head_attention.cpp - com.microsoft's MultiHeadAttention --------===//

#include "import/ops/arithmetic.h"
#include "import/ops/dot_product_attention.h"
#include "import/ops/families.h"
#include "import/ops/microsoft_attention.h"
#include "import/ops/padding_mask.h"

namespace kintsugi::import {
namespace {

/// The operator's inputs, by number.
enum Input : unsigned {
  Query,
  Key,
  Value,
  Bias,
  KeyMask,
  ScoreBias,
  PastKey,
  PastValue,
  PastTokens, ///< past_sequence_length: what is in caches that have room for more.
};

class MultiHeadAttention {
public:
  explicit MultiHeadAttention(OpContext &c) : c(c), heads(c.integer("num_heads", 0)) {}

  Status import() {
    KINTSUGI_RETURN_IF_ERROR(checkNode());
    KINTSUGI_RETURN_IF_ERROR(readHeads());
    KINTSUGI_RETURN_IF_ERROR(requireFit());
    KINTSUGI_RETURN_IF_ERROR(addBias());
    KINTSUGI_RETURN_IF_ERROR(addPast());
    return attend();
  }

private:
  Status checkNode();
  Status readHeads();
  Status readPackedKeys();
  Status readCrossKeys();
  Status readKeys();
  Status requireFit();
  Status addBias();
  Status addPast();
  Status readPastTokens(int64_t room);
  std::optional<int64_t> maskedKeys() const;
  Status attend();

  /// Part `number` of the `parts` that each head has in a tensor [batch, token, head, part,
  /// element].
  Heads unpacked(const char *step, unsigned input, int64_t number) const;
  Expected<Heads> sideBySide(unsigned input) const;
  Heads biased(const char *step, const Heads &x, int64_t first);

  OpContext &c;
  int64_t heads;
  Heads queries, keys, values;
  int64_t fresh = 0; ///< Keys of the call.
  PastLength past;
  bool areKeysWhole = false; ///< Given as [batch, head, token, element], as those of an encoder.
};

Status MultiHeadAttention::checkNode() {
  KINTSUGI_RETURN_IF_ERROR(
      c.requireOnly({"mask_filter_value", "num_heads", "scale", "unidirectional"}));
  KINTSUGI_RETURN_IF_ERROR(refuseInputs(
      c, {{9, "cache_indirection", "search for texts outside of the model, and leave it out"}}));
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(Query)));
  if (heads <= 0)
    return c.error("its num_heads must be given");
  return Status::success();
}

Heads MultiHeadAttention::unpacked(const char *step, unsigned input, int64_t number) const {
  ValueId packed = c.input(input);
  Heads x{packed, c.extent(packed, 0), heads, c.extent(packed, 1), c.extent(packed, 4)};
  x.tensor = c.view(c.name() + step, packed, {x.batch, x.heads, x.tokens, x.size}, [&](Indices i) {
    return llvm::SmallVector<Index>{i[0], i[2], i[1], number, i[3]};
  });
  return x;
}

Expected<Heads> MultiHeadAttention::sideBySide(unsigned input) const {
  return headsSideBySide(c, c.input(input), heads, "num_heads");
}

Status MultiHeadAttention::readHeads() {
  std::vector<int64_t> shape = c.dims(c.input(Query));
  if (shape.size() == 5 && !c.hasInput(Key) && !c.hasInput(Value)) {
    if (shape[2] != heads || shape[3] != 3)
      return c.error("its query of shape " + shapeString(shape) +
                     " holds no queries, keys and "
                     "values of " +
                     llvm::Twine(heads) +
                     " heads; it must have the shape "
                     "[batch, tokens, heads, 3, elements]");
    queries = unpacked(".query", Query, 0);
    keys = unpacked(".key", Query, 1);
    values = unpacked(".value", Query, 2);
    return Status::success();
  }
  if (shape.size() != 3 || !c.hasInput(Key))
    return c.error("its query of shape " + shapeString(shape) +
                   " must have 3 dimensions and come with keys, or 5 and hold them");
  KINTSUGI_ASSIGN(queries, sideBySide(Query));
  return readKeys();
}

Status MultiHeadAttention::readKeys() {
  unsigned rank = c.rank(c.input(Key));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(queries.tensor, c.input(Key)));
  if (c.hasInput(Value))
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(queries.tensor, c.input(Value)));
  if (rank == 5 && !c.hasInput(Value))
    return readPackedKeys();
  if (!c.hasInput(Value) || c.rank(c.input(Value)) != rank || (rank != 3 && rank != 4))
    return c.error("its key of shape " + shapeString(c.dims(c.input(Key))) +
                   " must have 3 or 4 dimensions, as many as its value, or 5 and hold values");
  if (rank == 4)
    return readCrossKeys();
  KINTSUGI_ASSIGN(keys, sideBySide(Key));
  KINTSUGI_ASSIGN(values, sideBySide(Value));
  return Status::success();
}

Status MultiHeadAttention::readPackedKeys() {
  std::vector<int64_t> shape = c.dims(c.input(Key));
  if (shape[2] != heads || shape[3] != 2)
    return c.error("its key of shape " + shapeString(shape) + " holds no keys and values of " +
                   llvm::Twine(heads) +
                   " heads; it must have the shape [batch, tokens, heads, 2, elements]");
  if (c.hasInput(Bias))
    return c.error("its bias is not supported where a tensor holds keys and values; add it before");
  keys = unpacked(".key", Key, 0);
  values = unpacked(".value", Key, 1);
  return Status::success();
}

/// What was computed from an encoder's tokens before; only queries are biased.
Status MultiHeadAttention::readCrossKeys() {
  auto read = [&](unsigned input) {
    ValueId x = c.input(input);
    return Heads{x, c.extent(x, 0), c.extent(x, 1), c.extent(x, 2), c.extent(x, 3)};
  };
  keys = read(Key);
  values = read(Value);
  areKeysWhole = true;
  if (c.hasInput(PastKey) || c.hasInput(PastValue))
    return c.error("its key of shape " + shapeString(c.dims(keys.tensor)) +
                   " is all that there is; leave past_key and past_value out");
  return Status::success();
}

Status MultiHeadAttention::requireFit() {
  fresh = keys.tokens;
  bool fits = keys.batch == queries.batch && values.batch == queries.batch && keys.heads == heads &&
              values.heads == heads && keys.size == queries.size && values.tokens == keys.tokens;
  if (fits)
    return Status::success();
  return c.error("its query of shape " + shapeString(c.dims(queries.tensor)) +
                 " does not fit its key and value of shapes " + shapeString(c.dims(keys.tensor)) +
                 " and " + shapeString(c.dims(values.tensor)) + " with " + llvm::Twine(heads) +
                 " heads");
}

/// With the elements of the bias from the one that is `first` on.
Heads MultiHeadAttention::biased(const char *step, const Heads &x, int64_t first) {
  ElementType type = c.type(x.tensor), wide = accumulatorFor(type);
  Heads result = x;
  result.tensor = c.define(c.name() + step, c.shape(x.tensor), [&](Indices i) {
    Index own = x.areSideBySide ? i[2] : i[1] * x.size + i[3];
    Expr more = Expr::cast(wide, c.read(c.input(Bias), {own + Index(first)}));
    return Expr::stored(type, Expr::cast(wide, c.read(x.tensor, i)) + more);
  });
  return result;
}

Status MultiHeadAttention::addBias() {
  if (!c.hasInput(Bias))
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(queries.tensor, c.input(Bias)));
  int64_t width = heads * queries.size, wanted = 2 * width + heads * values.size;
  if (c.dims(c.input(Bias)) != std::vector{wanted})
    return c.error("its bias of shape " + shapeString(c.dims(c.input(Bias))) + " does not fit " +
                   llvm::Twine(heads) + " heads of " + llvm::Twine(queries.size) + " and " +
                   llvm::Twine(values.size) + " elements, which take " + llvm::Twine(wanted));
  queries = biased(".query.biased", queries, 0);
  if (areKeysWhole)
    return Status::success();
  keys = biased(".key.biased", keys, width);
  values = biased(".value.biased", values, 2 * width);
  return Status::success();
}

/// As many as the last dimension of a mask or a bias of scores says, if there is one.
std::optional<int64_t> MultiHeadAttention::maskedKeys() const {
  if (c.hasInput(ScoreBias) && c.rank(c.input(ScoreBias)) == 4)
    return c.extent(c.input(ScoreBias), 3);
  if (c.hasInput(KeyMask) && c.rank(c.input(KeyMask)) > 1)
    return c.dims(c.input(KeyMask)).back();
  return std::nullopt;
}

Status MultiHeadAttention::readPastTokens(int64_t room) {
  KINTSUGI_RETURN_IF_ERROR(requireOneInteger(c, PastTokens, "past_sequence_length"));
  if (room < fresh)
    return c.error("its past_key has room for " + llvm::Twine(room) + " tokens, fewer than the " +
                   llvm::Twine(fresh) + " of its key");
  std::optional<int64_t> known = knownNumber(c, PastTokens), masked = maskedKeys();
  int64_t least = 0, most = room - fresh;
  bool isMasked = !known && masked && *masked >= fresh && *masked <= room;
  if (isMasked)
    known = least = most = *masked - fresh;
  KINTSUGI_RETURN_IF_ERROR(
      requireNumberWithin(c, PastTokens, least, most + 1,
                          isMasked ? "excess of past_sequence_length" : "past_sequence_length"));
  if (known) {
    past.known = *known;
    return Status::success();
  }
  ValueId given = c.input(PastTokens);
  past.bySample = c.define(c.name() + ".past", {queries.batch}, [&](Indices) {
    llvm::SmallVector<Index> only(c.rank(given), 0);
    return Expr::cast(ElementType::I64, c.read(given, only));
  });
  return Status::success();
}

Status MultiHeadAttention::addPast() {
  KINTSUGI_ASSIGN(bool isGiven, hasPast(c, PastKey, PastValue));
  if (!isGiven) {
    if (c.hasInput(PastTokens))
      return c.error("its past_sequence_length is that of past_key and past_value; give them, or "
                     "leave it out");
    c.output(1, keys.apart(c, c.name(1)).tensor);
    c.output(2, values.apart(c, c.name(2)).tensor);
    return Status::success();
  }
  ValueId oldKeys = c.input(PastKey), oldValues = c.input(PastValue);
  KINTSUGI_RETURN_IF_ERROR(requireCacheFits(c, oldKeys, keys, "past_key"));
  KINTSUGI_RETURN_IF_ERROR(requireCacheFits(c, oldValues, values, "past_value"));
  int64_t room = c.extent(oldKeys, 2);
  if (c.extent(oldValues, 2) != room)
    return c.error("its past_key and past_value of shapes " + shapeString(c.dims(oldKeys)) +
                   " and " + shapeString(c.dims(oldValues)) + " must hold as many tokens");
  past.known = room;
  int64_t tokens = room + fresh;
  if (c.hasInput(PastTokens)) {
    past.known = 0;
    KINTSUGI_RETURN_IF_ERROR(readPastTokens(room));
    tokens = room;
  }
  keys = withCache(c, c.name(1), oldKeys, keys, past, tokens);
  values = withCache(c, c.name(2), oldValues, values, past, tokens);
  c.output(1, keys.tensor);
  c.output(2, values.tensor);
  if (!past.bySample)
    keys.tokens = values.tokens = past.known + fresh;
  return Status::success();
}

Status MultiHeadAttention::attend() {
  DotProductAttention a{queries, keys, values, scaleOf(c, queries.size)};
  ScoreSizes sizes{queries.batch, heads, queries.tokens, fresh, keys.tokens, past};
  KINTSUGI_ASSIGN(PaddingMask mask,
                  PaddingMask::read(c, KeyMask, ScoreBias, c.input(Query), sizes, c.hasOutput(3)));
  if (mask.isNeeded())
    a.masked = [&](Indices i, Expr score) { return mask.applied(i, std::move(score)); };
  AttentionSteps steps = import::attend(c, c.name(), a);
  c.output(0, Heads::sideBySide(c, c.name() + ".sidebyside", steps.result));
  c.output(3, steps.masked);
  return Status::success();
}

Status multiHeadAttention(OpContext &c) { return MultiHeadAttention(c).import(); }

} // namespace

OperatorTable multiHeadAttentionOperators() {
  static const Operator table[] = {
      {"MultiHeadAttention", 1, 1, multiHeadAttention, "com.microsoft"},
  };
  return table;
}

} // namespace kintsugi::import
