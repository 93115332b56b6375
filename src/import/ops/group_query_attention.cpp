//===- group_query_attention.cpp - com.microsoft's GroupQueryAttention -------===//
//
// Attention of decoders: heads of keys serve several of queries, and a cache keeps keys and values
// of earlier calls. seqlens_k, mostly numbers of the run, say where the new tokens of each sample
// stand. Tokens that a first prompt is padded with see what its last one does, or their window.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/dot_product_attention.h"
#include "import/ops/families.h"
#include "import/ops/key_cache.h"
#include "import/ops/microsoft_attention.h"
#include "import/ops/rotation.h"

#include <cmath>

namespace kintsugi::import {
namespace {

/// The operator's inputs, by number.
enum Input : unsigned {
  Query,
  Key,
  Value,
  PastKey,
  PastValue,
  LastKeys, ///< seqlens_k: by sample, how many keys there are, less one.
  TotalLength,
  Cosines,
  Sines,
  PositionIds,
  ScoreBias,
  HeadSink
};

/// How long things are, in tokens.
struct Lengths {
  int64_t fresh = 0;             ///< That the call is about.
  std::optional<int64_t> cached; ///< The cache that is given.
  int64_t keys = 0;              ///< That queries may see, at most.
  int64_t present = 0;           ///< The cache that is returned.
  std::optional<int64_t> total;  ///< total_sequence_length, unless only the run knows it.
  PastLength past;

  /// Whether all samples begin in this call; nothing where only the run knows.
  std::optional<bool> isFirst() const {
    return total ? std::optional(*total == fresh) : std::nullopt;
  }
};

struct Operands {
  Heads queries, keys, values;
  std::optional<ValueId> pastKeys, pastValues;
};

/// What total_sequence_length has more than it has at least.
constexpr const char *excess = "excess of total_sequence_length";

class GroupQueryAttention {
public:
  explicit GroupQueryAttention(OpContext &c) : c(c) {}

  Status import() {
    KINTSUGI_RETURN_IF_ERROR(checkNode());
    KINTSUGI_RETURN_IF_ERROR(readHeads());
    KINTSUGI_RETURN_IF_ERROR(readCaches());
    KINTSUGI_RETURN_IF_ERROR(readTotal());
    KINTSUGI_RETURN_IF_ERROR(readPast());
    if (c.integer("do_rotary", 0) != 0)
      KINTSUGI_RETURN_IF_ERROR(rotate());
    std::vector<int64_t> scores{x.queries.batch, x.queries.heads, n.fresh, n.total.value_or(-1)};
    KINTSUGI_ASSIGN(bias, readScoreBias(c, ScoreBias, x.queries.tensor, scores));
    return attend();
  }

private:
  Status checkNode();
  Status checkMode();
  Status readHeads();
  Status unpackHeads(int64_t heads, int64_t shared);
  Status readCaches();
  Status readTotal();
  Status readTotalOfRun();
  Status readPast();
  Status rotate();
  Status readPositions(Rotation &rotation);
  Status readPositionIds(Rotation &rotation);
  Status readSink(DotProductAttention &attention);
  Status attend();
  Expr behindMasks(Indices i, Expr score) const;

