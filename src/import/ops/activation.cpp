//===- activation.cpp - Activation functions ---------------------------------===//
//
// Formulas with several steps are computed in f32 where the tensor is narrower, and rounded once.
//
//===----------------------------------------------------------------------===//

#include "import/ops/arithmetic.h"
#include "import/ops/families.h"

#include <cmath>

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::UnaryOp;

/// y = f(x) for each element, in the accumulator's type.
Status mapFloat(OpContext &c, llvm::function_ref<Expr(Expr, ElementType)> f) {
  ValueId x = c.input(0);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(x));
  ElementType wide = accumulatorFor(c.type(x));
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    return Expr::cast(c.type(x), f(Expr::cast(wide, c.read(x, i)), wide));
  }));
  return Status::success();
}

Expr exp(Expr x) { return Expr::unary(UnaryOp::Exp, std::move(x)); }
Expr log(Expr x) { return Expr::unary(UnaryOp::Log, std::move(x)); }
Expr tanh(Expr x) { return Expr::unary(UnaryOp::Tanh, std::move(x)); }
Expr max(Expr a, Expr b) { return Expr::binary(BinaryOp::Max, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return Expr::binary(BinaryOp::Min, std::move(a), std::move(b)); }

Expr sigmoidOf(Expr x, ElementType t) { return number(t, 1) / (number(t, 1) + exp(-x)); }

/// log(1 + exp(x)), without overflow.
Expr softplusOf(Expr x, ElementType t) {
  Expr magnitude = Expr::unary(UnaryOp::Abs, x);
  return max(x, number(t, 0)) + log(number(t, 1) + exp(-magnitude));
}

Status relu(OpContext &c) {
  ValueId x = c.input(0);
  ElementType t = c.type(x);
  c.output(0, c.define(c.name(), c.shape(x),
                       [&](Indices i) { return max(c.read(x, i), number(t, 0)); }));
  return Status::success();
}

Status sigmoid(OpContext &c) { return mapFloat(c, sigmoidOf); }
Status softplus(OpContext &c) { return mapFloat(c, softplusOf); }

Status softsign(OpContext &c) {
  return mapFloat(
      c, [](Expr x, ElementType t) { return x / (number(t, 1) + Expr::unary(UnaryOp::Abs, x)); });
}

Status mish(OpContext &c) {
  return mapFloat(c, [](Expr x, ElementType t) { return x * tanh(softplusOf(x, t)); });
}

Expr swishOf(Expr x, ElementType t, double alpha) {
  return x * sigmoidOf(alpha == 1 ? x : number(t, alpha) * x, t);
}

Status swish(OpContext &c) {
  double alpha = c.real("alpha", 1);
  return mapFloat(c, [&](Expr x, ElementType t) { return swishOf(x, t, alpha); });
}

/// Swish of a gate, times another tensor.
Status swiGlu(OpContext &c) {
  ValueId gate = c.input(0), x = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireFloat(gate));
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(gate, x));
  if (c.shape(gate) != c.shape(x))
    return c.error("its inputs' shapes " + shapeString(c.dims(gate)) + " and " +
                   shapeString(c.dims(x)) + " differ");
  ElementType type = c.type(x), t = accumulatorFor(type);
  double alpha = c.real("alpha", 1);
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr a = Expr::cast(t, c.read(gate, i));
    return Expr::cast(type, swishOf(a, t, alpha) * Expr::cast(t, c.read(x, i)));
  }));
  return Status::success();
}

Expr hardSigmoidOf(Expr x, ElementType t, double alpha, double beta) {
  return max(number(t, 0), min(number(t, 1), number(t, alpha) * x + number(t, beta)));
}

Status hardSigmoid(OpContext &c) {
  double alpha = c.real("alpha", 0.2f), beta = c.real("beta", 0.5);
  return mapFloat(c, [&](Expr x, ElementType t) { return hardSigmoidOf(x, t, alpha, beta); });
}

Status hardSwish(OpContext &c) {
  return mapFloat(c, [](Expr x, ElementType t) { return x * hardSigmoidOf(x, t, 1.0 / 6, 0.5); });
}

Status leakyRelu(OpContext &c) {
  double alpha = c.real("alpha", 0.01f);
  return mapFloat(c, [&](Expr x, ElementType t) {
    return Expr::select(less(x, number(t, 0)), number(t, alpha) * x, x);
  });
}

Status thresholdedRelu(OpContext &c) {
  double alpha = c.real("alpha", 1);
  return mapFloat(c, [&](Expr x, ElementType t) {
    return Expr::select(less(number(t, alpha), x), x, number(t, 0));
  });
}

