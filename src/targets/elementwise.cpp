//===- elementwise.cpp - Scalar operations of a body on any machine -------===//

#include "targets/elementwise.h"

#include "abi/imports.h"
#include "targets/double_functions.h"
#include "targets/reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace kintsugi::targets {

/// By Horner's rule, the highest coefficient first.
Value Elementwise::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = emit.number(x.getType(), coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = emit.fma(sum, x, emit.number(x.getType(), coefficient));
  return sum;
}

bool Elementwise::hasUnits(Type type) const { return units && type.isF32(); }

/// x between two numbers; NaN stays.
Value Elementwise::clamp(Value x, double low, double high) {
  Value least = emit.number(x.getType(), low), most = emit.number(x.getType(), high);
  if (hasUnits(x.getType()))
    return units->extremum(emit, units->extremum(emit, x, least, true), most, false);
  x = emit.select(emit.less(x, least), least, x);
  return emit.select(emit.less(most, x), most, x);
}

bool Elementwise::canScale(Type type) const {
  auto vector = dyn_cast<VectorType>(type);
  return scales && vector && vector.getElementType().isF32() &&
         (vector.getNumElements() == 8 || vector.getNumElements() == 16);
}

/// x times 2^exponent, which is a whole number, in the lanes that are wanted, and 0 in the others.
Value Elementwise::scaled(Value x, Value exponent, Value wanted) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  bool isWide = lanes == 16;
  Type bits = emit.builder.getIntegerType(lanes);
  Value mask = LLVM::BitcastOp::create(emit.builder, emit.location, bits, wanted);
  SmallVector<Value> operands = {x, exponent, emit.number(x.getType(), 0), mask};
  constexpr int64_t asRounded = 4; // As the processor's mode says.
  if (isWide)
    operands.push_back(emit.integer(emit.builder.getI32Type(), asRounded));
  llvm::StringRef name =
      isWide ? "llvm.x86.avx512.mask.scalef.ps.512" : "llvm.x86.avx512.mask.scalef.ps.256";
  return LLVM::CallIntrinsicOp::create(emit.builder, emit.location, x.getType(),
                                       emit.builder.getStringAttr(name), operands)
      .getResults();
}

/// x / ln 2 = n + f with |f| <= 1/2; the polynomial is 2^f but for 4e-9 of it. Adding and
/// subtracting 1.5 * 2^23 rounds to an integer, which then stands in the low bits and is added to
/// the exponent. What 1 / ln 2 loses as an f32 is added where it counts. Where that leaves a normal
/// number's range, another value is chosen. A processor that scales by powers of two gives the same
/// bits.
Value Elementwise::exponential(Value x) {
  Type type = x.getType();
  if (getElementTypeOrSelf(type).isF64())
    return import("exp", x);
  if (hasUnits(type))
    return units->exponential(emit, x);
  auto number = [&](double value) { return emit.number(type, value); };
  constexpr double least = -87.33654, beyond = 89; ///< From `beyond` on, 2^n r is infinite.
  Value given = x;
  bool inOne = canScale(type);
  if (inOne)
    x = emit.select(emit.less(number(beyond), x), number(beyond), x);
  constexpr double inverse = 0x1.715476p0, lost = 0x1.4ae0cp-26; ///< Together 1 / ln 2.
  Value magic = number(0x1.8p23);
  Value shifted = emit.fma(x, number(inverse), magic);
  Value n = emit.sub(shifted, magic);
  Value f = emit.fma(x, number(lost), emit.fma(x, number(inverse), emit.negate(n)));
  Value value = polynomial(f, {0x1.417814p-13, 0x1.5f0978p-10, 0x1.3b2dd6p-7, 0x1.c6af7ap-5,
                               0x1.ebfbdcp-3, 0x1.62e43p-1, 1});
  // No denormals: masked scores give them in masses, and each costs an assist wherever it is used.
  if (inOne)
    return scaled(value, n,
                  arith::CmpFOp::create(emit.builder, emit.location, arith::CmpFPredicate::UGE,
                                        given, number(least)));
  Type i32 = emit.builder.getI32Type();
  Value exponent = emit.shiftLeft(emit.bitcast(shifted, i32), 23);
  Value result =
      emit.bitcast(emit.add(emit.bitcast(value, i32), exponent), emit.builder.getF32Type());
  // Infinity or NaN: x times infinity is both.
  Value tooHigh = emit.mul(x, number(std::numeric_limits<double>::infinity()));
  result = emit.select(emit.less(x, number(0x1.62e43p6)), result, tooHigh);
  return emit.select(emit.less(x, number(least)), number(0), result);
}

