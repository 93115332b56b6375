//===- recurrent_activation.h - Activations that recurrent layers name -------===//
#ifndef KINTSUGI_IMPORT_OPS_RECURRENT_ACTIVATION_H
#define KINTSUGI_IMPORT_OPS_RECURRENT_ACTIVATION_H

#include "import/op_context.h"

namespace kintsugi::import {

struct CellActivation {
  Expr (*function)(Expr x, double alpha, double beta);
  double alpha, beta;

  Expr apply(Expr x) const { return function(std::move(x), alpha, beta); }
};

/// The attributes activations, activation_alpha and activation_beta; for each direction as many as
/// there are defaults. An error for names that ONNX's LSTM does not list, or a wrong number.
Expected<std::vector<CellActivation>>
cellActivations(OpContext &c, llvm::ArrayRef<std::string> defaults, int64_t directions);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_OPS_RECURRENT_ACTIVATION_H