Status elu(OpContext &c) {
  double alpha = c.real("alpha", 1);
  return mapFloat(c, [&](Expr x, ElementType t) {
    return Expr::select(less(x, number(t, 0)), number(t, alpha) * (exp(x) - number(t, 1)), x);
  });
}

Status celu(OpContext &c) {
  double alpha = c.real("alpha", 1);
  return mapFloat(c, [&](Expr x, ElementType t) {
    Expr curve = number(t, alpha) * (exp(x / number(t, alpha)) - number(t, 1));
    return max(number(t, 0), x) + min(number(t, 0), curve);
  });
}

Status selu(OpContext &c) {
  // The defaults are those of the specification, as f32.
  double alpha = c.real("alpha", 1.67326319217681884765625);
  double gamma = c.real("gamma", 1.05070102214813232421875);
  return mapFloat(c, [&](Expr x, ElementType t) {
    Expr curve = number(t, alpha) * exp(x) - number(t, alpha);
    return number(t, gamma) * Expr::select(less(number(t, 0), x), x, curve);
  });
}

Status gelu(OpContext &c) {
  std::string approximate = c.text("approximate", "none");
  if (approximate == "none")
    return mapFloat(c, [](Expr x, ElementType t) {
      Expr inner = Expr::unary(UnaryOp::Erf, x * number(t, std::sqrt(0.5)));
      return number(t, 0.5) * x * (number(t, 1) + inner);
    });
  if (approximate != "tanh")
    return c.error("approximate must be 'none' or 'tanh'");
  return mapFloat(c, [](Expr x, ElementType t) {
    Expr cubic = x + number(t, 0.044715) * x * x * x;
    return number(t, 0.5) * x * (number(t, 1) + tanh(number(t, std::sqrt(2 / M_PI)) * cubic));
  });
}

Status shrink(OpContext &c) {
  double bias = c.real("bias", 0), lambda = c.real("lambd", 0.5);
  ValueId x = c.input(0);
  ElementType type = c.type(x);
  // Integers too: they are shrunk as f32.
  ElementType wide = isFloat(type) ? accumulatorFor(type) : ElementType::F32;
  c.output(0, c.define(c.name(), c.shape(x), [&](Indices i) {
    Expr value = Expr::cast(wide, c.read(x, i));
    Expr inner = Expr::select(less(number(wide, lambda), value), value - number(wide, bias),
                              number(wide, 0));
    return Expr::cast(
        type, Expr::select(less(value, number(wide, -lambda)), value + number(wide, bias), inner));
  }));
  return Status::success();
}

Status prelu(OpContext &c) {
  ValueId x = c.input(0), slope = c.input(1);
  KINTSUGI_RETURN_IF_ERROR(c.requireSameType(x, slope));
  // Before operator set 7 a slope of one dimension belonged to the channels.
  if (c.opset() < 7 && c.rank(slope) == 1 && c.rank(x) > 2) {
    Shape shape(c.rank(x) - 1, Extent(1));
    shape[0] = c.shape(slope)[0];
    slope = c.reshape(c.name() + ".slope", slope, shape);
  }
  KINTSUGI_ASSIGN(Shape shape, c.broadcast({x, slope}));
  if (Dims(shape) != c.shape(x))
    return c.error("its slope does not broadcast to its input");
  c.output(0, c.define(c.name(), shape, [&](Indices i) {
    Expr value = c.read(x, i);
    return Expr::select(less(value, number(c.type(x), 0)), c.readBroadcast(slope, i) * value,
                        value);
  }));
  return Status::success();
}

} // namespace

OperatorTable activationOperators() {
  static const Operator table[] = {
      {"Relu", 1, 1, relu},
      {"Sigmoid", 1, 1, sigmoid},
      {"Softplus", 1, 1, softplus},
      {"Softsign", 1, 1, softsign},
      {"Mish", 18, 1, mish},
      {"Swish", 24, 1, swish},
      {"SwiGLU", 28, 2, swiGlu},
      {"HardSigmoid", 1, 1, hardSigmoid},
      {"HardSwish", 14, 1, hardSwish},
      {"LeakyRelu", 1, 1, leakyRelu},
      {"ThresholdedRelu", 10, 1, thresholdedRelu},
      {"Elu", 1, 1, elu},
      {"Celu", 12, 1, celu},
      {"Selu", 1, 1, selu},
      {"Gelu", 20, 1, gelu},
      {"Shrink", 9, 1, shrink},
      {"PRelu", 1, 2, prelu},
  };
  return table;
}

} // namespace kintsugi::import
