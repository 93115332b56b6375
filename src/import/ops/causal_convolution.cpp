//===- causal_convolution.cpp - Convolutions that look back only --------------===//
//
// Every channel has a kernel of its own, whose last element meets the present. What it looks back
// on before the first element is kept from run to run.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/convolution.h"
#include "import/ops/families.h"
#include "import/ops/join.h"

namespace kintsugi::import {
namespace {

struct Causal {
  int64_t batch, channels, length, kernel;
  bool isActivated;

  Shape stateShape() const { return {batch, channels, kernel - 1}; }
};

Expected<Causal> readCausal(OpContext &c) {
  ValueId x = c.input(0), k = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, k));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(x, 3, "input"));
  KINTSUGI_RETURN_IF_ERROR(c.requireRank(k, 3, "weight"));
  Causal a{c.extent(x, 0), c.extent(x, 1), c.extent(x, 2), c.extent(k, 2), false};
  if (c.extent(k, 0) != a.channels || c.extent(k, 1) != 1 || a.kernel < 1)
    return c.error("its weight of shape " + shapeString(c.dims(k)) +
                   " is not one kernel for each of " + llvm::Twine(a.channels) + " channels");
  if (c.hasInput(3)) {
    KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, c.input(3)));
    std::vector<int64_t> given = c.dims(c.input(3)), wanted{a.batch, a.channels, a.kernel - 1};
    if (given != wanted)
      return c.error("its past_state has shape " + shapeString(given) + " instead of " +
                     shapeString(wanted));
  }
  std::string activation = c.text("activation", "none");
  a.isActivated = activation == "silu" || activation == "swish";
  if (!a.isActivated && activation != "none")
    return c.error("its activation '" + activation +
                   "' is not known; it must be none, silu or swish");
  return a;
}

/// The input behind what was before it: [batch, channel, kernel - 1 + length].
ValueId withPast(OpContext &c, const Causal &a) {
  ValueId x = c.input(0);
  if (a.kernel == 1)
    return x;
  if (c.hasInput(3))
    return concatenated(c, c.name() + ".joined", {c.input(3), x}, 2);
  return c.define(
      c.name() + ".padded", {a.batch, a.channels, a.kernel - 1 + a.length}, [&](Indices i) {
        return c.readOr(x, {i[0], i[1], i[2] - Index(a.kernel - 1)}, Expr::literal(c.type(x), 0.0));
      });
}

Status causalConvolution(OpContext &c) {
  KINTSUGI_ASSIGN(Causal a, readCausal(c));
  ElementType type = c.type(c.input(0)), wide = accumulatorFor(type);
  ValueId joined = withPast(c, a);
  Window window;
  window.input = a.kernel - 1 + a.length;
  window.kernel = a.kernel;
  window.output = a.length;
  ValueId y = convolve(c, c.name() + ".sum", type, joined, c.input(1), {window}, a.channels, wide);
  if (c.hasInput(2)) {
    KINTSUGI_ASSIGN(y, addBias(c, c.name() + ".biased", y, 2));
  }
  c.output(0, c.define(c.name(), c.shape(y), [&](Indices i) {
    if (!a.isActivated)
      return c.read(y, i);
    Expr x = Expr::cast(wide, c.read(y, i));
    Expr one = number(wide, 1);
    return Expr::cast(type, x * (one / (one + Expr::unary(te::UnaryOp::Exp, -x))));
  }));
  if (c.hasOutput(1))
    c.output(1, c.view(c.name(1), joined, a.stateShape(), [&](Indices i) {
      return llvm::SmallVector<Index>{i[0], i[1], i[2] + Index(a.length)};
    }));
  return Status::success();
}

} // namespace

OperatorTable causalConvolutionOperators() {
  static const Operator table[] = {
      {"CausalConvWithState", 27, 2, causalConvolution},
  };
  return table;
}

} // namespace kintsugi::import