/// x = 2^e (1 + m) with sqrt(1/2) <= 1 + m < sqrt(2); the polynomial is that of Cephes' logf.
Value Elementwise::logarithm(Value x) {
  Type type = x.getType();
  if (getElementTypeOrSelf(type).isF64())
    return import("log", x);
  auto number = [&](double value) { return emit.number(type, value); };
  double infinity = std::numeric_limits<double>::infinity();
  Value isTiny = emit.less(x, number(0x1p-126));
  Value scaled = emit.select(isTiny, emit.mul(x, number(0x1p23)), x);
  Value bits = emit.bitcast(scaled, emit.builder.getI32Type());
  Type integers = bits.getType();
  Value exponent = emit.sub(emit.shiftRight(bits, 23), emit.integer(integers, 126));
  Value mantissa = emit.bitOr(emit.bitAnd(bits, emit.integer(integers, 0x007fffff)),
                              emit.integer(integers, 0x3f000000));
  Value m = emit.bitcast(mantissa, emit.builder.getF32Type());
  Value isLow = emit.less(m, number(0.707106781186547524));
  Value e = arith::SIToFPOp::create(emit.builder, emit.location, type, exponent);
  e = emit.sub(e, emit.select(isLow, number(1), number(0)));
  e = emit.sub(e, emit.select(isTiny, number(23), number(0)));
  m = emit.sub(emit.select(isLow, emit.add(m, m), m), number(1));
  Value square = emit.mul(m, m);
  Value p = polynomial(m, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
                           1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
                           3.3333331174e-1});
  Value y = emit.mul(emit.mul(p, m), square);
  y = emit.fma(e, number(-2.12194440e-4), y);
  y = emit.fma(square, number(-0.5), y);
  Value result = emit.fma(e, number(0.693359375), emit.add(m, y));
  result = emit.select(emit.equal(x, number(infinity)), x, result);
  Value isNumber = emit.less(number(0), x);
  Value special = emit.select(emit.equal(x, number(0)), number(-infinity),
                              number(std::numeric_limits<double>::quiet_NaN()));
  return emit.select(isNumber, result, special);
}

/// a / b where b is a normal number whose inverse is one, too. A GPU's own division tells such
/// numbers from others with a branch, which keeps it from computing several quotients side by side.
Value Elementwise::quotient(Value a, Value b) {
  return hasUnits(b.getType()) ? emit.mul(a, units->inverse(emit, b)) : emit.divide(a, b);
}

/// An odd function that is 1 from `end` on, as x P(x^2) / Q(x^2), the highest coefficients first.
Value Elementwise::oddRatio(Value x, double end, ArrayRef<double> over, ArrayRef<double> under) {
  x = clamp(x, -end, end);
  Value square = emit.mul(x, x);
  Value ratio = quotient(emit.mul(x, polynomial(square, over)), polynomial(square, under));
  return clamp(ratio, -1, 1);
}

/// Within 6 units in the last place, 8 on a GPU. The coefficients minimize the greatest relative
/// error, 2e-8, which is Lawson's iteration over least squares.
Value Elementwise::tangentH(Value x) {
  if (getElementTypeOrSelf(x.getType()).isF64())
    return import("tanh", x);
  return oddRatio(x, 9.6, {1.33548506e-8, 2.06092318e-5, 3.49559775e-3, 0.133810341, 1},
                  {7.77663956e-7, 3.28565016e-4, 0.0258770194, 0.467143506, 1});
}

/// Within 6 units in the last place, 8 on a GPU; found as the coefficients of tanh, with an error
/// of 3e-8.
Value Elementwise::errorFunction(Value x) {
  if (getElementTypeOrSelf(x.getType()).isF64())
    return import("erf", x);
  return oddRatio(x, 4,
                  {2.21193321e-8, -2.02268166e-6, 1.32422167e-4, 3.1421415e-3, 0.0487305596,
                   0.185680568, 1.12837911},
                  {8.33199651e-4, 0.0131781222, 0.10915444, 0.497887433, 1});
}

