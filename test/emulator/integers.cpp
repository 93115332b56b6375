//===- integers.cpp - Arithmetic of integers and bits -----------------------===//

#include "steps.h"

#include <type_traits>

namespace kintsugi::emulator {
namespace {

template <typename T> using Unsigned = std::make_unsigned_t<T>;
template <typename T> constexpr unsigned bitsIn = sizeof(T) * 8;
template <typename T>
using Wide =
    std::conditional_t<std::is_signed_v<T>, std::conditional_t<sizeof(T) == 8, __int128, int64_t>,
                       std::conditional_t<sizeof(T) == 8, unsigned __int128, uint64_t>>;

struct Add {
  template <typename T> static T of(T a, T b) { return T(Unsigned<T>(a) + Unsigned<T>(b)); }
};
struct Sub {
  template <typename T> static T of(T a, T b) { return T(Unsigned<T>(a) - Unsigned<T>(b)); }
};
struct MulLow {
  template <typename T> static T of(T a, T b) { return T(uint64_t(a) * uint64_t(b)); }
};
struct MulHigh {
  template <typename T> static T of(T a, T b) { return T((Wide<T>(a) * Wide<T>(b)) >> bitsIn<T>); }
};
struct MadLow {
  template <typename T> static T of(T a, T b, T c) {
    return T(uint64_t(a) * uint64_t(b) + uint64_t(c));
  }
};
struct MadHigh {
  template <typename T> static T of(T a, T b, T c) { return Add::of(MulHigh::of(a, b), c); }
};
/// By zero a device gives all ones.
struct Div {
  template <typename T> static T of(T a, T b) {
    if (b == 0)
      return T(-1);
    if (std::is_signed_v<T> && b == T(-1))
      return Sub::of(T(0), a);
    return T(a / b);
  }
};
struct Rem {
  template <typename T> static T of(T a, T b) {
    if (b == 0)
      return a;
    return std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b);
  }
};
struct Min {
  template <typename T> static T of(T a, T b) { return a < b ? a : b; }
};
struct Max {
  template <typename T> static T of(T a, T b) { return a < b ? b : a; }
};
struct And {
  template <typename T> static T of(T a, T b) { return a & b; }
};
struct Or {
  template <typename T> static T of(T a, T b) { return a | b; }
};
struct Xor {
  template <typename T> static T of(T a, T b) { return a ^ b; }
};
struct Not {
  template <typename T> static T of(T a) { return T(~a); }
};
struct IsZero {
  template <typename T> static T of(T a) { return a == 0; }
};
struct Neg {
  template <typename T> static T of(T a) { return Sub::of(T(0), a); }
};
struct Abs {
  template <typename T> static T of(T a) { return a < 0 ? Neg::of(a) : a; }
};
struct Reverse {
  template <typename T> static T of(T a) {
    T result = 0;
    for (unsigned k = 0; k < bitsIn<T>; ++k)
      result = T(result << 1 | (a >> k & 1));
    return result;
  }
};

template <typename Op> Step binaryOf(Type type) {
  return ofInteger(type, [](auto zero) -> Step { return &binaryStep<decltype(zero), Op>; });
}
template <typename Op> Step unaryOf(Type type) {
  return ofInteger(type, [](auto zero) -> Step { return &unaryStep<decltype(zero), Op>; });
}
template <typename Op> Step ternaryOf(Type type) {
  return ofInteger(type, [](auto zero) -> Step { return &ternaryStep<decltype(zero), Op>; });
}

// Predicates are masks of lanes.
template <typename Op> void predicateStep(Warp &warp, const Instruction &of) {
  uint32_t result = Op::of(warp.predicate(of.a), warp.predicate(of.b));
  uint32_t &to = warp.predicate(of.to);
  to = (to & ~warp.mask) | (result & warp.mask);
}
void predicateNotStep(Warp &warp, const Instruction &of) {
  uint32_t &to = warp.predicate(of.to);
  to = (to & ~warp.mask) | (~warp.predicate(of.a) & warp.mask);
}

template <typename Op> void decodeBits(Decoder &decoder, Instruction &to) {
  Type type = decoder.suffixes->type();
  if (type == Type::Pred) {
    to.to = decoder.predicate(decoder.operand(0));
    to.a = decoder.predicate(decoder.operand(1));
    to.b = decoder.predicate(decoder.operand(2));
    to.step = &predicateStep<Op>;
    return;
  }
  setOperands(decoder, to, bytesOf(type), 2);
  to.step = binaryOf<Op>(type);
}

void decodeNot(Decoder &decoder, Instruction &to) {
  Type type = decoder.suffixes->type();
  if (type == Type::Pred) {
    to.to = decoder.predicate(decoder.operand(0));
    to.a = decoder.predicate(decoder.operand(1));
    to.step = &predicateNotStep;
    return;
  }
  setOperands(decoder, to, bytesOf(type), 1);
  to.step = decoder.suffixes->head == "cnot" ? unaryOf<IsZero>(type) : unaryOf<Not>(type);
}

template <typename Op> void decodePlain(Decoder &decoder, Instruction &to) {
  Type type = decoder.suffixes->type();
  setOperands(decoder, to, bytesOf(type), 2);
  to.step = binaryOf<Op>(type);
}

/// To twice the width.
template <typename T> void wideStep(Warp &warp, const Instruction &of) {
  using Result =
      std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                         std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  const T *a = warp.lanes<T>(of.a), *b = warp.lanes<T>(of.b);
  const auto *c = warp.lanes<Result>(of.c);
  bool adds = of.flags;
  compute<Result>(warp, of.to, [=](unsigned lane) {
    Result product = Result(a[lane]) * Result(b[lane]);
    return adds ? Add::of(product, c[lane]) : product;
  });
}

void decodeMul(Decoder &decoder, Instruction &to) {
  Type type = decoder.suffixes->type();
  bool adds = decoder.suffixes->head == "mad";
  unsigned bytes = bytesOf(type);
  to.flags = adds;
  to.to = decoder.result(0);
  to.a = decoder.value(1, bytes);
  to.b = decoder.value(2, bytes);
  bool isWide = decoder.suffixes->has("wide"), isHigh = decoder.suffixes->has("hi");
  if (adds)
    to.c = decoder.value(3, isWide ? 2 * bytes : bytes);
  if (isWide)
    to.step = bytes == 8 ? nullptr : ofInteger(type, [](auto zero) -> Step {
      using T = decltype(zero);
      if constexpr (sizeof(T) < 8)
        return &wideStep<T>;
      return nullptr;
    });
  else if (adds)
    to.step = isHigh ? ternaryOf<MadHigh>(type) : ternaryOf<MadLow>(type);
  else
    to.step = isHigh ? binaryOf<MulHigh>(type) : binaryOf<MulLow>(type);
}

/// Counts past the width act as the width.
template <typename T, bool Left> void shiftStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a);
  const auto *b = warp.lanes<uint32_t>(of.b);
  compute<T>(warp, of.to, [=](unsigned lane) {
    uint32_t count = b[lane];
    if (count < bitsIn<T>)
      return Left ? T(Unsigned<T>(a[lane]) << count) : T(a[lane] >> count);
    return !Left && std::is_signed_v<T> && a[lane] < 0 ? T(-1) : T(0);
  });
}