  OpContext &c;
  Operands x;
  Lengths n;
  std::optional<ValueId> bias;
  bool isCausal = true;
  int64_t window = -1; ///< Keys that a query sees, with its own; none where it is negative.
};

Status GroupQueryAttention::checkNode() {
  KINTSUGI_RETURN_IF_ERROR(c.requireOnly(
      {"causal", "do_rotary", "k_quant_type", "kv_cache_bit_width", "kv_num_heads",
       "local_window_size", "num_heads", "qk_norm_epsilon", "qk_output", "rotary_interleaved",
       "scale", "sliding_window_cache", "smooth_softmax", "softcap", "v_quant_type"}));
  const char *whole = "export the model with a cache of floating-point numbers";
  KINTSUGI_RETURN_IF_ERROR(
      refuseInputs(c, {{12, "k_scale", whole},
                       {13, "v_scale", whole},
                       {14, "q_norm_weight", "normalize queries by nodes before it"},
                       {15, "k_norm_weight", "normalize keys by nodes before it"}}));
  for (const char *attribute : {"k_quant_type", "v_quant_type"})
    if (std::string type = c.text(attribute, "NONE"); type != "NONE")
      return c.error(llvm::Twine("its ") + attribute + " '" + type + "' is not supported; " +
                     whole);
  if (!c.hasInput(LastKeys) || !c.hasInput(TotalLength))
    return c.error("its seqlens_k and total_sequence_length must be given");
  return checkMode();
}

Status GroupQueryAttention::checkMode() {
  if (c.integer("sliding_window_cache", 0) != 0)
    return c.error("its sliding_window_cache is not supported; export the model with caches of all "
                   "tokens");
  if (c.integer("qk_output", 0) != 0 || c.hasOutput(3))
    return c.error("its output of scores (qk_output) is not supported; leave it out");
  isCausal = c.integer("causal", 1) != 0;
  window = c.integer("local_window_size", -1);
  if (window == 0 || (window > 0 && !isCausal))
    return c.error("its local_window_size must be -1, or a number of keys where it is causal");
  return Status::success();
}

/// Queries, keys and values from what has them side by side in each token.
Status GroupQueryAttention::unpackHeads(int64_t heads, int64_t shared) {
  ValueId packed = c.input(Query);
  KINTSUGI_ASSIGN(int64_t size,
                  headSizeOf(c, packed, heads + 2 * shared, "num_heads + 2 * kv_num_heads"));
  int64_t batch = c.extent(packed, 0), tokens = c.extent(packed, 1);
  auto part = [&](const char *step, int64_t first, int64_t count) {
    ValueId apart = c.view(c.name() + step, packed, {batch, count, tokens, size}, [&](Indices i) {
      return llvm::SmallVector<Index>{i[0], i[2], (i[1] + Index(first)) * size + i[3]};
    });
    return Heads{apart, batch, count, tokens, size};
  };
  x.queries = part(".query", 0, heads);
  x.keys = part(".key", heads, shared);
  x.values = part(".value", heads + shared, shared);
  return Status::success();
}

Status GroupQueryAttention::readHeads() {
  int64_t heads = c.integer("num_heads", 0), shared = c.integer("kv_num_heads", 0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(Query)));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(c.input(Query), 3, "its query"));
  if (heads <= 0 || shared <= 0 || heads % shared != 0)
    return c.error("its " + llvm::Twine(heads) + " heads of queries (num_heads) can't share " +
                   llvm::Twine(shared) + " heads of keys (kv_num_heads) evenly");
  n.fresh = c.extent(c.input(Query), 1);
  if (c.hasInput(Key) != c.hasInput(Value))
    return c.error("its key and value go together; give both or none");
  if (!c.hasInput(Key))
    return unpackHeads(heads, shared);
  auto read = [&](unsigned input, int64_t count, const char *attribute) -> Expected<Heads> {
    ValueId given = c.input(input);
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(Query), given));
    KINTSUGI_RETURN_IF_ERROR(c.requireRank(given, 3, input == Key ? "its key" : "its value"));
    return headsSideBySide(c, given, count, attribute);
  };
  KINTSUGI_ASSIGN(x.queries, read(Query, heads, "num_heads"));
  KINTSUGI_ASSIGN(x.keys, read(Key, shared, "kv_num_heads"));
  KINTSUGI_ASSIGN(x.values, read(Value, shared, "kv_num_heads"));
  for (const Heads &each : {x.keys, x.values})
    if (each.batch != x.queries.batch || each.tokens != n.fresh || each.size != x.queries.size)
      return c.error("its query of shape " + shapeString(c.dims(x.queries.tensor)) + " with " +
                     llvm::Twine(heads) + " heads does not fit keys or values of shape " +
                     shapeString(c.dims(each.tensor)) + " with " + llvm::Twine(shared));
  return Status::success();
}

Status GroupQueryAttention::readCaches() {
  KINTSUGI_ASSIGN(bool isGiven, hasPast(c, PastKey, PastValue));
  if (!isGiven)
    return Status::success();
  x.pastKeys = c.input(PastKey);
  x.pastValues = c.input(PastValue);
  KINTSUGI_RETURN_IF_ERROR(requireCacheFits(c, *x.pastKeys, x.keys, "past_key"));
  KINTSUGI_RETURN_IF_ERROR(requireCacheFits(c, *x.pastValues, x.values, "past_value"));
  if (c.shape(*x.pastKeys) != c.shape(*x.pastValues))
    return c.error("its past_key and past_value have different shapes, " +
                   shapeString(c.dims(*x.pastKeys)) + " and " + shapeString(c.dims(*x.pastValues)));
  n.cached = c.extent(*x.pastKeys, 2);
  return Status::success();
}

/// A run's total_sequence_length may be what the cache holds, and tables of angles have.
Status GroupQueryAttention::readTotalOfRun() {
  n.present = n.cached.value_or(n.fresh);
  n.keys = n.present;
  if (c.integer("do_rotary", 0) != 0 && c.hasInput(Cosines) && c.rank(c.input(Cosines)) == 2)
    n.keys = std::min(n.keys, c.extent(c.input(Cosines), 0));
  if (n.keys < n.fresh)
    return c.error("its caches or tables hold " + llvm::Twine(n.keys) + " tokens, fewer than the " +
                   llvm::Twine(n.fresh) + " of its query");
  return requireNumberWithin(c, TotalLength, n.fresh, n.keys + 1, excess);
}