/// f64 to f32, towards the neighbour with an odd last bit where inexact: a second rounding, to a
/// type of at least two bits less, is then right (Boldo and Melquiond).
Value Elementwise::roundToOdd(Value x) {
  Type f32 = emit.builder.getF32Type();
  Value nearest = emit.narrow(x, f32), back = emit.widen(nearest, emit.builder.getF64Type());
  Value bits = emit.bitcast(nearest, emit.builder.getI32Type());
  Value one = emit.integer(bits.getType(), 1), zero = emit.integer(bits.getType(), 0);
  Value isEven = emit.equal(emit.bitAnd(bits, one), zero);
  Value tooSmall = emit.less(emit.absolute(back), emit.absolute(x));
  Value tooLarge = emit.less(emit.absolute(x), emit.absolute(back));
  Value moved =
      emit.select(tooSmall, emit.add(bits, one), emit.select(tooLarge, emit.sub(bits, one), bits));
  return emit.bitcast(emit.select(isEven, moved, bits), f32);
}

/// f32 to bf16, to nearest even; NaN stays a NaN.
Value Elementwise::toBFloat(Value x) {
  Value bits = emit.bitcast(x, emit.builder.getI32Type());
  Type integers = bits.getType();
  Value last = emit.bitAnd(emit.shiftRight(bits, 16), emit.integer(integers, 1));
  Value rounded = emit.add(emit.add(bits, last), emit.integer(integers, 0x7fff));
  Value quiet = emit.bitOr(bits, emit.integer(integers, 0x00400000));
  rounded = emit.shiftRight(emit.select(emit.isNaN(x), quiet, rounded), 16);
  Value narrow = emit.resize(rounded, emit.builder.getI16Type());
  return emit.bitcast(narrow, emit.builder.getBF16Type());
}

Value Elementwise::roundTo(Value x, Type element) {
  Type from = getElementTypeOrSelf(x.getType());
  if (from.isF64() && element.getIntOrFloatBitWidth() == 16)
    x = roundToOdd(x);
  bool isSpelledOut = element.isBF16() && imports; // A GPU has an instruction for it.
  return isSpelledOut ? toBFloat(x) : emit.narrow(x, element);
}

static int slotOf(llvm::StringRef name) {
  return llvm::StringSwitch<int>(name)
#define KIN_IMPORT(function, kind) .Case(#function, KIN_SLOT_##function)
#include "abi/imports.def"
#undef KIN_IMPORT
      .Default(-1);
}

Value Elementwise::callSlot(unsigned slot, ArrayRef<Value> scalars) {
  OpBuilder &builder = emit.builder;
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  LLVM::GEPArg offset(static_cast<int32_t>(KIN_IMPORT_OFFSET(slot)));
  Value place = LLVM::GEPOp::create(builder, emit.location, pointer, builder.getI8Type(), imports,
                                    ArrayRef<LLVM::GEPArg>(offset));
  Value function = LLVM::LoadOp::create(builder, emit.location, pointer, place);
  SmallVector<Type> parameters(ValueRange(scalars).getTypes());
  auto type = LLVM::LLVMFunctionType::get(scalars[0].getType(), parameters);
  SmallVector<Value> operands = {function};
  operands.append(scalars.begin(), scalars.end());
  return LLVM::CallOp::create(builder, emit.location, type, operands).getResult();
}

/// What DoubleFunctions has a vector of, which is quicker than calls for its lanes; those are for
/// vectors with operands that it does not take.
Value Elementwise::vectorFunction(llvm::StringRef name, ArrayRef<Value> operands) {
  std::optional<double> end = DoubleFunctions::end(name);
  auto inLine = [&] { return DoubleFunctions(emit.builder).apply(name, operands); };
  if (!end)
    return inLine();
  OpBuilder &builder = emit.builder;
  Value x = operands[0], isFar = emit.less(emit.number(x.getType(), *end), emit.absolute(x));
  Value any = LLVM::vector_reduce_or::create(builder, emit.location, builder.getI1Type(), isFar);
  auto choice = scf::IfOp::create(builder, emit.location, x.getType(), any, true);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [block, isCall] : {std::pair(choice.thenBlock(), true), {choice.elseBlock(), false}}) {
    builder.setInsertionPointToStart(block);
    scf::YieldOp::create(builder, emit.location, isCall ? calls(name, operands) : inLine());
  }
  return choice.getResult(0);
}