template <bool Left> void decodeShift(Decoder &decoder, Instruction &to) {
  Type type = decoder.suffixes->type();
  to.to = decoder.result(0);
  to.a = decoder.value(1, bytesOf(type));
  to.b = decoder.value(2, 4);
  to.step = ofInteger(type, [](auto zero) -> Step { return &shiftStep<decltype(zero), Left>; });
}

void funnelStep(Warp &warp, const Instruction &of) {
  const auto *a = warp.lanes<uint32_t>(of.a), *b = warp.lanes<uint32_t>(of.b),
             *c = warp.lanes<uint32_t>(of.c);
  bool left = of.flags & 1, wraps = of.flags & 2;
  compute<uint32_t>(warp, of.to, [=](unsigned lane) {
    uint64_t both = uint64_t(b[lane]) << 32 | a[lane];
    uint32_t count = wraps ? c[lane] & 31 : std::min(c[lane], 32u);
    return left ? uint32_t((both << count) >> 32) : uint32_t(both >> count);
  });
}

void decodeFunnel(Decoder &decoder, Instruction &to) {
  setOperands(decoder, to, 4, 3);
  to.flags = uint16_t(decoder.suffixes->has("l") | decoder.suffixes->has("wrap") << 1);
  to.step = &funnelStep;
}

