//===- recurrent.cpp - LSTM, GRU and RNN -------------------------------------===//
//
// The products with the input are taken for all steps at once, before the loop. What is left, the
// products with the hidden state and the gates, is the body of a scan. Each direction is a scan of
// its own; the reverse one reads its steps backwards.
//
//===----------------------------------------------------------------------===//

#include "import/ops/families.h"
#include "import/ops/recurrent_activation.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::Combiner;

enum class CellKind { Lstm, Gru, Rnn };

/// A recurrent node, its inputs put in the layout [steps, batch, ...].
struct Layer {
  CellKind kind;
  int64_t gates, steps, batch, size, hidden, directions;
  bool batchFirst, firstReversed;
  ValueId x; ///< [steps, batch, size]
  std::optional<ValueId> bias, lengths, hidden0, cell0, peepholes;
  double clip = 0; ///< 0: none.
  bool coupled = false, linearBeforeReset = false;
  ElementType type, wide;
  std::vector<CellActivation> activations; ///< For each direction those of the cell.

  unsigned activationsPerCell() const {
    return kind == CellKind::Lstm ? 3 : kind == CellKind::Gru ? 2 : 1;
  }
};

Status requireShape(OpContext &c, unsigned input, std::vector<int64_t> wanted,
                    llvm::StringRef role) {
  if (!c.hasInput(input) || c.dims(c.input(input)) == wanted)
    return Status::success();
  return c.error(role + " has shape " + shapeString(c.dims(c.input(input))) + " instead of " +
                 shapeString(wanted));
}

std::optional<ValueId> optionalInput(OpContext &c, unsigned input) {
  return c.hasInput(input) ? std::optional(c.input(input)) : std::nullopt;
}

/// Inputs 1 to 7 of a layer against its sizes.
Status checkShapes(OpContext &c, const Layer &l) {
  int64_t d = l.directions, g = l.gates * l.hidden;
  std::vector<int64_t> state =
      l.batchFirst ? std::vector{l.batch, d, l.hidden} : std::vector{d, l.batch, l.hidden};
  KINTSUGI_RETURN_IF_ERROR(requireShape(c, 1, {d, g, l.size}, "W"));
  KINTSUGI_RETURN_IF_ERROR(requireShape(c, 2, {d, g, l.hidden}, "R"));
  KINTSUGI_RETURN_IF_ERROR(requireShape(c, 3, {d, 2 * g}, "B"));
  KINTSUGI_RETURN_IF_ERROR(requireShape(c, 4, {l.batch}, "sequence_lens"));
  KINTSUGI_RETURN_IF_ERROR(requireShape(c, 5, state, "initial_h"));
  if (l.kind == CellKind::Lstm) {
    KINTSUGI_RETURN_IF_ERROR(requireShape(c, 6, state, "initial_c"));
    KINTSUGI_RETURN_IF_ERROR(requireShape(c, 7, {d, 3 * l.hidden}, "P"));
  }
  for (unsigned k = 0; k < c.numInputs(); ++k)
    if (k != 4 && c.hasInput(k))
      KINTSUGI_RETURN_IF_ERROR(c.requireSameType(c.input(0), c.input(k)));
  if (c.hasInput(4) && !isInteger(c.type(c.input(4))))
    return c.error("sequence_lens must be integers");
  return Status::success();
}

