//===- hash.cpp - Structural hashes ---------------------------------------===//

#include "base/hash.h"
#include "base/hex.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace kintsugi;

std::string Hash128::str() const {
  std::string text;
  for (uint64_t word : {high, low})
    for (int shift = 56; shift >= 0; shift -= 8)
      appendHexByte(text, static_cast<uint8_t>(word >> shift));
  return text;
}

std::optional<Hash128> Hash128::parse(std::string_view text) {
  std::array<uint8_t, 16> bytes;
  if (!parseHex(text, bytes))
    return std::nullopt;
  Hash128 hash;
  for (int i = 0; i < 8; ++i) {
    hash.high = hash.high << 8 | bytes[i];
    hash.low = hash.low << 8 | bytes[i + 8];
  }
  return hash;
}

void Hasher::mix(uint64_t first, uint64_t second) {
  constexpr uint64_t c1 = 0x87c37b91114253d5, c2 = 0x4cf5ad432745937f;
  first = std::rotl(first * c1, 31) * c2;
  lowState = (std::rotl(lowState ^ first, 27) + highState) * 5 + 0x52dce729;
  second = std::rotl(second * c2, 33) * c1;
  highState = (std::rotl(highState ^ second, 31) + lowState) * 5 + 0x38495ab5;
  ++words;
}

Hasher &Hasher::add(std::string_view text) {
  return add(std::as_bytes(std::span(text.data(), text.size())));
}

Hasher &Hasher::add(std::span<const std::byte> bytes) {
  mix(bytes.size(), 4);
  for (size_t at = 0; at < bytes.size(); at += 16) {
    uint64_t block[2] = {0, 0};
    std::memcpy(block, bytes.data() + at, std::min<size_t>(16, bytes.size() - at));
    mix(block[0], block[1]);
  }
  return *this;
}

Hasher &Hasher::addUnordered(std::span<const Hash128> hashes) {
  std::vector<Hash128> sorted(hashes.begin(), hashes.end());
  std::sort(sorted.begin(), sorted.end());
  return addRange(sorted);
}

static uint64_t finalMix(uint64_t word) {
  word = (word ^ word >> 33) * 0xff51afd7ed558ccd;
  word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53;
  return word ^ word >> 33;
}

Hash128 Hasher::finish() const {
  uint64_t low = lowState ^ words, high = highState ^ words;
  low += high;
  high += low;
  low = finalMix(low);
  high = finalMix(high);
  low += high;
  high += low;
  return {high, low};
}
