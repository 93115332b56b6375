//===- conversions.cpp - From one type of numbers to another ----------------===//

#include "steps.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace kintsugi::emulator {
namespace {

enum Rounding : uint8_t { asIs, nearestWhole, zeroWhole, downWhole, upWhole, towardsZero };
enum Flag : uint16_t { flushes = 1, saturates = 2, clips = 4 };

/// A number of a type, as something that holds all of its values.
struct Number {
  double real = 0;
  __int128 whole = 0;
};

Number numberOf(Type type, uint64_t bits) {
  switch (type) {
  case Type::U8:
    return {0, uint8_t(bits)};
  case Type::S8:
    return {0, int8_t(bits)};
  case Type::U16:
    return {0, uint16_t(bits)};
  case Type::S16:
    return {0, int16_t(bits)};
  case Type::U32:
    return {0, uint32_t(bits)};
  case Type::S32:
    return {0, int32_t(bits)};
  case Type::U64:
    return {0, bits};
  case Type::S64:
    return {0, int64_t(bits)};
  case Type::F16:
    return {halfToFloat(uint16_t(bits))};
  case Type::BF16:
    return {briefToFloat(uint16_t(bits))};
  case Type::F32:
    return {std::bit_cast<float>(uint32_t(bits))};
  default:
    return {std::bit_cast<double>(bits)};
  }
}

double rounded(double value, uint8_t way) {
  switch (way) {
  case nearestWhole:
    return std::nearbyint(value);
  case zeroWhole:
  case towardsZero:
    return std::trunc(value);
  case downWhole:
    return std::floor(value);
  case upWhole:
    return std::ceil(value);
  default:
    return value;
  }
}

struct Limits {
  __int128 low, high;
};

Limits limitsOf(Type type) {
  unsigned bits = 8 * bytesOf(type);
  if (isSigned(type))
    return {-(__int128(1) << (bits - 1)), (__int128(1) << (bits - 1)) - 1};
  return {0, (__int128(1) << bits) - 1};
}

/// To whole numbers what is outside becomes the nearest there is, and NaN 0.
uint64_t toInteger(double value, Type type, uint8_t way) {
  auto [low, high] = limitsOf(type);
  value = rounded(value, way == asIs ? uint8_t(zeroWhole) : way);
  if (value != value)
    return 0;
  if (value <= double(low))
    return uint64_t(low);
  return value >= double(high) ? uint64_t(high) : uint64_t(__int128(value));
}

float towardsZeroFloat(double value) {
  auto near = float(value);
  return std::fabs(double(near)) > std::fabs(value) ? std::nextafter(near, 0.0f) : near;
}

/// The greatest number of a small type that isn't farther from zero.
uint16_t smallTowardsZero(float value, bool isHalf) {
  uint16_t near = isHalf ? floatToHalf(value) : floatToBrief(value);
  float back = isHalf ? halfToFloat(near) : briefToFloat(near);
  return std::fabs(back) > std::fabs(value) ? uint16_t(near - 1) : near;
}

/// From f64 to 16 bits through f32, which keeps what a tie needs by rounding to odd.
float toOdd(double value) {
  float cut = towardsZeroFloat(value);
  if (double(cut) == value || value != value || std::isinf(cut))
    return cut;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(cut) | 1);
}

uint64_t toFloat(double value, Type type, const Instruction &of) {
  if (of.way >= nearestWhole && of.way <= upWhole)
    value = rounded(value, of.way);
  if (of.flags & saturates)
    value = !(value > 0) ? 0 : std::min(value, 1.0);
  if (of.flags & clips && !(value > 0))
    value = 0;
  bool cuts = of.way == towardsZero;
  switch (type) {
  case Type::F16:
    return cuts ? smallTowardsZero(towardsZeroFloat(value), true) : floatToHalf(toOdd(value));
  case Type::BF16:
    return cuts ? smallTowardsZero(towardsZeroFloat(value), false) : floatToBrief(toOdd(value));
  case Type::F32: {
    float result = cuts ? towardsZeroFloat(value) : float(value);
    if (of.flags & flushes && std::fpclassify(result) == FP_SUBNORMAL)
      result = std::copysign(0.0f, result);
    return std::bit_cast<uint32_t>(result);
  }
  default:
    return std::bit_cast<uint64_t>(value);
  }
}

/// A whole number to f32 is rounded once.
uint64_t fromInteger(__int128 value, Type type, const Instruction &of) {
  if (type != Type::F32)
    return toFloat(double(int64_t(value)) == double(value) ? double(int64_t(value))
                                                           : double(uint64_t(value)),
                   type, of);
  bool cuts = of.way == towardsZero;
  float near = value < 0 ? float(int64_t(value)) : float(uint64_t(value));
  if (cuts && (value < 0 ? -value : value) < __int128(std::fabs(near)))
    near = std::nextafter(near, 0.0f);
  return std::bit_cast<uint32_t>(near);
}

