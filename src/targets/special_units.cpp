//===- special_units.cpp - What a GPU approximates in one instruction -----===//

#include "targets/special_units.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace kintsugi::targets {

static Value call(Emit &emit, const char *name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(emit.builder, emit.location, operands[0].getType(),
                                       emit.builder.getStringAttr(name), operands)
      .getResults();
}

Value inverseByUnits(Emit &emit, Value x) { return call(emit, "llvm.nvvm.rcp.approx.ftz.f", x); }

/// A step of Newton's.
Value roundedInverseByUnits(Emit &emit, Value x) {
  Value inverse = inverseByUnits(emit, x);
  Value rest = emit.fma(emit.negate(x), inverse, emit.number(x.getType(), 1));
  return emit.fma(inverse, rest, inverse);
}

Value quotientByUnits(Emit &emit, Value a, Value b) {
  return call(emit, "llvm.nvvm.div.full", {a, b});
}

/// Whether a small relative error of an operand is no greater in the result, but for where sums
/// cancel: there what the operands were rounded from is as far away.
static bool isSmooth(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::SelectOp, math::AbsFOp, math::ErfOp,
             math::ExpOp, math::SqrtOp, math::TanhOp>(op);
}

bool isNarrowed(Value value) {
  SmallVector<Value> pending = {value};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (!seen.insert(user).second)
        continue;
      bool isLast =
          isa<arith::TruncFOp>(user) && user->getResult(0).getType().getIntOrFloatBitWidth() == 16;
      if (!isLast && !isSmooth(user))
        return false;
      if (!isLast)
        pending.push_back(user->getResult(0));
    }
  return true;
}

Value scaleOfDivisor(Emit &emit, Value divisor, bool byUnits) {
  Type type = divisor.getType();
  double tiny = type.isF64() ? 0x1p-900 : 0x1p-100, large = type.isF64() ? 0x1p200 : 0x1p64;
  Value size = emit.absolute(divisor);
  Value scale = emit.select(emit.less(size, emit.number(type, tiny)), emit.number(type, large),
                            emit.number(type, 1));
  if (!byUnits)
    return scale;
  Value isLarge = emit.less(emit.number(type, 1 / tiny), size);
  return emit.select(isLarge, emit.number(type, 1 / large), scale);
}

Value factorOfDivisor(Emit &emit, Value divisor) {
  Type type = divisor.getType();
  constexpr double most = 0x1.fffffep127;
  Value scale = scaleOfDivisor(emit, divisor, true);
  Value inverse = emit.mul(inverseByUnits(emit, emit.mul(divisor, scale)), scale);
  Value finite = extremumByUnits(emit, inverse, emit.number(type, -most), true);
  finite = extremumByUnits(emit, finite, emit.number(type, most), false);
  return emit.select(emit.equal(divisor, emit.number(type, 0)), inverse, finite);
}

/// 2^t by the unit, t = x / ln 2 rounded down, so that what the rounding cut off is a small number
/// that is not negative: cutting it to 0 to 1 changes only what it is at infinities, where it is
/// none.
Value exponentialByUnits(Emit &emit, Value x) {
  auto number = [&](double value) { return emit.number(x.getType(), value); };
  constexpr double log2e = 0x1.715476p0, ln2 = 0x1.62e430p-1;
  Value t = call(emit, "llvm.nvvm.mul.rm.f", {x, number(log2e)});
  Value rest = call(emit, "llvm.nvvm.fma.rn.sat.f", {x, number(log2e), emit.negate(t)});
  Value power = call(emit, "llvm.nvvm.ex2.approx.ftz.f", t);
  return emit.mul(power, emit.fma(rest, number(ln2), number(1)));
}

Value extremumByUnits(Emit &emit, Value a, Value b, bool isMax) {
  if (isMax)
    return arith::MaximumFOp::create(emit.builder, emit.location, a, b);
  return arith::MinimumFOp::create(emit.builder, emit.location, a, b);
}

} // namespace kintsugi::targets