Status GroupQueryAttention::readTotal() {
  KINTSUGI_RETURN_IF_ERROR(requireOneInteger(c, TotalLength, "total_sequence_length"));
  n.total = knownNumber(c, TotalLength);
  // Nothing else is as long.
  if (!n.total && c.hasInput(ScoreBias) && c.rank(c.input(ScoreBias)) == 4) {
    n.total = c.extent(c.input(ScoreBias), 3);
    KINTSUGI_RETURN_IF_ERROR(requireNumberWithin(c, TotalLength, *n.total, *n.total + 1, excess));
  }
  if (!n.total)
    return readTotalOfRun();
  int64_t cached = n.cached.value_or(0);
  if (*n.total < n.fresh || (*n.total > cached && *n.total != cached + n.fresh))
    return c.error("its total_sequence_length of " + llvm::Twine(*n.total) + " does not fit " +
                   llvm::Twine(n.fresh) + " tokens and a cache of " + llvm::Twine(cached) +
                   "; it must be that of both, or what the cache has room for");
  n.keys = *n.total;
  n.present = std::max(n.keys, cached);
  return Status::success();
}

Status GroupQueryAttention::readPast() {
  ValueId last = c.input(LastKeys);
  if (!isInteger(c.type(last)) || c.count(last) != x.queries.batch)
    return c.error(llvm::Twine("its seqlens_k must be integers, one for each of ") +
                   llvm::Twine(x.queries.batch) + " samples, but is " + nameOf(c.type(last)) +
                   " of shape " + shapeString(c.dims(last)));
  KINTSUGI_RETURN_IF_ERROR(c.requireWithin(last, 0, n.keys, "seqlens_k"));
  if (!n.cached || n.isFirst().value_or(false))
    return Status::success();
  ValueId each = c.reshape(c.name() + ".last", last, {x.queries.batch});
  n.past.bySample = c.define(c.name() + ".past", {x.queries.batch}, [&](Indices i) {
    Expr before = Expr::cast(ElementType::I64, c.read(each, i)) - integer(n.fresh - 1);
    // A prompt may have fewer tokens than it is padded to.
    return n.fresh == 1 ? before : Expr::binary(te::BinaryOp::Max, before, integer(0));
  });
  return Status::success();
}

/// Of a first prompt the operator takes the first position alone, from which it counts.
Status GroupQueryAttention::readPositionIds(Rotation &rotation) {
  ValueId ids = c.input(PositionIds);
  std::vector<int64_t> wanted{x.queries.batch, n.fresh};
  if (!isInteger(c.type(ids)) || c.dims(ids) != wanted)
    return c.error(llvm::Twine("its position_ids must be integers of shape ") +
                   shapeString(wanted) + ", but are " + nameOf(c.type(ids)) + " of shape " +
                   shapeString(c.dims(ids)));
  int64_t positions = c.extent(rotation.cosines, 0);
  if (c.count(ids) == 0)
    return Status::success();
  if (n.isFirst() == true) {
    ValueId first = c.view(c.name() + ".first", ids, {1},
                           [&](Indices) { return llvm::SmallVector<Index>{0, 0}; });
    KINTSUGI_RETURN_IF_ERROR(c.requireWithin(first, 0, positions - n.fresh + 1, "position"));
    rotation.positionOf = [this, first](const Index &, const Index &token) {
      return c.gather(first, {0}) + token;
    };
    return Status::success();
  }
  KINTSUGI_RETURN_IF_ERROR(c.requireWithin(ids, 0, positions, "position"));
  rotation.positionOf = [this, ids](const Index &batch, const Index &token) {
    Expr own = Expr::cast(ElementType::I64, c.read(ids, {batch, token}));
    if (n.isFirst())
      return Index::data(own);
    Expr counted =
        Expr::cast(ElementType::I64, c.read(ids, {0, 0})) + Expr::index(token, ElementType::I64);
    ValueId total = c.input(TotalLength);
    Expr given = c.read(total, llvm::SmallVector<Index>(c.rank(total), 0));
    Expr isFirst =
        Expr::binary(te::BinaryOp::Equal, Expr::cast(ElementType::I64, given), integer(n.fresh));
    return Index::data(Expr::select(isFirst, counted, own));
  };
  return Status::success();
}

Status GroupQueryAttention::readPositions(Rotation &rotation) {
  if (c.hasInput(PositionIds))
    return readPositionIds(rotation);
  rotation.positionOf = [this](const Index &batch, const Index &token) {
    if (!n.past.bySample)
      return token + Index(n.past.known);
    return Index::data(n.past.of(c, batch)) + token;
  };
  return Status::success();
}

