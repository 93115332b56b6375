//===- special_units.cpp - What a machine approximates in one instruction -===//

#include "targets/special_units.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace kintsugi::targets {

/// A step of Newton's.
Value SpecialUnits::roundedInverse(Emit &emit, Value x) const {
  Value near = inverse(emit, x);
  Value rest = emit.fma(emit.negate(x), near, emit.number(x.getType(), 1));
  return emit.fma(near, rest, near);
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

Value SpecialUnits::factorOfDivisor(Emit &emit, Value divisor) const {
  Type type = divisor.getType();
  constexpr double most = 0x1.fffffep127;
  Value scale = scaleOfDivisor(emit, divisor, true);
  Value factor = emit.mul(inverse(emit, emit.mul(divisor, scale)), scale);
  Value finite = extremum(emit, factor, emit.number(type, -most), true);
  finite = extremum(emit, finite, emit.number(type, most), false);
  return emit.select(emit.equal(divisor, emit.number(type, 0)), factor, finite);
}

} // namespace kintsugi::targets