Expected<Layer> readLayer(OpContext &c, CellKind kind) {
  Layer l{kind, kind == CellKind::Lstm ? 4 : kind == CellKind::Gru ? 3 : 1};
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(x, 3, "X"));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(c.input(2), 3, "R"));
  std::string direction = c.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return c.error("its direction '" + direction + "' is not known");
  l.directions = direction == "bidirectional" ? 2 : 1;
  l.firstReversed = direction == "reverse";
  l.batchFirst = c.integer("layout", 0) != 0;
  l.steps = c.extent(x, l.batchFirst ? 1 : 0);
  l.batch = c.extent(x, l.batchFirst ? 0 : 1);
  l.size = c.extent(x, 2);
  l.hidden = c.extent(c.input(2), 2);
  if (c.integer("hidden_size", l.hidden) != l.hidden || l.hidden > int64_t(1) << 40)
    return c.error("hidden_size differs from the shape of R");
  KINTSUGI_RETURN_IF_ERROR(checkShapes(c, l));
  if (c.hasInput(4))
    KINTSUGI_RETURN_IF_ERROR(c.requireWithin(c.input(4), 0, l.steps + 1, "sequence length"));
  l.x = l.batchFirst ? c.transpose(c.name() + ".steps", x, {1, 0, 2}) : x;
  l.bias = optionalInput(c, 3);
  l.lengths = optionalInput(c, 4);
  l.hidden0 = optionalInput(c, 5);
  if (kind == CellKind::Lstm) {
    l.cell0 = optionalInput(c, 6);
    l.peepholes = optionalInput(c, 7);
  }
  l.clip = c.real("clip", 0);
  l.coupled = c.integer("input_forget", 0) != 0;
  l.linearBeforeReset = c.integer("linear_before_reset", 0) != 0;
  l.type = c.type(x);
  l.wide = accumulatorFor(l.type);
  static const std::vector<std::string> defaults[] = {
      {"Sigmoid", "Tanh", "Tanh"}, {"Sigmoid", "Tanh"}, {"Tanh"}};
  KINTSUGI_ASSIGN(l.activations,
                  cellActivations(c, defaults[static_cast<int>(kind)], l.directions));
  return l;
}

/// One direction of a layer.
struct Direction {
  int64_t number;
  bool reversed;
  std::string name;
};

/// A state's first value [batch, hidden], zero where it is not given.
ValueId initialState(OpContext &c, const Layer &l, const Direction &d, std::string name,
                     std::optional<ValueId> given) {
  return c.define(std::move(name), {l.batch, l.hidden}, [&](Indices i) {
    if (!given)
      return Expr::literal(l.wide, 0.0);
    Index direction(d.number);
    Expr value = l.batchFirst ? c.read(*given, {i[0], direction, i[1]})
                              : c.read(*given, {direction, i[0], i[1]});
    return Expr::cast(l.wide, value);
  });
}

/// x W' + the biases that are added before the gates, for every step: [steps, batch, gates *
/// hidden]. GRU's linear_before_reset keeps the hidden gate's recurrent bias for later.
ValueId inputProducts(OpContext &c, const Layer &l, const Direction &d) {
  int64_t width = l.gates * l.hidden;
  ValueId w = c.input(1);
  ValueId product = c.reduce(d.name + ".input", l.wide, {l.steps, l.batch, width}, Combiner::Sum,
                             {Extent(l.size)}, [&](Indices i, Indices r) {
                               Expr value = c.read(l.x, {i[0], i[1], r[0]});
                               Expr weight = c.read(w, {Index(d.number), i[2], r[0]});
                               return Expr::cast(l.wide, value) * Expr::cast(l.wide, weight);
                             });
  if (!l.bias)
    return product;
  auto bias = [&](const Index &place) {
    return Expr::cast(l.wide, c.read(*l.bias, {Index(d.number), place}));
  };
  return c.define(d.name + ".biased", c.shape(product), [&](Indices i) {
    Expr recurrent = bias(i[2] + Index(width));
    if (l.kind == CellKind::Gru && l.linearBeforeReset) {
      Expr early = Expr::binary(BinaryOp::Less, Expr::index(i[2], ElementType::I64),
                                Expr::literal(ElementType::I64, 2 * l.hidden));
      recurrent = Expr::select(early, recurrent, Expr::literal(l.wide, 0.0));
    }
    return c.read(product, i) + bias(i[2]) + recurrent;
  });
}

/// The body of the scan: a program of its own, built step by step.
class CellBody {
public:
  CellBody(OpContext &outer, const Layer &layer, const Direction &direction, ValueId products)
      : l(layer), d(direction), program(std::make_shared<te::Program>()), b(*program),
        outer(outer) {
    program->name = "cell";
    step = program->addInput("step", ElementType::I64, {});
    h = program->addInput("h", l.wide, {l.batch, l.hidden});
    if (l.kind == CellKind::Lstm)
      cell = program->addInput("c", l.wide, {l.batch, l.hidden});
    input = capture(products);
    r = capture(outer.input(2));
    if (l.peepholes)
      p = capture(*l.peepholes);
    if (l.lengths)
      lengths = capture(*l.lengths);
    if (l.bias && l.linearBeforeReset)
      bias = capture(*l.bias);
  }

