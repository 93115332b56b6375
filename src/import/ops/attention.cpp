//===- attention.cpp - ONNX's Attention ---------------------------------------===//
//
// Keys are hidden by their positions, which are known now, or by masks, which mostly are not: the
// former choose outermost, where rules that skip what is hidden look for them. A query that sees no
// key has the result 0.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/dot_product_attention.h"
#include "import/ops/families.h"
#include "import/ops/key_cache.h"

#include <cmath>

namespace kintsugi::import {
namespace {

/// The operator's inputs, by number.
enum Input : unsigned { Query, Key, Value, AttnMask, PastKey, PastValue, ValidKeys };

struct Sizes {
  int64_t batch = 0, heads = 0, queries = 0;
  int64_t past = 0; ///< Keys that precede the first query.
  int64_t keys = 0; ///< With those of the past.
};

/// Which keys a query sees, and what is added to their scores.
class Masking {
public:
  static Expected<Masking> read(OpContext &c, const Sizes &sizes) {
    Masking masking(c, sizes);
    KINTSUGI_RETURN_IF_ERROR(masking.readMask());
    KINTSUGI_RETURN_IF_ERROR(masking.readValidKeys());
    KINTSUGI_RETURN_IF_ERROR(masking.readWindow());
    return masking;
  }

  bool isNeeded() const { return mask || validKeys || most || left; }
  /// Whether there may be queries that see no key.
  bool mayHideRows() const {
    return mask || validKeys || (left && n.past + n.queries - *left > n.keys);
  }

  /// The score of [batch, head, query, key], or -inf where it is hidden.
  Expr applied(Indices i, Expr score) const {
    Expr low = number(score.type(), -INFINITY);
    Expr result = mask ? behindMask(i, std::move(score), low) : std::move(score);
    std::optional<Expr> isSeen = byPosition(i);
    return isSeen ? Expr::select(*isSeen, result, low) : result;
  }

private:
  Masking(OpContext &c, const Sizes &sizes) : c(c), n(sizes) {}

  Status readMask();
  Status readValidKeys();
  Status readWindow();

  Expr behindMask(Indices i, Expr score, const Expr &low) const;
  std::optional<Expr> byPosition(Indices i) const;
  Expr position(Indices i) const;