uint64_t converted(uint64_t bits, Type to, Type from, const Instruction &of) {
  Number number = numberOf(from, bits);
  if (!isFloat(from) && !isFloat(to)) {
    if (!(of.flags & saturates))
      return uint64_t(number.whole);
    auto [low, high] = limitsOf(to);
    return uint64_t(std::clamp(number.whole, low, high));
  }
  if (!isFloat(from))
    return fromInteger(number.whole, to, of);
  if (of.flags & flushes && from == Type::F32 &&
      std::fpclassify(float(number.real)) == FP_SUBNORMAL)
    number.real = std::copysign(0.0, number.real);
  return isFloat(to) ? toFloat(number.real, to, of) : toInteger(number.real, to, of.way);
}

/// Into a register that may be wider: with the sign of signed types.
uint64_t widened(uint64_t bits, Type type) {
  unsigned unused = 64 - 8 * bytesOf(type);
  return isSigned(type) ? uint64_t(int64_t(bits << unused) >> unused) : bits << unused >> unused;
}

/// Between integers of registers' widths.
template <typename T, typename F> void resizeStep(Warp &warp, const Instruction &of) {
  const F *a = warp.lanes<F>(of.a);
  compute<T>(warp, of.to, [=](unsigned lane) { return T(a[lane]); });
}

void fromHalfStep(Warp &warp, const Instruction &of) {
  const auto *a = warp.lanes<_Float16>(of.a);
  compute<float>(warp, of.to, [=](unsigned lane) { return float(a[lane]); });
}

void toHalfStep(Warp &warp, const Instruction &of) {
  const auto *a = warp.lanes<float>(of.a);
  compute<_Float16>(warp, of.to, [=](unsigned lane) { return _Float16(a[lane]); });
}

void convertStep(Warp &warp, const Instruction &of) {
  Type to = Type(of.number >> 8), from = Type(of.number & 255);
  forLanes(warp.mask, [&](unsigned lane) {
    uint64_t bits = warp.read(of.a, of.fromBytes, lane);
    warp.write(of.to, of.bytes, lane, widened(converted(bits, to, from, of), to));
  });
}

/// Two f32, the first to the upper half.
template <bool Brief> void convertPairStep(Warp &warp, const Instruction &of) {
  const auto *a = warp.lanes<float>(of.a), *b = warp.lanes<float>(of.b);
  auto small = [&](float value) {
    if (of.flags & clips && !(value > 0))
      value = value != value ? value : 0;
    if (of.way == towardsZero)
      return smallTowardsZero(value, !Brief);
    return Brief ? floatToBrief(value) : floatToHalf(value);
  };
  compute<uint32_t>(warp, of.to,
                    [=](unsigned lane) { return uint32_t(small(a[lane])) << 16 | small(b[lane]); });
}

Step quickStep(Type to, Type from, const Instruction &of) {
  if (of.flags || of.way != asIs)
    return nullptr;
  if (to == Type::F32 && from == Type::F16)
    return &fromHalfStep;
  if (to == Type::F16 && from == Type::F32)
    return &toHalfStep;
  if (bytesOf(from) != of.fromBytes || bytesOf(to) != of.bytes || isFloat(to) || isFloat(from))
    return nullptr;
  return ofInteger(from, [&](auto zero) -> Step {
    using From = decltype(zero);
    return ofInteger(to, [](auto other) -> Step { return &resizeStep<decltype(other), From>; });
  });
}

void decodeConvert(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  Type from = suffixes.type(), type = suffixes.type(1);
  to.flags = uint16_t((suffixes.has("ftz") ? flushes : 0) | (suffixes.has("sat") ? saturates : 0) |
                      (suffixes.has("relu") ? clips : 0));
  to.way = suffixes.has("rni")   ? nearestWhole
           : suffixes.has("rzi") ? zeroWhole
           : suffixes.has("rmi") ? downWhole
           : suffixes.has("rpi") ? upWhole
           : suffixes.has("rz")  ? towardsZero
                                 : asIs;
  if (suffixes.has("rm") || suffixes.has("rp") || suffixes.has("rna"))
    return;
  to.to = decoder.result(decoder.operand(0), &to.bytes);
  to.isFloating = from == Type::F32;
  if (type == Type::F16x2 || type == Type::BF16x2) {
    to.a = decoder.value(1, 4);
    to.b = decoder.value(2, 4);
    to.step = type == Type::BF16x2 ? &convertPairStep<true> : &convertPairStep<false>;
    return;
  }
  to.fromBytes = decoder.widthOf(decoder.operand(1));
  if (to.fromBytes == 0)
    to.fromBytes = uint8_t(std::max(2u, bytesOf(from)));
  to.a = decoder.value(1, to.fromBytes);
  to.number = uint64_t(type) << 8 | uint64_t(from);
  to.step = quickStep(type, from, to);
  if (!to.step)
    to.step = &convertStep;
}

} // namespace

void addConversions(DecodeTable &table) { table["cvt"] = decodeConvert; }

} // namespace kintsugi::emulator
