//===- section_digest.cpp - The digest of gigabytes -----------------------===//

#include "runtime/section_digest.h"

#include "abi/artifact.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

using namespace kintsugi;
using namespace kintsugi::runtime;

static constexpr size_t lanes = 8;
static constexpr size_t chunkBytes = KIN_ARTIFACT_CHUNK;
static constexpr size_t groupBytes = lanes * chunkBytes;

namespace {

/// The same word of eight messages.
using Words = uint32_t __attribute__((vector_size(4 * lanes)));

// FIPS 180-4, section 4.2.2.
constexpr uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr uint32_t initialState[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

// A macro: vectors wider than the baseline's registers can't be passed to functions.
#define ROTATE(x, n) (((x) >> (n)) | ((x) << (32 - (n))))

/// One block of each message. Always inlined, so that it takes on its caller's instruction set.
[[gnu::always_inline]] inline void compress(Words (&state)[8], Words (&schedule)[16]) {
  Words a = state[0], b = state[1], c = state[2], d = state[3];
  Words e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; ++i) {
    Words &word = schedule[i % 16];
    if (i >= 16) {
      Words early = schedule[(i + 1) % 16], late = schedule[(i + 14) % 16];
      word += (ROTATE(early, 7) ^ ROTATE(early, 18) ^ early >> 3) + schedule[(i + 9) % 16] +
              (ROTATE(late, 17) ^ ROTATE(late, 19) ^ late >> 10);
    }
    Words first = h + (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) + ((e & f) ^ (~e & g)) +
                  roundConstants[i] + word;
    Words second = (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

/// The state after each of the group's chunks and its padding.
[[gnu::always_inline]] inline void hashChunks(const std::byte *group, uint32_t (*out)[lanes]) {
  Words state[8], schedule[16];
  for (int i = 0; i < 8; ++i)
    state[i] = Words{} + initialState[i];
  for (size_t at = 0; at < chunkBytes; at += 64) {
    for (size_t w = 0; w < 16; ++w)
      for (size_t lane = 0; lane < lanes; ++lane) {
        uint32_t word;
        std::memcpy(&word, group + lane * chunkBytes + at + 4 * w, 4);
        schedule[w][lane] = __builtin_bswap32(word);
      }
    compress(state, schedule);
  }
  for (size_t w = 0; w < 16; ++w)
    schedule[w] = Words{};
  schedule[0] += 0x80000000;
  schedule[15] += static_cast<uint32_t>(chunkBytes * 8);
  compress(state, schedule);
  std::memcpy(out, state, sizeof(state));
}

void hashBaseline(const std::byte *group, uint32_t (*out)[lanes]) { hashChunks(group, out); }

#if defined(__x86_64__)
[[gnu::target("avx2")]] void hashAvx2(const std::byte *group, uint32_t (*out)[lanes]) {
  hashChunks(group, out);
}
[[gnu::target("avx2,avx512f,avx512vl")]] void hashAvx512(const std::byte *group,
                                                         uint32_t (*out)[lanes]) {
  hashChunks(group, out);
}
#endif

using HashFunction = void (*)(const std::byte *, uint32_t (*)[lanes]);

HashFunction chooseFunction() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vl"))
    return hashAvx512;
  if (__builtin_cpu_supports("avx2"))
    return hashAvx2;
#endif
  return hashBaseline;
}

} // namespace

/// Adds the digests of a whole group to the root.
void SectionHasher::hashGroup(const std::byte *group) {
  static const HashFunction hash = chooseFunction();
  uint32_t states[8][lanes];
  hash(group, states);
  for (size_t lane = 0; lane < lanes; ++lane) {
    uint32_t digest[8];
    for (int i = 0; i < 8; ++i)
      digest[i] = __builtin_bswap32(states[i][lane]);
    root.update(std::as_bytes(std::span(digest)));
  }
}

SectionHasher &SectionHasher::update(std::span<const std::byte> bytes) {
  if (!pending.empty()) {
    size_t taken = std::min(bytes.size(), groupBytes - pending.size());
    pending.insert(pending.end(), bytes.begin(), bytes.begin() + taken);
    bytes = bytes.subspan(taken);
    if (pending.size() < groupBytes)
      return *this;
    hashGroup(pending.data());
    pending.clear();
  }
  for (; bytes.size() >= groupBytes; bytes = bytes.subspan(groupBytes))
    hashGroup(bytes.data());
  pending.insert(pending.end(), bytes.begin(), bytes.end());
  return *this;
}

Digest SectionHasher::finish() {
  for (size_t at = 0; at < pending.size(); at += chunkBytes) {
    auto chunk = std::span(pending).subspan(at, std::min(chunkBytes, pending.size() - at));
    Digest digest = sha256(std::as_bytes(chunk));
    root.update(std::as_bytes(std::span(digest.bytes)));
  }
  return root.finish();
}

Digest kintsugi::runtime::sectionDigest(std::span<const std::byte> bytes) {
  return SectionHasher().update(bytes).finish();
}