  OpContext &c;
  Sizes n;
  std::optional<ValueId> mask;
  std::optional<int64_t> maskedKeys; ///< What the mask says nothing of, from there on, is hidden.
  std::optional<ValueId> validKeys;  ///< By sample, how many there are.
  std::optional<int64_t> most, left; ///< How far ahead of a query's position, and behind it.
};

Status Masking::readMask() {
  if (!c.hasInput(AttnMask))
    return Status::success();
  ValueId given = c.input(AttnMask);
  if (c.type(given) != ElementType::Bool && c.type(given) != c.type(c.input(Query)))
    return c.error("its attn_mask must be booleans or of its query's type, but is " +
                   llvm::Twine(nameOf(c.type(given))));
  std::vector<int64_t> shape = c.dims(given), scores{n.batch, n.heads, n.queries, n.keys};
  bool mayBeShort = c.opset() >= 24 && !shape.empty() && shape.back() < n.keys;
  bool fits = shape.size() <= scores.size();
  for (size_t back = mayBeShort; fits && back < shape.size(); ++back) {
    int64_t mine = shape[shape.size() - 1 - back];
    fits = mine == 1 || mine == scores[scores.size() - 1 - back];
  }
  if (!fits)
    return c.error("its attn_mask of shape " + shapeString(shape) +
                   " does not broadcast to scores of shape " + shapeString(scores));
  mask = given;
  if (mayBeShort)
    maskedKeys = shape.back();
  return Status::success();
}

Status Masking::readValidKeys() {
  if (!c.hasInput(ValidKeys))
    return Status::success();
  ValueId given = c.input(ValidKeys);
  if (c.hasInput(PastKey))
    return c.error("its nonpad_kv_seqlen says how much of its keys is valid, so it takes no "
                   "past_key; leave one out");
  if (c.type(given) != ElementType::I64)
    return c.error("its nonpad_kv_seqlen must be i64, but is " +
                   llvm::Twine(nameOf(c.type(given))));
  if (c.dims(given) != std::vector{n.batch})
    return c.error("its nonpad_kv_seqlen of shape " + shapeString(c.dims(given)) +
                   " needs a number for each of " + llvm::Twine(n.batch) + " samples");
  KINTSUGI_RETURN_IF_ERROR(c.requireWithin(given, 0, n.keys + 1, "number of valid keys"));
  validKeys = given;
  return Status::success();
}

Status Masking::readWindow() {
  int64_t behind = c.integer("left_window_size", -1), ahead = c.integer("right_window_size", -1);
  if (behind < -1 || ahead < -1)
    return c.error("left_window_size and right_window_size must be -1 or more");
  // No key is farther than this from any position.
  int64_t farthest = n.keys + n.queries;
  if (behind >= 0 && behind < farthest)
    left = behind;
  if (c.integer("is_causal", 0) != 0)
    most = 0;
  else if (ahead >= 0 && ahead < farthest)
    most = ahead;
  return Status::success();
}

Expr Masking::behindMask(Indices i, Expr score, const Expr &low) const {
  if (maskedKeys == 0)
    return low;
  Expr said = c.readBroadcast(*mask, i);
  Expr result = c.type(*mask) == ElementType::Bool ? Expr::select(said, score, low) : score + said;
  return maskedKeys ? Expr::select(below(i[3], *maskedKeys), result, low) : result;
}

/// That of a query among the keys.
Expr Masking::position(Indices i) const {
  if (!validKeys)
    return Expr::index(i[2] + Index(n.past), ElementType::I64);
  return Expr::index(i[2] - Index(n.queries), ElementType::I64) + c.read(*validKeys, {i[0]});
}

std::optional<Expr> Masking::byPosition(Indices i) const {
  std::optional<Expr> result;
  auto require = [&](Expr condition) { result = result ? both(*result, condition) : condition; };
  auto key = [&](int64_t offset) { return Expr::index(i[3] + Index(offset), ElementType::I64); };
  if (validKeys)
    require(less(key(0), c.read(*validKeys, {i[0]})));
  if (most)
    require(lessEqual(key(-*most), position(i)));
  if (left)
    require(lessEqual(position(i), key(*left)));
  return result;
}

/// An input of queries, keys or values; `attribute` says how many heads it has.
Expected<Heads> readHeads(OpContext &c, unsigned input, llvm::StringRef attribute) {
  Heads x{c.input(input)};
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x.tensor));
  std::vector<int64_t> shape = c.dims(x.tensor);
  int64_t said = c.integer(attribute, 0);
  if (shape.size() == 4) {
    x = {x.tensor, shape[0], shape[1], shape[2], shape[3]};
    if (c.hasAttribute(attribute) && said != x.heads)
      return c.error("its " + attribute + " is " + llvm::Twine(said) + ", but its input of shape " +
                     shapeString(shape) + " has " + llvm::Twine(x.heads) + " heads");
    return x;
  }
  if (shape.size() != 3)
    return c.error("its input of shape " + shapeString(shape) + " must have 3 or 4 dimensions");
  return headsSideBySide(c, x.tensor, said, attribute);
}

Status requireFit(OpContext &c, const Heads &q, const Heads &k, const Heads &v) {
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(q.tensor, k.tensor));
  auto shapes = [&] {
    return "its queries, keys and values of shapes " + shapeString(c.dims(q.tensor)) + ", " +
           shapeString(c.dims(k.tensor)) + " and " + shapeString(c.dims(v.tensor));
  };
  if (c.rank(k.tensor) != c.rank(q.tensor) || c.rank(v.tensor) != c.rank(q.tensor))
    return c.error(shapes() + " must all have 3 or all have 4 dimensions");
  if (k.batch != q.batch || v.batch != q.batch)
    return c.error(shapes() + " must be of as many samples");
  if (k.tokens != v.tokens || k.heads != v.heads)
    return c.error(shapes() + " must have a value for each key");
  if (k.size != q.size)
    return c.error("its heads have queries of " + llvm::Twine(q.size) + " elements and keys of " +
                   llvm::Twine(k.size) + "; they must have as many");
  if (k.heads == 0 || q.heads % k.heads != 0)
    return c.error("its " + llvm::Twine(q.heads) + " heads of queries can't share " +
                   llvm::Twine(k.heads) + " heads of keys evenly");
  return Status::success();
}