  /// Builds one step; the outputs are the next states, then the hidden state to be stacked.
  Status build() {
    ValueId nextCell;
    ValueId next = l.kind == CellKind::Lstm  ? lstm(nextCell)
                   : l.kind == CellKind::Gru ? gru()
                                             : rnn();
    ValueId kept = whileRunning("h_next", next, h), stacked = kept;
    program->addOutput("h_next", kept);
    if (l.kind == CellKind::Lstm)
      program->addOutput("c_next", whileRunning("c_next", nextCell, cell));
    if (lengths) // Steps after the end of a sequence give zeros.
      stacked = b.define("y", b.shape(next), [&](Indices i) {
        return Expr::select(running(i[0]), b.read(next, i), Expr::literal(l.wide, 0.0));
      });
    program->addOutput("y", stacked);
    return b.takeProblem();
  }

  std::shared_ptr<const te::Program> body() const { return program; }
  llvm::ArrayRef<ValueId> captured() const { return captures; }

private:
  ValueId capture(ValueId value) {
    captures.push_back(value);
    const te::Value &from = outer.program.value(value);
    return program->addInput("in" + std::to_string(captures.size()), from.type, from.shape);
  }

  Expr stepNumber() { return b.read(step, {}); }
  Expr length(const Index &batch) {
    return Expr::cast(ElementType::I64, b.read(*lengths, {batch}));
  }
  Expr running(const Index &batch) {
    return Expr::binary(BinaryOp::Less, stepNumber(), length(batch));
  }

  ValueId whileRunning(std::string name, ValueId next, ValueId old) {
    if (!lengths)
      return next;
    return b.define(std::move(name), b.shape(next), [&](Indices i) {
      return Expr::select(running(i[0]), b.read(next, i), b.read(old, i));
    });
  }

  /// The input's part of a gate, at the time that this step stands for.
  Expr inputPart(Indices i, int64_t gate) {
    Index column = i[1] + Index(gate * l.hidden);
    Index now = Index::data(stepNumber());
    if (!d.reversed)
      return b.read(input, {now, i[0], column});
    if (!lengths)
      return b.read(input, {Index(l.steps - 1) - now, i[0], column});
    // Beyond a sequence's end any step will do: the result is not used.
    Index back = Index::data(length(i[0])) - Index(1) - now;
    return Expr::select(running(i[0]), b.read(input, {back, i[0], column}),
                        Expr::literal(l.wide, 0.0));
  }

  /// h R' for gates [first, first + count): [batch, count * hidden].
  ValueId recurrentPart(std::string name, ValueId state, int64_t first, int64_t count) {
    return b.reduce(std::move(name), l.wide, {l.batch, count * l.hidden}, Combiner::Sum,
                    {Extent(l.hidden)}, [&](Indices i, Indices k) {
                      Index row = i[1] + Index(first * l.hidden);
                      Expr weight = b.read(r, {Index(d.number), row, k[0]});
                      return b.read(state, {i[0], k[0]}) * Expr::cast(l.wide, weight);
                    });
  }

  Expr activate(unsigned number, Expr x) {
    if (l.clip > 0) {
      x = Expr::binary(BinaryOp::Min, x, Expr::literal(l.wide, l.clip));
      x = Expr::binary(BinaryOp::Max, x, Expr::literal(l.wide, -l.clip));
    }
    return l.activations[d.number * l.activationsPerCell() + number].apply(std::move(x));
  }

  ValueId gate(std::string name, llvm::function_ref<Expr(Indices)> body) {
    return b.define(std::move(name), {l.batch, l.hidden}, body);
  }

  Expr at(ValueId part, Indices i, int64_t gateNumber) {
    return b.read(part, {i[0], i[1] + Index(gateNumber * l.hidden)});
  }

