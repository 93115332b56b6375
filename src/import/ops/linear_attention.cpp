//===- linear_attention.cpp - Attention by a state that tokens are written to -===//
//
// Each head has a state [key element, value element], to which every token adds the product of its
// key and its value, and from which its query reads a mixture of the values so far. Tokens follow
// one another in a scan; a single one, as in decoding, needs none.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/heads.h"

#include <cmath>

namespace kintsugi::import {
namespace {

using te::Combiner;

/// The node's tensors as the program that reads them knows them, those of tokens [batch, token,
/// head * element].
struct Sources {
  ValueId query, key, value;
  std::optional<ValueId> decay; ///< Logarithms; a head's elements, or one number a head.
  std::optional<ValueId> rate;  ///< One number a head, or for all.
};

struct Layer {
  int64_t batch, tokens, queryHeads, heads, keySize, valueSize;
  bool isGated, isCorrected;
  double scale;
  ElementType wide;
  Sources sources;

  Shape stateShape() const { return {batch, heads, keySize, valueSize}; }
};

Status requireShape(OpContext &c, unsigned input, std::vector<int64_t> wanted,
                    llvm::StringRef role) {
  std::vector<int64_t> given = c.dims(c.input(input));
  if (given == wanted)
    return Status::success();
  return c.error("its " + role + " has shape " + shapeString(given) + " instead of " +
                 shapeString(wanted));
}

/// What the update rule says of a tensor of tokens: input number `input` is there exactly if it is
/// needed, and has one of two widths.
Status requireGate(OpContext &c, const Layer &l, unsigned input, bool isNeeded,
                   llvm::StringRef role, std::pair<int64_t, int64_t> widths) {
  if (c.hasInput(input) != isNeeded)
    return c.error(isNeeded ? "its update rule needs a " + role : "its update rule has no " + role);
  if (!isNeeded)
    return Status::success();
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(0), c.input(input)));
  if (c.dims(c.input(input)) == std::vector{l.batch, l.tokens, widths.second})
    return Status::success();
  return requireShape(c, input, {l.batch, l.tokens, widths.first}, role);
}

Status readRule(OpContext &c, Layer &l) {
  std::string rule = c.text("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return c.error("its update_rule '" + rule +
                   "' is not known; it must be linear, gated, delta or gated_delta");
  l.isGated = rule.starts_with("gated");
  l.isCorrected = rule.ends_with("delta");
  return Status::success();
}

Expected<Layer> readLayer(OpContext &c) {
  Layer l{};
  for (unsigned k = 0; k < 3; ++k) {
    KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(k)));
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(0), c.input(k)));
    KINTSUGI_RETURN_IF_ERROR(c.requireRank(c.input(k), 3,
                                           k == 0   ? "query"
                                           : k == 1 ? "key"
                                                    : "value"));
  }
  KINTSUGI_RETURN_IF_ERROR(readRule(c, l));
  l.batch = c.extent(c.input(0), 0);
  l.tokens = c.extent(c.input(0), 1);
  l.queryHeads = c.integer("q_num_heads", 0);
  l.heads = c.integer("kv_num_heads", 0);
  KINTSUGI_ASSIGN(l.keySize, headSizeOf(c, c.input(0), l.queryHeads, "q_num_heads"));
  KINTSUGI_ASSIGN(l.valueSize, headSizeOf(c, c.input(2), l.heads, "kv_num_heads"));
  if (l.queryHeads % l.heads != 0)
    return c.error("its " + llvm::Twine(l.queryHeads) + " heads of queries can't share " +
                   llvm::Twine(l.heads) + " heads of keys");
  int64_t width = l.heads * l.keySize;
  KINTSUGI_RETURN_IF_ERROR(requireShape(c, 1, {l.batch, l.tokens, width}, "key"));
  KINTSUGI_RETURN_IF_ERROR(requireShape(c, 2, {l.batch, l.tokens, l.heads * l.valueSize}, "value"));
  if (c.hasInput(3)) {
    KINTSUGI_RETURN_IF_ERROR(c.requireFloat(c.input(3)));
    KINTSUGI_RETURN_IF_ERROR(
        requireShape(c, 3, {l.batch, l.heads, l.keySize, l.valueSize}, "past_state"));
  }
  KINTSUGI_RETURN_IF_ERROR(requireGate(c, l, 4, l.isGated, "decay", {l.heads, width}));
  KINTSUGI_RETURN_IF_ERROR(requireGate(c, l, 5, l.isCorrected, "beta", {l.heads, 1}));
  l.scale = c.real("scale", 0);
  if (l.scale == 0)
    l.scale = 1 / std::sqrt(double(l.keySize));
  l.wide = accumulatorFor(c.type(c.input(0)));
  l.sources = {c.input(0), c.input(1), c.input(2), {}, {}};
  if (l.isGated)
    l.sources.decay = c.input(4);
  if (l.isCorrected)
    l.sources.rate = c.input(5);
  return l;
}

/// What one token does, in the program that `b` builds.
class Token {
public:
  Token(Builder &b, const Layer &layer, const Sources &sources, std::string name, Index number)
      : b(b), l(layer), s(sources), name(std::move(name)), number(std::move(number)) {}

  /// The state after the token, from that before it.
  ValueId written(ValueId state) {
    if (l.isGated)
      state = b.define(name + ".decayed", l.stateShape(), [&](Indices i) {
        return b.read(state, i) * Expr::unary(te::UnaryOp::Exp, decay(i[0], i[1], i[2]));
      });
    std::optional<ValueId> correction;
    if (l.isCorrected)
      correction = corrected(state);
    return b.define(name + ".state", l.stateShape(), [&](Indices i) {
      Expr value = correction ? b.read(*correction, {i[0], i[1], i[3]})
                              : element(s.value, i[0], i[1], l.valueSize, i[3]);
      return b.read(state, i) + element(s.key, i[0], i[1], l.keySize, i[2]) * value;
    });
  }