Value Elementwise::import(llvm::StringRef name, ArrayRef<Value> operands) {
  Type type = operands[0].getType();
  if (!imports)
    return DoubleFunctions(emit.builder).apply(name, operands);
  bool isVector = lanesOf(type) > 0 && getElementTypeOrSelf(type).isF32();
  return isVector && DoubleFunctions::has(name) ? vectorFunction(name, operands)
                                                : calls(name, operands);
}

/// Calls a function of the import table, for a vector on each lane.
Value Elementwise::calls(llvm::StringRef name, ArrayRef<Value> operands) {
  Type type = operands[0].getType();
  int slot = slotOf(getElementTypeOrSelf(type).isF64() ? name.str() : name.str() + "f");
  assert(slot >= 0 && "a function of the import table");
  unsigned lanes = lanesOf(type);
  if (lanes == 0)
    return callSlot(slot, operands);
  Value result = emit.undefined(type);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    SmallVector<Value> scalars;
    for (Value operand : operands)
      scalars.push_back(emit.lane(operand, lane));
    result = emit.withLane(result, callSlot(slot, scalars), lane);
  }
  return result;
}

llvm::StringRef Elementwise::importOf(Operation *op) {
  bool isDouble = op->getNumResults() == 1 && op->getResult(0).getType().isF64();
  return llvm::TypeSwitch<Operation *, llvm::StringRef>(op)
      .Case([](math::SinOp) { return "sin"; })
      .Case([](math::CosOp) { return "cos"; })
      .Case([](math::TanOp) { return "tan"; })
      .Case([](math::AsinOp) { return "asin"; })
      .Case([](math::AcosOp) { return "acos"; })
      .Case([](math::AtanOp) { return "atan"; })
      .Case([](math::SinhOp) { return "sinh"; })
      .Case([](math::CoshOp) { return "cosh"; })
      .Case([](math::AsinhOp) { return "asinh"; })
      .Case([](math::AcoshOp) { return "acosh"; })
      .Case([](math::AtanhOp) { return "atanh"; })
      .Case([](math::PowFOp) { return "pow"; })
      .Case([](arith::RemFOp) { return "fmod"; })
      .Case([&](math::ExpOp) { return isDouble ? "exp" : ""; })
      .Case([&](math::LogOp) { return isDouble ? "log" : ""; })
      .Case([&](math::TanhOp) { return isDouble ? "tanh" : ""; })
      .Case([&](math::ErfOp) { return isDouble ? "erf" : ""; })
      .Default([](Operation *) { return ""; });
}

Value Elementwise::apply(Operation *op, ArrayRef<Value> operands) {
  if (llvm::StringRef name = importOf(op); !name.empty())
    return import(name, operands);
  Type element = op->getResult(0).getType();
  if (isa<math::ExpOp>(op))
    return exponential(operands[0]);
  if (isa<math::LogOp>(op))
    return logarithm(operands[0]);
  if (isa<math::TanhOp>(op))
    return tangentH(operands[0]);
  if (isa<math::ErfOp>(op))
    return errorFunction(operands[0]);
  if (isa<arith::DivFOp>(op) && hasUnits(operands[1].getType()) && isNarrowed(op->getResult(0)))
    return units->quotient(emit, operands[0], operands[1]);
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return extremum(emit, operands[0], operands[1], isa<arith::MaximumFOp>(op),
                    hasUnits(operands[0].getType()) ? units : nullptr);
  if (isa<arith::TruncFOp>(op))
    return roundTo(operands[0], element);
  if (isa<arith::ExtFOp>(op)) {
    Value x = operands[0];
    if (getElementTypeOrSelf(x.getType()).isBF16()) { // Its bits are the upper half of an f32's.
      Type wide = Emit::shapedLike(emit.builder.getI32Type(), x.getType());
      Value bits = arith::ExtUIOp::create(emit.builder, emit.location, wide,
                                          emit.bitcast(x, emit.builder.getI16Type()));
      x = emit.bitcast(emit.shiftLeft(bits, 16), emit.builder.getF32Type());
    } else if (getElementTypeOrSelf(x.getType()).isF16()) {
      x = emit.widen(x, emit.builder.getF32Type());
    }
    return getElementTypeOrSelf(x.getType()) == element ? x : emit.widen(x, element);
  }
  Operation *copy =
      emit.builder.create(op->getLoc(), op->getName().getIdentifier(), operands,
                          Emit::shapedLike(element, operands.back().getType()), op->getAttrs());
  return copy->getResult(0);
}

} // namespace kintsugi::targets