  /// Gates in ONNX's order: input, output, forget, cell. P's: input, output, forget.
  ValueId lstm(ValueId &nextCell) {
    ValueId part = recurrentPart("recurrent", h, 0, 4);
    auto sum = [&](Indices i, int64_t number) {
      return inputPart(i, number) + at(part, i, number);
    };
    auto peep = [&](Indices i, int64_t number, ValueId state, Expr x) {
      if (!p)
        return x;
      Expr weight = b.read(*p, {Index(d.number), i[1] + Index(number * l.hidden)});
      return x + Expr::cast(l.wide, weight) * b.read(state, i);
    };
    ValueId in = gate("i", [&](Indices i) { return activate(0, peep(i, 0, cell, sum(i, 0))); });
    ValueId forget = gate("f", [&](Indices i) {
      if (l.coupled)
        return Expr::literal(l.wide, 1.0) - b.read(in, i);
      return activate(0, peep(i, 2, cell, sum(i, 2)));
    });
    ValueId fresh = gate("g", [&](Indices i) { return activate(1, sum(i, 3)); });
    nextCell = gate("c_new", [&](Indices i) {
      return b.read(forget, i) * b.read(cell, i) + b.read(in, i) * b.read(fresh, i);
    });
    ValueId out =
        gate("o", [&](Indices i) { return activate(0, peep(i, 1, nextCell, sum(i, 1))); });
    return gate("h_new", [&](Indices i) {
      const CellActivation &last = l.activations[d.number * 3 + 2];
      return b.read(out, i) * last.apply(b.read(nextCell, i));
    });
  }

  /// Gates: update, reset, hidden.
  ValueId gru() {
    bool linear = l.linearBeforeReset;
    ValueId part = recurrentPart("recurrent", h, 0, linear ? 3 : 2);
    auto sum = [&](Indices i, int64_t number) {
      return inputPart(i, number) + at(part, i, number);
    };
    ValueId update = gate("z", [&](Indices i) { return activate(0, sum(i, 0)); });
    ValueId reset = gate("r", [&](Indices i) { return activate(0, sum(i, 1)); });
    ValueId fresh;
    if (linear) {
      fresh = gate("g", [&](Indices i) {
        Expr state = at(part, i, 2);
        if (bias)
          state = state +
                  Expr::cast(l.wide, b.read(*bias, {Index(d.number), i[1] + Index(5 * l.hidden)}));
        return activate(1, inputPart(i, 2) + b.read(reset, i) * state);
      });
    } else {
      ValueId kept = gate("rh", [&](Indices i) { return b.read(reset, i) * b.read(h, i); });
      ValueId product = recurrentPart("recurrent_h", kept, 2, 1);
      fresh =
          gate("g", [&](Indices i) { return activate(1, inputPart(i, 2) + b.read(product, i)); });
    }
    return gate("h_new", [&](Indices i) {
      Expr z = b.read(update, i);
      return (Expr::literal(l.wide, 1.0) - z) * b.read(fresh, i) + z * b.read(h, i);
    });
  }

  ValueId rnn() {
    ValueId part = recurrentPart("recurrent", h, 0, 1);
    return gate("h_new", [&](Indices i) { return activate(0, inputPart(i, 0) + b.read(part, i)); });
  }

  const Layer &l;
  const Direction &d;
  std::shared_ptr<te::Program> program;
  Builder b;
  OpContext &outer;
  llvm::SmallVector<ValueId> captures;
  ValueId step, h, cell, input, r;
  std::optional<ValueId> p, lengths, bias;
};

/// What one direction gives: the stacked hidden states [steps, batch, hidden] in the order of its
/// own steps, and the last states [batch, hidden].
struct DirectionResult {
  Direction direction;
  ValueId stacked, lastHidden, lastCell;
};

Expected<DirectionResult> runDirection(OpContext &c, const Layer &l, const Direction &d) {
  ValueId products = inputProducts(c, l, d);
  CellBody cell(c, l, d, products);
  KINTSUGI_RETURN_IF_ERROR(cell.build());
  te::Scan scan{Extent(l.steps), cell.body(), {}, {}, {}};
  llvm::SmallVector<std::string> names{d.name + ".h"};
  scan.initial.push_back(initialState(c, l, d, d.name + ".h0", l.hidden0));
  if (l.kind == CellKind::Lstm) {
    scan.initial.push_back(initialState(c, l, d, d.name + ".c0", l.cell0));
    names.push_back(d.name + ".c");
  }
  names.push_back(d.name + ".y");
  scan.captured.assign(cell.captured().begin(), cell.captured().end());
  auto results = c.program.addScan(names, std::move(scan));
  return DirectionResult{d, results.back(), results[0],
                         l.kind == CellKind::Lstm ? results[1] : ValueId()};
}

