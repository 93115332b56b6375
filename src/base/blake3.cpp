//===- blake3.cpp - Digests by BLAKE3 -------------------------------------===//

#include "base/hash.h"
#include "base/hex.h"

#include <llvm-c/blake3.h>

#include <new>

using namespace kintsugi;

/// The library's hasher in the bytes that the header sets apart for it.
static llvm_blake3_hasher *hasherIn(std::array<std::byte, sizeof(llvm_blake3_hasher)> &bytes) {
  return std::launder(reinterpret_cast<llvm_blake3_hasher *>(bytes.data()));
}

Blake3::Blake3() { llvm_blake3_hasher_init(new (state.data()) llvm_blake3_hasher); }

Blake3 &Blake3::update(std::span<const std::byte> bytes) {
  llvm_blake3_hasher_update(hasherIn(state), bytes.data(), bytes.size());
  return *this;
}

Blake3 &Blake3::update(std::string_view text) {
  return update(std::as_bytes(std::span(text.data(), text.size())));
}

Digest Blake3::finish() const {
  Digest digest;
  auto *hasher = std::launder(reinterpret_cast<const llvm_blake3_hasher *>(state.data()));
  llvm_blake3_hasher_finalize(hasher, digest.bytes.data(), digest.bytes.size());
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

Digest kintsugi::blake3(std::span<const std::byte> bytes) {
  return Blake3().update(bytes).finish();
}

Digest kintsugi::blake3(std::string_view text) { return Blake3().update(text).finish(); }
