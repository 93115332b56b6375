//===- sha256.cpp - SHA-256 (FIPS 180-4) ----------------------------------===//

#include "base/hash.h"
#include "base/hex.h"

#include <algorithm>
#include <cstring>

using namespace kintsugi;

static constexpr std::array<uint32_t, 64> roundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t bigEndianWord(const uint8_t *bytes) {
  return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 | bytes[3];
}

static void compress(std::array<uint32_t, 8> &state, const uint8_t *block) {
  uint32_t schedule[64];
  for (int i = 0; i < 16; ++i)
    schedule[i] = bigEndianWord(block + 4 * i);
  for (int i = 16; i < 64; ++i) {
    uint32_t early = schedule[i - 15], late = schedule[i - 2];
    uint32_t s0 = std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3;
    uint32_t s1 = std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10;
    schedule[i] = schedule[i - 16] + s0 + schedule[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t first = h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i] + schedule[i];
    uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t second = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += added[i];
}

Sha256 &Sha256::update(std::span<const std::byte> bytes) {
  auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
  size_t left = bytes.size(), filled = length % 64;
  length += left;
  if (filled != 0 && left != 0) {
    size_t taken = std::min(left, 64 - filled);
    std::memcpy(pending.data() + filled, data, taken);
    data += taken;
    left -= taken;
    if (filled + taken < 64)
      return *this;
    compress(state, pending.data());
  }
  for (; left >= 64; data += 64, left -= 64)
    compress(state, data);
  if (left != 0)
    std::memcpy(pending.data(), data, left);
  return *this;
}

Sha256 &Sha256::update(std::string_view text) {
  return update(std::as_bytes(std::span(text.data(), text.size())));
}

Digest Sha256::finish() {
  uint64_t bits = length * 8;
  std::array<std::byte, 72> padding{std::byte{0x80}};
  size_t zeros = (119 - length % 64) % 64 + 1; // The 0x80 included.
  for (int i = 0; i < 8; ++i)
    padding[zeros + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  update(std::span<const std::byte>(padding.data(), zeros + 8));
  Digest digest;
  for (int i = 0; i < 32; ++i)
    digest.bytes[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

std::string Digest::hex() const {
  std::string text;
  for (uint8_t byte : bytes)
    appendHexByte(text, byte);
  return text;
}

std::optional<Digest> Digest::parse(std::string_view hex) {
  Digest digest;
  if (!parseHex(hex, digest.bytes))
    return std::nullopt;
  return digest;
}

Digest kintsugi::sha256(std::span<const std::byte> bytes) {
  return Sha256().update(bytes).finish();
}

Digest kintsugi::sha256(std::string_view text) { return Sha256().update(text).finish(); }