/// A direction's hidden state at time `t`, in the order of time.
Expr hiddenAt(OpContext &c, const Layer &l, const DirectionResult &result, const Index &t,
              const Index &batch, const Index &hidden) {
  if (!result.direction.reversed)
    return c.read(result.stacked, {t, batch, hidden});
  if (!l.lengths)
    return c.read(result.stacked, {Index(l.steps - 1) - t, batch, hidden});
  Expr length = Expr::cast(ElementType::I64, c.read(*l.lengths, {batch}));
  Expr inside = Expr::binary(BinaryOp::Less, Expr::index(t, ElementType::I64), length);
  Index back = Index::data(length) - Index(1) - t;
  return Expr::select(inside, c.read(result.stacked, {back, batch, hidden}),
                      Expr::literal(l.wide, 0.0));
}

/// Picks by the index of the direction.
Expr byDirection(const Index &direction, llvm::ArrayRef<DirectionResult> results,
                 llvm::function_ref<Expr(const DirectionResult &)> value) {
  if (results.size() == 1)
    return value(results[0]);
  Expr isFirst = Expr::binary(BinaryOp::Less, Expr::index(direction, ElementType::I64),
                              Expr::literal(ElementType::I64, int64_t(1)));
  return Expr::select(isFirst, value(results[0]), value(results[1]));
}

void outputState(OpContext &c, const Layer &l, unsigned output,
                 llvm::ArrayRef<DirectionResult> results, ValueId DirectionResult::*state) {
  if (!c.hasOutput(output))
    return;
  Shape shape{l.directions, l.batch, l.hidden};
  if (l.batchFirst)
    std::swap(shape[0], shape[1]);
  c.output(output, c.define(c.name(output), shape, [&](Indices i) {
    const Index &direction = l.batchFirst ? i[1] : i[0], &batch = l.batchFirst ? i[0] : i[1];
    return Expr::cast(l.type, byDirection(direction, results, [&](const DirectionResult &one) {
                        return c.read(one.*state, {batch, i[2]});
                      }));
  }));
}

Status recurrent(OpContext &c, CellKind kind) {
  KINTSUGI_ASSIGN(Layer l, readLayer(c, kind));
  llvm::SmallVector<DirectionResult> results;
  for (int64_t number = 0; number < l.directions; ++number) {
    bool reversed = number == 1 || l.firstReversed;
    Direction d{number, reversed, c.name() + (reversed ? ".reverse" : ".forward")};
    KINTSUGI_ASSIGN(DirectionResult result, runDirection(c, l, d));
    results.push_back(result);
  }
  if (c.hasOutput(0)) {
    Shape shape{l.steps, l.directions, l.batch, l.hidden};
    if (l.batchFirst)
      shape = {l.batch, l.steps, l.directions, l.hidden};
    c.output(0, c.define(c.name(), shape, [&](Indices i) {
      const Index &t = l.batchFirst ? i[1] : i[0], &direction = l.batchFirst ? i[2] : i[1],
                  &batch = l.batchFirst ? i[0] : i[2];
      return Expr::cast(l.type, byDirection(direction, results, [&](const DirectionResult &one) {
                          return hiddenAt(c, l, one, t, batch, i[3]);
                        }));
    }));
  }
  outputState(c, l, 1, results, &DirectionResult::lastHidden);
  if (kind == CellKind::Lstm)
    outputState(c, l, 2, results, &DirectionResult::lastCell);
  return Status::success();
}

Status lstm(OpContext &c) { return recurrent(c, CellKind::Lstm); }
Status gru(OpContext &c) { return recurrent(c, CellKind::Gru); }
Status rnn(OpContext &c) { return recurrent(c, CellKind::Rnn); }

} // namespace

OperatorTable recurrentOperators() {
  static const Operator table[] = {
      {"LSTM", 1, 3, lstm},
      {"GRU", 1, 3, gru},
      {"RNN", 1, 3, rnn},
  };
  return table;
}

} // namespace kintsugi::import
