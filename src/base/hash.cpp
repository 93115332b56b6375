//===- hash.cpp - Structural hashes ---------------------------------------===//

#include "base/hash.h"
#include "base/hex.h"

// All of it in this file: no library to link, and short additions are inlined.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

using namespace kintsugi;

static_assert(std::endian::native == std::endian::little, "what is hashed is the same everywhere");

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

Hasher::Hasher() { XXH3_128bits_reset(new (state.data()) XXH3_state_t); }

/// XXH3's state in the bytes that the header sets apart for it.
static XXH3_state_t *stateIn(std::array<std::byte, sizeof(XXH3_state_t)> &bytes) {
  return std::launder(reinterpret_cast<XXH3_state_t *>(bytes.data()));
}

Hasher &Hasher::addWord(Type type, uint64_t word) {
  std::array<uint8_t, 9> bytes{static_cast<uint8_t>(type)};
  std::memcpy(&bytes[1], &word, 8);
  XXH3_128bits_update(stateIn(state), bytes.data(), bytes.size());
  return *this;
}

Hasher &Hasher::add(Hash128 hash) {
  std::array<uint8_t, 17> bytes{static_cast<uint8_t>(Type::Hash)};
  std::memcpy(&bytes[1], &hash.low, 8);
  std::memcpy(&bytes[9], &hash.high, 8);
  XXH3_128bits_update(stateIn(state), bytes.data(), bytes.size());
  return *this;
}

Hasher &Hasher::add(std::string_view text) {
  return add(std::as_bytes(std::span(text.data(), text.size())));
}

Hasher &Hasher::add(std::span<const std::byte> bytes) {
  addWord(Type::Bytes, bytes.size());
  XXH3_128bits_update(stateIn(state), bytes.data(), bytes.size());
  return *this;
}

Hasher &Hasher::addUnordered(std::span<const Hash128> hashes) {
  std::vector<Hash128> sorted(hashes.begin(), hashes.end());
  std::sort(sorted.begin(), sorted.end());
  return addRange(sorted);
}

Hash128 Hasher::finish() const {
  auto *hashed = std::launder(reinterpret_cast<const XXH3_state_t *>(state.data()));
  XXH128_hash_t hash = XXH3_128bits_digest(hashed);
  return {hash.high64, hash.low64};
}