/// The keys or values of earlier calls, [batch, head, token, element], before those of `x`.
Expected<Heads> withPast(OpContext &c, const Heads &x, unsigned input, unsigned output) {
  ValueId past = c.input(input);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x.tensor, past));
  std::vector<int64_t> shape = c.dims(past), wanted{x.batch, x.heads, 0, x.size};
  if (shape.size() == 4)
    wanted[2] = shape[2];
  if (shape != wanted)
    return c.error("its past of shape " + shapeString(shape) + " does not fit its input of shape " +
                   shapeString(c.dims(x.tensor)) + " with " + llvm::Twine(x.heads) + " heads");
  return withCache(c, c.name(output), past, x, {shape[2], {}}, shape[2] + x.tokens);
}

/// Puts the past before keys and values; how much of it there is.
Expected<int64_t> addPast(OpContext &c, Heads &keys, Heads &values) {
  KINTSUGI_ASSIGN(bool isGiven, hasPast(c, PastKey, PastValue));
  if (!isGiven)
    return 0;
  int64_t tokens = keys.tokens;
  KINTSUGI_ASSIGN(keys, withPast(c, keys, PastKey, 1));
  KINTSUGI_ASSIGN(values, withPast(c, values, PastValue, 2));
  if (keys.tokens != values.tokens)
    return c.error("its past_key and past_value hold " + llvm::Twine(keys.tokens - tokens) +
                   " and " + llvm::Twine(values.tokens - tokens) +
                   " tokens; they must hold as many");
  return keys.tokens - tokens;
}

/// Nothing where softmaxes are computed in the accumulator's type anyway.
Expected<std::optional<ElementType>> readPrecision(OpContext &c) {
  using Precision = std::optional<ElementType>;
  if (!c.hasAttribute("softmax_precision"))
    return Precision();
  KINTSUGI_ASSIGN(ElementType given, c.elementType("softmax_precision", 0));
  if (!isFloat(given) || !computes(given))
    return c.error("its softmax_precision must be a type of floating-point numbers");
  ElementType type = c.type(c.input(Query));
  return given == type || given == accumulatorFor(type) ? Precision() : Precision(given);
}

void outputSteps(OpContext &c, const AttentionSteps &steps, int64_t mode) {
  const ValueId shown[] = {steps.scores, steps.bounded, steps.masked, steps.weights};
  c.output(3, shown[mode]);
}

Status attention(OpContext &c) {
  DotProductAttention a;
  KINTSUGI_ASSIGN(a.queries, readHeads(c, Query, "q_num_heads"));
  KINTSUGI_ASSIGN(a.keys, readHeads(c, Key, "kv_num_heads"));
  KINTSUGI_ASSIGN(a.values, readHeads(c, Value, "kv_num_heads"));
  KINTSUGI_RETURN_IF_ERROR(requireFit(c, a.queries, a.keys, a.values));
  KINTSUGI_ASSIGN(int64_t past, addPast(c, a.keys, a.values));
  a.scale = c.hasAttribute("scale") ? c.real("scale", 0) : 1 / std::sqrt(double(a.queries.size));
  a.softcap = c.real("softcap", 0);
  KINTSUGI_ASSIGN(a.precision, readPrecision(c));
  int64_t mode = c.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    return c.error("its qk_matmul_output_mode must be 0, 1, 2 or 3");
  KINTSUGI_ASSIGN(Masking masking, Masking::read(c, {a.queries.batch, a.queries.heads,
                                                     a.queries.tokens, past, a.keys.tokens}));
  if (masking.isNeeded())
    a.masked = [&](Indices i, Expr score) { return masking.applied(i, std::move(score)); };
  a.mayHideRows = masking.mayHideRows();
  AttentionSteps steps = attend(c, c.name(), a);
  c.output(0, a.queries.areSideBySide ? Heads::sideBySide(c, c.name() + ".sidebyside", steps.result)
                                      : steps.result);
  if (c.hasOutput(1))
    c.output(1, a.keys.apart(c, c.name(1)).tensor);
  if (c.hasOutput(2))
    c.output(2, a.values.apart(c, c.name(2)).tensor);
  outputSteps(c, steps, mode);
  return Status::success();
}

} // namespace

OperatorTable attentionOperators() {
  static const Operator table[] = {
      {"Attention", 23, 3, attention},
  };
  return table;
}

} // namespace kintsugi::import
