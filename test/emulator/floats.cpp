//===- floats.cpp - Arithmetic of floating-point numbers --------------------===//

#include "block.h"
#include "launch.h"
#include "steps.h"

#include <cfenv>
#include <cmath>
#include <limits>

namespace kintsugi::emulator {

Step integerStep(std::string_view head, Type type);
void decodeIntegerMul(Decoder &decoder, Instruction &to);

float halfToFloat(uint16_t bits) { return float(std::bit_cast<_Float16>(bits)); }

uint16_t floatToHalf(float value) { return std::bit_cast<uint16_t>(_Float16(value)); }

uint16_t floatToBrief(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return 0x7FFF;
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

namespace {

enum Flag : uint16_t { flushes = 1, saturates = 2, keepsNan = 4, isApproximate = 8 };
enum Rounding : uint8_t { nearest, down, up, towardsZero };

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
double flushed(double x) { return x; }

/// Numbers of 16 bits, which are computed with in f32.
struct Half {
  uint16_t bits;
  static Half of(float x) { return {floatToHalf(x)}; }
  float value() const { return halfToFloat(bits); }
};
struct Brief {
  uint16_t bits;
  static Brief of(float x) { return {floatToBrief(x)}; }
  float value() const { return briefToFloat(bits); }
};

struct Add {
  template <typename T> static T of(T a, T b) { return a + b; }
};
struct Sub {
  template <typename T> static T of(T a, T b) { return a - b; }
};
struct Mul {
  template <typename T> static T of(T a, T b) { return a * b; }
};
struct Div {
  template <typename T> static T of(T a, T b) { return a / b; }
};
struct Fma {
  template <typename T> static T of(T a, T b, T c) { return std::fma(a, b, c); }
};
struct Inverse {
  template <typename T> static T of(T a) { return T(1) / a; }
};
struct Root {
  template <typename T> static T of(T a) { return std::sqrt(a); }
};
/// A zero with a sign is less than one without.
struct Min {
  template <typename T> static T of(T a, T b) {
    if (a != a || b != b)
      return a != a ? b : a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  }
};
struct Max {
  template <typename T> static T of(T a, T b) {
    if (a != a || b != b)
      return a != a ? b : a;
    return a > b || (a == b && !std::signbit(a)) ? a : b;
  }
};
struct Neg {
  template <typename T> static T of(T a) { return -a; }
};
struct Abs {
  template <typename T> static T of(T a) { return std::fabs(a); }
};
/// The magnitude of the second with the sign of the first.
struct CopySign {
  template <typename T> static T of(T a, T b) { return std::copysign(b, a); }
};

// Units' approximations.
struct InverseRoot {
  template <typename T> static T of(T a) { return T(1.0 / std::sqrt(double(a))); }
};
struct PowerOfTwo {
  template <typename T> static T of(T a) { return T(std::exp2(double(a))); }
};
struct LogOfTwo {
  template <typename T> static T of(T a) { return T(std::log2(double(a))); }
};
struct Sine {
  template <typename T> static T of(T a) { return T(std::sin(double(a))); }
};
struct Cosine {
  template <typename T> static T of(T a) { return T(std::cos(double(a))); }
};
struct Tangent {
  template <typename T> static T of(T a) { return T(std::tanh(double(a))); }
};

int roundingOf(uint8_t way) {
  switch (way) {
  case down:
    return FE_DOWNWARD;
  case up:
    return FE_UPWARD;
  case towardsZero:
    return FE_TOWARDZERO;
  default:
    return FE_TONEAREST;
  }
}

/// What the ISA's word on an approximation lets a result be off by, in units of its last place.
template <typename Op> constexpr int mostUnitsOff = 1;
template <> constexpr int mostUnitsOff<Div> = 2;
template <> constexpr int mostUnitsOff<PowerOfTwo> = 2;
template <> constexpr int mostUnitsOff<InverseRoot> = 2;
template <> constexpr int mostUnitsOff<Tangent> = 1 << 12; // A relative error of 2^-11.

template <typename Op, typename T> T perturbed(T result, uint32_t random) {
  if constexpr (sizeof(T) == 4) {
    if (!std::isnormal(result))
      return result;
    int32_t off = int32_t(random % (2 * mostUnitsOff<Op> + 1)) - mostUnitsOff<Op>;
    T moved = std::bit_cast<T>(std::bit_cast<int32_t>(result) + off);
    return std::isnormal(moved) ? moved : result;
  }
  return result;
}

template <typename T> T finished(T result, uint16_t flags) {
  if (flags & flushes)
    result = flushed(result);
  if (flags & saturates)
    result = !(result > 0) ? T(0) : result > 1 ? T(1) : result;
  return result;
}

template <typename T> struct Lanes {
  const T *a, *b, *c;
  T first(unsigned lane, uint16_t flags) const { return in(a[lane], flags); }
  T second(unsigned lane, uint16_t flags) const { return in(b[lane], flags); }
  T third(unsigned lane, uint16_t flags) const { return in(c[lane], flags); }
  static T in(T value, uint16_t flags) { return flags & flushes ? flushed(value) : value; }
};

template <typename Op, typename T> T applied(const Lanes<T> &lanes, unsigned lane, uint16_t flags) {
  T a = lanes.first(lane, flags);
  if constexpr (requires { Op::of(a); })
    return Op::of(a);
  else if constexpr (requires { Op::of(a, a); })
    return Op::of(a, lanes.second(lane, flags));
  else
    return Op::of(a, lanes.second(lane, flags), lanes.third(lane, flags));
}

/// With flags or a rounding of its own. What is computed is read behind the one change of the
/// rounding and written ahead of the other, so that no compiler moves it.
template <typename T, typename Op> void carefulStep(Warp &warp, const Instruction &of) {
  Lanes<T> lanes{warp.lanes<T>(of.a), warp.lanes<T>(of.b), warp.lanes<T>(of.c)};
  T results[warpLanes];
  const Habits &habits = warp.block.cluster.launch.habits;
  bool perturbs = habits.perturbs && of.flags & isApproximate;
  std::fesetround(roundingOf(of.way));
  forLanes(warp.mask, [&](unsigned lane) {
    volatile T result = applied<Op>(lanes, lane, of.flags);
    results[lane] = result;
  });
  std::fesetround(FE_TONEAREST);
  T *to = warp.lanes<T>(of.to);
  forLanes(warp.mask, [&](unsigned lane) {
    T result = results[lane];
    if (perturbs)
      result = perturbed<Op>(result, (std::bit_cast<uint32_t>(float(result)) * 2654435761u) >> 8 ^
                                         habits.seed);
    if (of.flags & keepsNan) {
      T a = lanes.a[lane], b = lanes.b[lane];
      if (a != a || b != b)
        result = T(nan);
    }
    to[lane] = finished(result, of.flags);
  });
}

template <typename T, typename Op> void extremumStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a), *b = warp.lanes<T>(of.b);
  bool keeps = of.flags & keepsNan;
  compute<T>(warp, of.to, [=](unsigned lane) {
    T result = Op::of(a[lane], b[lane]);
    return keeps && (a[lane] != a[lane] || b[lane] != b[lane]) ? T(nan) : result;
  });
}

/// In f32, of one number or of the two in 32 bits. A product that is added to is exact in f64.
template <typename Small, typename Op> uint16_t ofSmall(const uint16_t *values, bool keeps) {
  float a = Small{values[0]}.value(), b = Small{values[1]}.value();
  if (keeps && (a != a || b != b))
    return Small::of(nan).bits;
  if constexpr (requires { Op::of(a); })
    return Small::of(Op::of(a)).bits;
  else if constexpr (requires { Op::of(a, b); })
    return Small::of(Op::of(a, b)).bits;
  else
    return Small::of(float(Op::of(double(a), double(b), double(Small{values[2]}.value())))).bits;
}

template <typename Small, typename Op, unsigned Count>
void smallStep(Warp &warp, const Instruction &of) {
  const auto *a = warp.lanes<uint16_t>(of.a), *b = warp.lanes<uint16_t>(of.b),
             *c = warp.lanes<uint16_t>(of.c);
  auto *to = warp.lanes<uint16_t>(of.to);
  forLanes(warp.mask, [&](unsigned lane) {
    for (unsigned k = lane * Count; k < (lane + 1) * Count; ++k) {
      uint16_t values[] = {a[k], b[k], c[k]};
      uint16_t result = ofSmall<Small, Op>(values, of.flags & keepsNan);
      if (of.flags & saturates)
        result = Small::of(finished(Small{result}.value(), saturates)).bits;
      to[k] = result;
    }
  });
}

template <typename T, typename Op>
constexpr bool isExtremum = std::is_same_v<Op, Min> || std::is_same_v<Op, Max>;

template <typename T, typename Op> Step stepOf(const Instruction &of) {
  bool isPlain = (of.flags & ~keepsNan) == 0 && of.way == nearest;
  if constexpr (isExtremum<T, Op>) {
    if (isPlain)
      return &extremumStep<T, Op>;
  } else if (isPlain && of.flags == 0) {
    if constexpr (requires(T a) { Op::of(a); })
      return &unaryStep<T, Op>;
    else if constexpr (requires(T a) { Op::of(a, a); })
      return &binaryStep<T, Op>;
    else
      return &ternaryStep<T, Op>;
  }
  return &carefulStep<T, Op>;
}

template <typename Op>
constexpr unsigned operandsOf = requires(float a) { Op::of(a); }      ? 1
                                : requires(float a) { Op::of(a, a); } ? 2
                                                                      : 3;

template <typename Op> void decodeFloat(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  Type type = suffixes.type();
  setOperands(decoder, to, bytesOf(type), operandsOf<Op>);
  to.isFloating = type == Type::F32;
  to.flags = uint16_t((suffixes.has("ftz") ? flushes : 0) | (suffixes.has("sat") ? saturates : 0) |
                      (suffixes.has("NaN") ? keepsNan : 0) |
                      (suffixes.has("approx") || suffixes.has("full") ? isApproximate : 0));
  to.way = suffixes.has("rm")   ? down
           : suffixes.has("rp") ? up
           : suffixes.has("rz") ? towardsZero
                                : nearest;
  switch (type) {
  case Type::F32:
    to.step = stepOf<float, Op>(to);
    break;
  case Type::F64:
    to.step = stepOf<double, Op>(to);
    break;
  case Type::F16:
    to.step = &smallStep<Half, Op, 1>;
    break;
  case Type::F16x2:
    to.step = &smallStep<Half, Op, 2>;
    break;
  case Type::BF16:
    to.step = &smallStep<Brief, Op, 1>;
    break;
  case Type::BF16x2:
    to.step = &smallStep<Brief, Op, 2>;
    break;
  default:
    break;
  }
}

/// Of floats or of integers.
template <typename Op, unsigned Operands> void decodeEither(Decoder &decoder, Instruction &to) {
  Type type = decoder.suffixes->type();
  if (isFloat(type)) {
    decodeFloat<Op>(decoder, to);
    return;
  }
  if (decoder.suffixes->has("sat") || decoder.suffixes->has("cc"))
    decoder.fail("the emulator doesn't know this form");
  setOperands(decoder, to, bytesOf(type), Operands);
  to.step = integerStep(decoder.suffixes->head, type);
}

void decodeMul(Decoder &decoder, Instruction &to) {
  isFloat(decoder.suffixes->type()) ? decodeFloat<Mul>(decoder, to) : decodeIntegerMul(decoder, to);
}

template <typename T> void testStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a);
  uint32_t result = 0;
  forLanes(warp.mask, [&](unsigned lane) {
    T x = a[lane];
    bool holds[] = {bool(std::isfinite(x)), bool(std::isinf(x)),
                    !std::isnan(x),         bool(std::isnan(x)),
                    bool(std::isnormal(x)), std::fpclassify(x) == FP_SUBNORMAL};
    result |= uint32_t(holds[of.way]) << lane;
  });
  uint32_t &to = warp.predicate(of.to);
  to = (to & ~warp.mask) | result;
}

