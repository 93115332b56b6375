//===- probes.cpp - Work for one core that shows what it can do -------------===//
//
// Each loop is written once over a vector's size and inlined into functions that may use the
// instructions of a level.
//
//===----------------------------------------------------------------------===//
#include "machine/probes.h"

#include <cassert>

#define KINTSUGI_V3 __attribute__((target("avx2,fma")))
#define KINTSUGI_V4 __attribute__((target("avx2,fma,avx512f")))
#define KINTSUGI_INLINE [[gnu::always_inline]] inline

namespace kintsugi::machine {

namespace {

template <typename Scalar, int Bytes> struct VectorOf {
  typedef Scalar Type __attribute__((vector_size(Bytes), may_alias));
};

/// Vectors that are worked on at once: more than units times latency, fewer than registers.
constexpr int chains = 12;
constexpr int loads = 8;

/// What `values` points to may be read by someone, and memory may have changed.
KINTSUGI_INLINE void keep(const void *values) { asm volatile("" : : "r"(values) : "memory"); }

template <int Bytes> KINTSUGI_INLINE void read(std::span<const std::byte> bytes, uint64_t passes) {
  using Vector = typename VectorOf<uint64_t, Bytes>::Type;
  static_assert(probeBlock % (loads * Bytes) == 0);
  for (; passes != 0; --passes) {
    Vector seen[loads] = {};
    const auto *from = reinterpret_cast<const Vector *>(bytes.data());
    const auto *end = reinterpret_cast<const Vector *>(bytes.data() + bytes.size());
    for (; from != end; from += loads)
#pragma clang loop unroll(full)
      for (int i = 0; i < loads; ++i)
        seen[i] |= from[i];
    keep(seen);
  }
}

template <int Bytes> KINTSUGI_INLINE void copy(std::span<std::byte> bytes, uint64_t passes) {
  using Vector = typename VectorOf<uint64_t, Bytes>::Type;
  static_assert(probeBlock % (2 * loads * Bytes) == 0);
  for (; passes != 0; --passes) {
    const auto *from = reinterpret_cast<const Vector *>(bytes.data());
    auto *to = reinterpret_cast<Vector *>(bytes.data() + bytes.size() / 2);
    for (const auto *end = to; from != end; from += loads, to += loads) {
#pragma clang loop unroll(full)
      for (int i = 0; i < loads; ++i)
        to[i] = from[i];
      keep(to); // Or it becomes a call of memcpy, whose stores may go around the caches.
    }
  }
}

template <typename Scalar, int Bytes> KINTSUGI_INLINE double multiplyAdds(uint64_t steps) {
  using Vector = typename VectorOf<Scalar, Bytes>::Type;
  // They stay near 1, whatever the number of steps.
  Scalar numbers[] = {Scalar(0.75), Scalar(0.25)};
  keep(numbers);
  Vector scale = Vector{} + numbers[0], shift = Vector{} + numbers[1];
  Vector sums[chains] = {};
  for (uint64_t step = 0; step != steps; ++step)
#pragma clang loop unroll(full)
    for (int i = 0; i < chains; ++i)
      sums[i] = sums[i] * scale + shift;
  keep(sums);
  return 2.0 * chains * (Bytes / sizeof(Scalar)) * double(steps);
}

KINTSUGI_V4 void readV4(std::span<const std::byte> b, uint64_t passes) { read<64>(b, passes); }
KINTSUGI_V3 void readV3(std::span<const std::byte> b, uint64_t passes) { read<32>(b, passes); }
void readV1(std::span<const std::byte> b, uint64_t passes) { read<16>(b, passes); }

KINTSUGI_V4 void copyV4(std::span<std::byte> b, uint64_t passes) { copy<64>(b, passes); }
KINTSUGI_V3 void copyV3(std::span<std::byte> b, uint64_t passes) { copy<32>(b, passes); }
void copyV1(std::span<std::byte> b, uint64_t passes) { copy<16>(b, passes); }

KINTSUGI_V4 double floatsV4(uint64_t steps) { return multiplyAdds<float, 64>(steps); }
KINTSUGI_V3 double floatsV3(uint64_t steps) { return multiplyAdds<float, 32>(steps); }
double floatsV1(uint64_t steps) { return multiplyAdds<float, 16>(steps); }

KINTSUGI_V4 double doublesV4(uint64_t steps) { return multiplyAdds<double, 64>(steps); }
KINTSUGI_V3 double doublesV3(uint64_t steps) { return multiplyAdds<double, 32>(steps); }
double doublesV1(uint64_t steps) { return multiplyAdds<double, 16>(steps); }

template <typename Function> Function choose(Level level, Function v4, Function v3, Function v1) {
  return level == Level::V4 ? v4 : level == Level::V3 ? v3 : v1;
}

} // namespace

void probeRead(Level level, std::span<const std::byte> bytes, uint64_t passes) {
  assert(bytes.size() % probeBlock == 0);
  choose(level, readV4, readV3, readV1)(bytes, passes);
}

void probeCopy(Level level, std::span<std::byte> bytes, uint64_t passes) {
  assert(bytes.size() % (2 * probeBlock) == 0);
  choose(level, copyV4, copyV3, copyV1)(bytes, passes);
}

double probeMultiplyAdds32(Level level, uint64_t steps) {
  return choose(level, floatsV4, floatsV3, floatsV1)(steps);
}

double probeMultiplyAdds64(Level level, uint64_t steps) {
  return choose(level, doublesV4, doublesV3, doublesV1)(steps);
}

} // namespace kintsugi::machine