Status GroupQueryAttention::rotate() {
  if (!c.hasInput(Cosines) || !c.hasInput(Sines))
    return c.error("its cos_cache and sin_cache must be given, since do_rotary is set");
  Rotation rotation{x.queries.tensor, c.input(Cosines), c.input(Sines)};
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x.queries.tensor, rotation.cosines));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x.queries.tensor, rotation.sines));
  std::vector<int64_t> shape = c.dims(rotation.cosines);
  if (shape.size() != 2 || c.dims(rotation.sines) != shape || 2 * shape[1] > x.queries.size ||
      shape[0] < n.keys)
    return c.error("its cos_cache and sin_cache of shapes " + shapeString(shape) + " and " +
                   shapeString(c.dims(rotation.sines)) + " don't fit " + llvm::Twine(n.keys) +
                   " positions and heads of " + llvm::Twine(x.queries.size) + " elements");
  rotation.headSize = x.queries.size;
  rotation.rotated = 2 * shape[1];
  rotation.isInterleaved = c.integer("rotary_interleaved", 0) != 0;
  KINTSUGI_RETURN_IF_ERROR(readPositions(rotation));
  x.queries.tensor = rotated(c, c.name() + ".query.rotated", rotation);
  rotation.x = x.keys.tensor;
  x.keys.tensor = rotated(c, c.name() + ".key.rotated", rotation);
  return Status::success();
}

/// Something for each head that takes a share of its weights: 0, or what the model says.
Status GroupQueryAttention::readSink(DotProductAttention &attention) {
  ElementType type = c.type(x.queries.tensor);
  if (c.integer("smooth_softmax", 0) == 1)
    attention.sink = [type](Indices) { return number(type, 0); };
  if (!c.hasInput(HeadSink))
    return Status::success();
  ValueId sink = c.input(HeadSink);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x.queries.tensor, sink));
  if (c.dims(sink) != std::vector{x.queries.heads})
    return c.error("its head_sink of shape " + shapeString(c.dims(sink)) +
                   " needs a number for each of " + llvm::Twine(x.queries.heads) + " heads");
  attention.sink = [this, sink](Indices row) { return c.read(sink, {row[1]}); };
  return Status::success();
}

/// The score of [batch, head, query, key] with what is added to it, or -inf where it is hidden.
Expr GroupQueryAttention::behindMasks(Indices i, Expr score) const {
  if (bias)
    score = withScoreBias(c, *bias, i, score);
  Expr position = positionOf(c, n.past, i), key = Expr::index(i[3], ElementType::I64);
  std::optional<Expr> isSeen;
  if (isCausal)
    isSeen = lessEqual(key, position);
  if (window > 0 && window < n.keys + n.fresh)
    isSeen = both(*isSeen, less(position, key + integer(window)));
  // Of causal ones only tokens that a prompt is padded with are behind all keys.
  bool mayBePadded = n.fresh > 1 && n.isFirst().value_or(true) && window <= 0;
  if (!isCausal || mayBePadded) {
    ValueId last = c.input(LastKeys);
    llvm::SmallVector<Index> at(c.rank(last), 0);
    for (unsigned d = 0; d < at.size(); ++d)
      if (c.extent(last, d) != 1)
        at[d] = i[0];
    Expr isThere = lessEqual(key, Expr::cast(ElementType::I64, c.read(last, at)));
    isSeen = isSeen ? both(*isSeen, isThere) : isThere;
  }
  return Expr::select(*isSeen, score, number(score.type(), -INFINITY));
}

Status GroupQueryAttention::attend() {
  DotProductAttention a;
  a.queries = x.queries;
  Heads presentKeys = withCache(c, c.name(1), x.pastKeys, x.keys, n.past, n.present);
  Heads presentValues = withCache(c, c.name(2), x.pastValues, x.values, n.past, n.present);
  // A prompt sees its own tokens alone, wherever they go.
  bool seesOnlyNew = !n.past.bySample && n.keys == n.fresh;
  a.keys = seesOnlyNew ? x.keys : presentKeys;
  a.values = seesOnlyNew ? x.values : presentValues;
  a.keys.tokens = a.values.tokens = n.keys;
  a.scale = scaleOf(c, x.queries.size);
  a.softcap = c.real("softcap", 0);
  a.masked = [&](Indices i, Expr score) { return behindMasks(i, std::move(score)); };
  KINTSUGI_RETURN_IF_ERROR(readSink(a));
  c.output(0,
           Heads::sideBySide(c, c.name() + ".sidebyside", import::attend(c, c.name(), a).result));
  c.output(1, presentKeys.tensor);
  c.output(2, presentValues.tensor);
  return Status::success();
}

Status groupQueryAttention(OpContext &c) { return GroupQueryAttention(c).import(); }

} // namespace

OperatorTable groupQueryAttentionOperators() {
  static const Operator table[] = {
      {"GroupQueryAttention", 1, 1, groupQueryAttention, "com.microsoft"},
  };
  return table;
}

} // namespace kintsugi::import