template <typename T> void extractStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a);
  const auto *b = warp.lanes<uint32_t>(of.b), *c = warp.lanes<uint32_t>(of.c);
  compute<T>(warp, of.to, [=](unsigned lane) {
    unsigned place = b[lane] & 255, length = c[lane] & 255, width = bitsIn<T>;
    if (length == 0)
      return T(0);
    auto bits = Unsigned<T>(place < width ? Unsigned<T>(a[lane]) >> place : 0);
    Unsigned<T> sign = 0;
    if (std::is_signed_v<T>)
      sign = Unsigned<T>(a[lane]) >> std::min(place + length - 1, width - 1) & 1;
    if (length >= width - std::min(place, width))
      length = width - std::min(place, width);
    Unsigned<T> kept =
        length >= width ? Unsigned<T>(-1) : Unsigned<T>((Unsigned<T>(1) << length) - 1);
    return T((bits & kept) | (sign ? Unsigned<T>(~kept) : Unsigned<T>(0)));
  });
}

void decodeExtract(Decoder &decoder, Instruction &to) {
  Type type = decoder.suffixes->type();
  to.to = decoder.result(0);
  to.a = decoder.value(1, bytesOf(type));
  to.b = decoder.value(2, 4);
  to.c = decoder.value(3, 4);
  to.step = ofInteger(type, [](auto zero) -> Step { return &extractStep<decltype(zero)>; });
}

template <typename T> void insertStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a), *b = warp.lanes<T>(of.b);
  const auto *c = warp.lanes<uint32_t>(of.c), *d = warp.lanes<uint32_t>(of.d);
  compute<T>(warp, of.to, [=](unsigned lane) {
    unsigned place = c[lane] & 255, length = d[lane] & 255;
    if (place >= bitsIn<T> || length == 0)
      return b[lane];
    T kept = length >= bitsIn<T> ? T(-1) : T((T(1) << length) - 1);
    kept = T(kept << place);
    return T((b[lane] & ~kept) | (T(a[lane] << place) & kept));
  });
}

void decodeInsert(Decoder &decoder, Instruction &to) {
  unsigned bytes = bytesOf(decoder.suffixes->type());
  setOperands(decoder, to, bytes, 2);
  to.c = decoder.value(3, 4);
  to.d = decoder.value(4, 4);
  to.step = bytes == 8 ? &insertStep<uint64_t> : &insertStep<uint32_t>;
}

void permuteStep(Warp &warp, const Instruction &of) {
  const auto *a = warp.lanes<uint32_t>(of.a), *b = warp.lanes<uint32_t>(of.b),
             *c = warp.lanes<uint32_t>(of.c);
  compute<uint32_t>(warp, of.to, [=](unsigned lane) {
    uint64_t bytes = uint64_t(b[lane]) << 32 | a[lane];
    uint32_t result = 0;
    for (unsigned k = 0; k < 4; ++k) {
      uint32_t choice = c[lane] >> (4 * k) & 15;
      auto byte = uint32_t(bytes >> (8 * (choice & 7))) & 255;
      if (choice & 8)
        byte = byte & 128 ? 255 : 0;
      result |= byte << (8 * k);
    }
    return result;
  });
}

void decodePermute(Decoder &decoder, Instruction &to) {
  setOperands(decoder, to, 4, 3);
  to.step = decoder.suffixes->rest.size() == 1 ? &permuteStep : nullptr;
}