  /// What the query reads: [batch, query head, value element].
  ValueId read(ValueId state) {
    int64_t group = l.queryHeads / l.heads;
    ValueId sum = b.reduce(name + ".read", l.wide, {l.batch, l.queryHeads, l.valueSize},
                           Combiner::Sum, {Extent(l.keySize)}, [&](Indices i, Indices r) {
                             Index head = i[1].floorDiv(group);
                             return element(s.query, i[0], i[1], l.keySize, r[0]) *
                                    b.read(state, {i[0], head, r[0], i[2]});
                           });
    return b.define(name + ".scaled", b.shape(sum),
                    [&](Indices i) { return b.read(sum, i) * Expr::literal(l.wide, l.scale); });
  }

private:
  Expr element(ValueId tensor, const Index &sample, const Index &head, int64_t size,
               const Index &place) const {
    return Expr::cast(l.wide, b.read(tensor, {sample, number, head * size + place}));
  }

  Expr decay(const Index &sample, const Index &head, const Index &place) const {
    if (b.extent(*s.decay, 2) == l.heads)
      return element(*s.decay, sample, head, 1, 0);
    return element(*s.decay, sample, head, l.keySize, place);
  }

  /// By how much the value differs from what the state has for the key, times the token's rate.
  ValueId corrected(ValueId state) {
    ValueId known = b.reduce(name + ".known", l.wide, {l.batch, l.heads, l.valueSize},
                             Combiner::Sum, {Extent(l.keySize)}, [&](Indices i, Indices r) {
                               return element(s.key, i[0], i[1], l.keySize, r[0]) *
                                      b.read(state, {i[0], i[1], r[0], i[2]});
                             });
    return b.define(name + ".correction", b.shape(known), [&](Indices i) {
      Index head = b.extent(*s.rate, 2) == 1 ? Index(0) : i[1];
      Expr value = element(s.value, i[0], i[1], l.valueSize, i[2]);
      return element(*s.rate, i[0], head, 1, 0) * (value - b.read(known, i));
    });
  }

  Builder &b;
  const Layer &l;
  const Sources &s;
  std::string name;
  Index number;
};

/// The last state, and what queries read: [token, batch, query head, value element].
struct Reading {
  ValueId state, stacked;
};

Reading oneToken(OpContext &c, const Layer &l, ValueId state) {
  Token token(c, l, l.sources, c.name() + ".token", 0);
  ValueId next = token.written(state), read = token.read(next);
  return {next,
          c.reshape(c.name() + ".stacked", read, {Extent(1), l.batch, l.queryHeads, l.valueSize})};
}

Expected<Reading> allTokens(OpContext &c, const Layer &l, ValueId state) {
  auto body = std::make_shared<te::Program>();
  body->name = "token";
  Builder b(*body);
  ValueId step = body->addInput("step", ElementType::I64, {});
  ValueId before = body->addInput("before", l.wide, l.stateShape());
  te::Scan scan{Extent(l.tokens), body, {state}, {}, {}};
  auto captured = [&](ValueId outer) {
    scan.captured.push_back(outer);
    return body->addInput("in" + std::to_string(scan.captured.size()), c.type(outer),
                          Shape(c.shape(outer)));
  };
  Sources s{captured(l.sources.query), captured(l.sources.key), captured(l.sources.value), {}, {}};
  if (l.sources.decay)
    s.decay = captured(*l.sources.decay);
  if (l.sources.rate)
    s.rate = captured(*l.sources.rate);
  Token token(b, l, s, "token", Index::data(b.read(step, {})));
  ValueId next = token.written(before);
  body->addOutput("next", next);
  body->addOutput("read", token.read(next));
  KINTSUGI_RETURN_IF_ERROR(b.takeProblem());
  std::string names[] = {c.name() + ".last", c.name() + ".stacked"};
  auto results = c.program.addScan(names, std::move(scan));
  return Reading{results[0], results[1]};
}

Status linearAttention(OpContext &c) {
  KINTSUGI_ASSIGN(Layer l, readLayer(c));
  ValueId first = c.define(c.name() + ".first", l.stateShape(), [&](Indices i) {
    return c.hasInput(3) ? Expr::cast(l.wide, c.read(c.input(3), i)) : Expr::literal(l.wide, 0.0);
  });
  ElementType type = c.type(c.input(0));
  Reading reading;
  if (l.tokens == 1) {
    reading = oneToken(c, l, first);
  } else {
    KINTSUGI_ASSIGN(reading, allTokens(c, l, first));
  }
  Shape shape{l.batch, l.tokens, l.queryHeads * l.valueSize};
  c.output(0, c.define(c.name(), shape, [&](Indices i) {
    Index head = i[2].floorDiv(l.valueSize), place = i[2].mod(l.valueSize);
    return Expr::cast(type, c.read(reading.stacked, {i[1], i[0], head, place}));
  }));
  if (c.hasOutput(1))
    c.output(1, c.castTo(c.name(1), reading.state, c.hasInput(3) ? c.type(c.input(3)) : type));
  return Status::success();
}

} // namespace

OperatorTable linearAttentionOperators() {
  static const Operator table[] = {
      {"LinearAttention", 27, 3, linearAttention},
  };
  return table;
}

} // namespace kintsugi::import
