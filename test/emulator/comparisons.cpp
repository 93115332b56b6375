//===- comparisons.cpp - Predicates and what they choose --------------------===//

#include "steps.h"

#include <cmath>
#include <type_traits>

namespace kintsugi::emulator {
namespace {

enum Comparison : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, isNan };

constexpr std::string_view comparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                            "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

template <typename T> bool holds(uint8_t way, T a, T b) {
  bool isUnordered = a != a || b != b;
  switch (way) {
  case eq:
    return a == b;
  case ne:
    return !isUnordered && a != b;
  case lt:
    return a < b;
  case le:
    return a <= b;
  case gt:
    return a > b;
  case ge:
    return a >= b;
  case equ:
    return isUnordered || a == b;
  case neu:
    return isUnordered || a != b;
  case ltu:
    return isUnordered || a < b;
  case leu:
    return isUnordered || a <= b;
  case gtu:
    return isUnordered || a > b;
  case geu:
    return isUnordered || a >= b;
  case num:
    return !isUnordered;
  default:
    return isUnordered;
  }
}

enum Joining : uint16_t { none, joinsAnd, joinsOr, joinsXor, negates = 4 };

uint32_t joined(uint16_t flags, uint32_t found, uint32_t other) {
  if (flags & negates)
    other = ~other;
  switch (flags & 3) {
  case joinsAnd:
    return found & other;
  case joinsOr:
    return found | other;
  case joinsXor:
    return found ^ other;
  default:
    return found;
  }
}

void set(Warp &warp, uint32_t place, uint32_t bits) {
  if (place == noRegister)
    return;
  uint32_t &to = warp.predicate(place);
  to = (to & ~warp.mask) | (bits & warp.mask);
}

template <typename T, typename Read> void compareBy(Warp &warp, const Instruction &of, Read read) {
  uint32_t found = 0;
  for (unsigned lane = 0; lane < warpLanes; ++lane)
    found |= uint32_t(holds<T>(of.way, read(of.a, lane), read(of.b, lane))) << lane;
  uint32_t other = of.flags & 3 ? warp.predicate(of.c) : 0;
  uint32_t first = joined(of.flags, found, other), second = joined(of.flags, ~found, other);
  set(warp, of.to, first);
  set(warp, of.second, second);
}

template <typename T> void compareStep(Warp &warp, const Instruction &of) {
  compareBy<T>(warp, of, [&](uint32_t place, unsigned lane) { return warp.lanes<T>(place)[lane]; });
}

template <float (*Value)(uint16_t)> void compareSmallStep(Warp &warp, const Instruction &of) {
  compareBy<float>(warp, of, [&](uint32_t place, unsigned lane) {
    return Value(warp.lanes<uint16_t>(place)[lane]);
  });
}

float briefValue(uint16_t bits) { return briefToFloat(bits); }

Step compareOf(Type type) {
  switch (type) {
  case Type::F32:
    return &compareStep<float>;
  case Type::F64:
    return &compareStep<double>;
  case Type::F16:
    return &compareSmallStep<halfToFloat>;
  case Type::BF16:
    return &compareSmallStep<briefValue>;
  default:
    return ofInteger(type, [](auto zero) -> Step { return &compareStep<decltype(zero)>; });
  }
}

/// "lo", "ls", "hi" and "hs" are of numbers without a sign.
std::string_view plainName(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
  for (auto [other, plain] : names)
    if (name == other)
      return plain;
  return name;
}

void decodeCompare(Decoder &decoder, Instruction &to) {
  const Suffixes &suffixes = *decoder.suffixes;
  Type type = suffixes.type();
  auto way =
      std::find(std::begin(comparisons), std::end(comparisons), plainName(suffixes.rest.front()));
  if (way == std::end(comparisons))
    return;
  to.way = uint8_t(way - std::begin(comparisons));
  const Operand &result = decoder.operand(0);
  to.to = decoder.result(result);
  if (!result.second.empty()) {
    Operand second = result;
    second.name = result.second;
    to.second = decoder.result(second);
  }
  to.a = decoder.value(1, bytesOf(type));
  to.b = decoder.value(2, bytesOf(type));
  to.isFloating = type == Type::F32;
  to.flags = suffixes.has("and")   ? joinsAnd
             : suffixes.has("or")  ? joinsOr
             : suffixes.has("xor") ? joinsXor
                                   : none;
  if (to.flags) {
    to.c = decoder.predicate(decoder.operand(3));
    if (decoder.operand(3).isNegated)
      to.flags |= negates;
  }
  to.step = compareOf(type);
}

template <typename T> void selectStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a), *b = warp.lanes<T>(of.b);
  uint32_t chosen = warp.predicate(of.c);
  compute<T>(warp, of.to, [=](unsigned lane) { return chosen >> lane & 1 ? a[lane] : b[lane]; });
}

void decodeSelect(Decoder &decoder, Instruction &to) {
  unsigned bytes = bytesOf(decoder.suffixes->type());
  setOperands(decoder, to, bytes, 2);
  to.c = decoder.predicate(decoder.operand(3));
  to.step = bytes == 2   ? &selectStep<uint16_t>
            : bytes == 4 ? &selectStep<uint32_t>
                         : &selectStep<uint64_t>;
}

} // namespace

void addComparisons(DecodeTable &table) {
  table["setp"] = decodeCompare;
  table["selp"] = decodeSelect;
}

} // namespace kintsugi::emulator
