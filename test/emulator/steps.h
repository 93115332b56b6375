//===- steps.h - What steps of many instructions share ----------------------===//
#ifndef KINTSUGI_TEST_EMULATOR_STEPS_H
#define KINTSUGI_TEST_EMULATOR_STEPS_H

#include "decoder.h"

namespace kintsugi::emulator {

/// Calls with a value of the type of integers.
template <typename F> Step ofInteger(Type type, F &&f) {
  switch (type) {
  case Type::U8:
  case Type::U16:
    return f(uint16_t());
  case Type::S8:
  case Type::S16:
    return f(int16_t());
  case Type::U32:
    return f(uint32_t());
  case Type::S32:
    return f(int32_t());
  case Type::U64:
    return f(uint64_t());
  case Type::S64:
    return f(int64_t());
  default:
    return nullptr;
  }
}

template <typename T, typename Op> void unaryStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a);
  compute<T>(warp, of.to, [=](unsigned lane) { return Op::of(a[lane]); });
}

template <typename T, typename Op> void binaryStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a), *b = warp.lanes<T>(of.b);
  compute<T>(warp, of.to, [=](unsigned lane) { return Op::of(a[lane], b[lane]); });
}

template <typename T, typename Op> void ternaryStep(Warp &warp, const Instruction &of) {
  const T *a = warp.lanes<T>(of.a), *b = warp.lanes<T>(of.b), *c = warp.lanes<T>(of.c);
  compute<T>(warp, of.to, [=](unsigned lane) { return Op::of(a[lane], b[lane], c[lane]); });
}

/// A result and up to three operands of a width.
inline void setOperands(Decoder &decoder, Instruction &to, unsigned bytes, unsigned count) {
  to.to = decoder.result(0);
  if (decoder.widthOf(decoder.operand(0)) != bytes && bytes != 0)
    decoder.fail("has a result of another width");
  uint32_t *places[] = {&to.a, &to.b, &to.c};
  for (unsigned k = 0; k < count; ++k)
    *places[k] = decoder.value(k + 1, bytes);
}

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
inline float briefToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
uint16_t floatToBrief(float value);

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_STEPS_H
