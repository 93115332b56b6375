//===- recurrent_activation.cpp - Activations that recurrent layers name -----===//

#include "import/ops/recurrent_activation.h"

#include "import/ops/arithmetic.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::import {
namespace {

using te::BinaryOp;
using te::UnaryOp;

Expr number(const Expr &like, double value) { return Expr::literal(like.type(), value); }
Expr unary(UnaryOp op, Expr x) { return Expr::unary(op, std::move(x)); }

Expr tanh(Expr x, double, double) { return unary(UnaryOp::Tanh, x); }
Expr sigmoid(Expr x, double, double) {
  return number(x, 1) / (number(x, 1) + unary(UnaryOp::Exp, -x));
}
Expr relu(Expr x, double, double) { return Expr::binary(BinaryOp::Max, x, number(x, 0)); }
Expr affine(Expr x, double alpha, double beta) { return number(x, alpha) * x + number(x, beta); }
Expr leakyRelu(Expr x, double alpha, double) {
  return Expr::select(less(x, number(x, 0)), number(x, alpha) * x, x);
}
Expr thresholdedRelu(Expr x, double alpha, double) {
  return Expr::select(less(x, number(x, alpha)), number(x, 0), x);
}
Expr scaledTanh(Expr x, double alpha, double beta) {
  return number(x, alpha) * unary(UnaryOp::Tanh, number(x, beta) * x);
}
Expr hardSigmoid(Expr x, double alpha, double beta) {
  Expr line = Expr::binary(BinaryOp::Max, affine(x, alpha, beta), number(x, 0));
  return Expr::binary(BinaryOp::Min, line, number(x, 1));
}
Expr elu(Expr x, double alpha, double) {
  Expr curve = number(x, alpha) * (unary(UnaryOp::Exp, x) - number(x, 1));
  return Expr::select(less(x, number(x, 0)), curve, x);
}
Expr softsign(Expr x, double, double) { return x / (number(x, 1) + unary(UnaryOp::Abs, x)); }
Expr softplus(Expr x, double, double) {
  Expr tail = unary(UnaryOp::Log, number(x, 1) + unary(UnaryOp::Exp, -unary(UnaryOp::Abs, x)));
  return Expr::binary(BinaryOp::Max, x, number(x, 0)) + tail;
}

/// By lower-case name: exporters don't agree on the case. The defaults of alpha and beta are those
/// of the operators of the same name.
struct Known {
  const char *name;
  Expr (*function)(Expr, double, double);
  bool hasAlpha, hasBeta;
  double alpha, beta;
};

const Known table[] = {
    {"tanh", tanh, false, false, 0, 0},
    {"sigmoid", sigmoid, false, false, 0, 0},
    {"relu", relu, false, false, 0, 0},
    {"affine", affine, true, true, 1, 0},
    {"leakyrelu", leakyRelu, true, false, 0.01f, 0},
    {"thresholdedrelu", thresholdedRelu, true, false, 1, 0},
    {"scaledtanh", scaledTanh, true, true, 1, 1},
    {"hardsigmoid", hardSigmoid, true, true, 0.2f, 0.5},
    {"elu", elu, true, false, 1, 0},
    {"softsign", softsign, false, false, 0, 0},
    {"softplus", softplus, false, false, 0, 0},
};

} // namespace

Expected<std::vector<CellActivation>>
cellActivations(OpContext &c, llvm::ArrayRef<std::string> defaults, int64_t directions) {
  std::vector<std::string> names;
  if (const Attribute *given = c.node().attribute("activations"))
    names = given->strings;
  if (names.empty())
    for (int64_t d = 0; d < directions; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() != defaults.size() * directions)
    return c.error("it has " + llvm::Twine(names.size()) + " activations instead of " +
                   llvm::Twine(defaults.size() * directions));
  std::vector<double> alphas = c.reals("activation_alpha"), betas = c.reals("activation_beta");
  size_t nextAlpha = 0, nextBeta = 0; // The lists skip activations without a parameter.
  std::vector<CellActivation> result;
  for (const std::string &name : names) {
    auto known = llvm::find_if(
        table, [&](const Known &entry) { return llvm::StringRef(name).lower() == entry.name; });
    if (known == std::end(table))
      return c.error("its activation '" + name + "' is not known");
    CellActivation activation{known->function, known->alpha, known->beta};
    if (known->hasAlpha && nextAlpha < alphas.size())
      activation.alpha = alphas[nextAlpha++];
    if (known->hasBeta && nextBeta < betas.size())
      activation.beta = betas[nextBeta++];
    result.push_back(activation);
  }
  return result;
}

} // namespace kintsugi::import
