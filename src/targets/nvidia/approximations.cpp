#include "targets/nvidia/approximations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace kintsugi::targets {

static Value call(Emit &emit, const char *name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(emit.builder, emit.location, operands[0].getType(),
                                       emit.builder.getStringAttr(name), operands)
      .getResults();
}

Value Approximations::inverse(Emit &emit, Value x) const {
  return call(emit, "llvm.nvvm.rcp.approx.ftz.f", x);
}

Value Approximations::quotient(Emit &emit, Value a, Value b) const {
  return call(emit, "llvm.nvvm.div.full", {a, b});
}

/// 2^t by the unit, t = x / ln 2 rounded down, so that what the rounding cut off is a small number
/// that is not negative: cutting it to 0 to 1 changes only what it is at infinities, where it is
/// none.
Value Approximations::exponential(Emit &emit, Value x) const {
  auto number = [&](double value) { return emit.number(x.getType(), value); };
  constexpr double log2e = 0x1.715476p0, ln2 = 0x1.62e430p-1;
  Value t = call(emit, "llvm.nvvm.mul.rm.f", {x, number(log2e)});
  Value rest = call(emit, "llvm.nvvm.fma.rn.sat.f", {x, number(log2e), emit.negate(t)});
  Value power = call(emit, "llvm.nvvm.ex2.approx.ftz.f", t);
  return emit.mul(power, emit.fma(rest, number(ln2), number(1)));
}

Value Approximations::extremum(Emit &emit, Value a, Value b, bool isMax) const {
  if (isMax)
    return arith::MaximumFOp::create(emit.builder, emit.location, a, b);
  return arith::MinimumFOp::create(emit.builder, emit.location, a, b);
}

} // namespace kintsugi::targets