void logicStep(Warp &warp, const Instruction &of) {
  const auto *a = warp.lanes<uint32_t>(of.a), *b = warp.lanes<uint32_t>(of.b),
             *c = warp.lanes<uint32_t>(of.c);
  auto table = uint32_t(of.number);
  compute<uint32_t>(warp, of.to, [=](unsigned lane) {
    uint32_t result = 0;
    for (unsigned k = 0; k < 8; ++k)
      if (table >> k & 1)
        result |= (k & 4 ? a[lane] : ~a[lane]) & (k & 2 ? b[lane] : ~b[lane]) &
                  (k & 1 ? c[lane] : ~c[lane]);
    return result;
  });
}

void decodeLogic(Decoder &decoder, Instruction &to) {
  setOperands(decoder, to, 4, 3);
  to.number = decoder.integer(decoder.operand(4));
  to.step = &logicStep;
}

struct CountBits {
  static uint32_t of(uint64_t a, unsigned) { return uint32_t(std::popcount(a)); }
};
struct LeadingZeros {
  static uint32_t of(uint64_t a, unsigned bits) {
    return uint32_t(std::countl_zero(a)) - (64 - bits);
  }
};

template <typename T, typename Op> void countStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a);
  compute<uint32_t>(warp, of.to, [=](unsigned lane) { return Op::of(a[lane], bitsIn<T>); });
}

template <typename Op> void decodeCount(Decoder &decoder, Instruction &to) {
  unsigned bytes = bytesOf(decoder.suffixes->type());
  to.to = decoder.result(0);
  to.a = decoder.value(1, bytes);
  to.step = bytes == 8 ? &countStep<uint64_t, Op> : &countStep<uint32_t, Op>;
}

/// The place of the highest bit that differs from the sign.
template <typename T> void findStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a);
  compute<uint32_t>(warp, of.to, [=](unsigned lane) {
    auto bits = Unsigned<T>(std::is_signed_v<T> && a[lane] < 0 ? ~a[lane] : a[lane]);
    return bits == 0 ? ~uint32_t(0) : bitsIn<T> - 1 - uint32_t(std::countl_zero(bits));
  });
}

void decodeFind(Decoder &decoder, Instruction &to) {
  Type type = decoder.suffixes->type();
  to.to = decoder.result(0);
  to.a = decoder.value(1, bytesOf(type));
  to.step = decoder.suffixes->has("shiftamt")
                ? nullptr
                : ofInteger(type, [](auto zero) -> Step { return &findStep<decltype(zero)>; });
}

void decodeReverse(Decoder &decoder, Instruction &to) {
  unsigned bytes = bytesOf(decoder.suffixes->type());
  setOperands(decoder, to, bytes, 1);
  to.step = bytes == 8 ? &unaryStep<uint64_t, Reverse> : &unaryStep<uint32_t, Reverse>;
}

} // namespace

/// Those that floats have too are found there: addFloats comes back for the steps.
Step integerStep(std::string_view head, Type type) {
  if (head == "add")
    return binaryOf<Add>(type);
  if (head == "sub")
    return binaryOf<Sub>(type);
  if (head == "div")
    return binaryOf<Div>(type);
  if (head == "min")
    return binaryOf<Min>(type);
  if (head == "max")
    return binaryOf<Max>(type);
  if (head == "neg")
    return unaryOf<Neg>(type);
  return head == "abs" ? unaryOf<Abs>(type) : nullptr;
}

void decodeIntegerMul(Decoder &decoder, Instruction &to) { decodeMul(decoder, to); }

void addIntegers(DecodeTable &table) {
  table["mad"] = decodeMul;
  table["rem"] = decodePlain<Rem>;
  table["and"] = decodeBits<And>;
  table["or"] = decodeBits<Or>;
  table["xor"] = decodeBits<Xor>;
  table["not"] = table["cnot"] = decodeNot;
  table["shl"] = decodeShift<true>;
  table["shr"] = decodeShift<false>;
  table["shf"] = decodeFunnel;
  table["bfe"] = decodeExtract;
  table["bfi"] = decodeInsert;
  table["prmt"] = decodePermute;
  table["lop3"] = decodeLogic;
  table["popc"] = decodeCount<CountBits>;
  table["clz"] = decodeCount<LeadingZeros>;
  table["bfind"] = decodeFind;
  table["brev"] = decodeReverse;
}

} // namespace kintsugi::emulator