void decodeTest(Decoder &decoder, Instruction &to) {
  constexpr std::string_view ways[] = {"finite",     "infinite", "number",
                                       "notanumber", "normal",   "subnormal"};
  Type type = decoder.suffixes->type();
  to.to = decoder.predicate(decoder.operand(0));
  to.a = decoder.value(1, bytesOf(type));
  for (std::string_view way : ways) {
    if (decoder.suffixes->has(way))
      break;
    ++to.way;
  }
  if (to.way < std::size(ways))
    to.step = type == Type::F64 ? &testStep<double> : &testStep<float>;
}

} // namespace

void addFloats(DecodeTable &table) {
  table["add"] = decodeEither<Add, 2>;
  table["sub"] = decodeEither<Sub, 2>;
  table["mul"] = decodeMul;
  table["div"] = decodeEither<Div, 2>;
  table["fma"] = decodeFloat<Fma>;
  table["min"] = decodeEither<Min, 2>;
  table["max"] = decodeEither<Max, 2>;
  table["neg"] = decodeEither<Neg, 1>;
  table["abs"] = decodeEither<Abs, 1>;
  table["rcp"] = decodeFloat<Inverse>;
  table["sqrt"] = decodeFloat<Root>;
  table["rsqrt"] = decodeFloat<InverseRoot>;
  table["ex2"] = decodeFloat<PowerOfTwo>;
  table["lg2"] = decodeFloat<LogOfTwo>;
  table["sin"] = decodeFloat<Sine>;
  table["cos"] = decodeFloat<Cosine>;
  table["tanh"] = decodeFloat<Tangent>;
  table["copysign"] = decodeFloat<CopySign>;
  table["testp"] = decodeTest;
}

} // namespace kintsugi::emulator
