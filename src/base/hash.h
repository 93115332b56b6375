//===- hash.h - Structural hashes and content digests ---------------------===//
//
// Two kinds of hash. Hash128 is fast and names structures (expressions, candidates): the same on
// every platform and in every run, so that stores may key on it, but not safe against an attacker.
// Digest is BLAKE3, a cryptographic hash, and names bytes that a file claims to hold.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_HASH_H
#define KINTSUGI_BASE_HASH_H

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace kintsugi {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;

  auto operator<=>(const Hash128 &) const = default;

  /// 32 hexadecimal digits.
  std::string str() const;

  /// The inverse of str(); nothing for anything else.
  static std::optional<Hash128> parse(std::string_view text);
};

/// Hashes a sequence of typed values; the order of additions matters. Each addition is bytes that
/// say its type and where it ends, so different sequences are different bytes, and the bytes are
/// hashed by the 128-bit variant of XXH3 (Collet's xxHash).
class Hasher {
public:
  Hasher();

  /// A hasher whose results differ from those of other domains ("te.definition", "format").
  explicit Hasher(std::string_view domain) : Hasher() { add(domain); }

  template <typename T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  Hasher &add(T value) {
    return addWord(Type::Integer, static_cast<uint64_t>(value));
  }
  /// By its bits: 0.0 and -0.0 differ.
  Hasher &add(double value) { return addWord(Type::Real, std::bit_cast<uint64_t>(value)); }
  Hasher &add(Hash128 hash);
  Hasher &add(std::string_view text);
  Hasher &add(const char *text) { return add(std::string_view(text)); }
  Hasher &add(const std::string &text) { return add(std::string_view(text)); }
  Hasher &add(std::span<const std::byte> bytes);

  /// A sequence, its length included.
  template <typename T> Hasher &addRange(const T &range) {
    add(static_cast<uint64_t>(range.size()));
    for (const auto &element : range)
      add(element);
    return *this;
  }

  /// A multiset: the order of `hashes` does not matter, how often each occurs does.
  Hasher &addUnordered(std::span<const Hash128> hashes);

  /// The hash of what was added so far; more may be added after.
  Hash128 finish() const;

private:
  enum class Type : uint8_t { Integer = 1, Real, Hash, Bytes };

  Hasher &addWord(Type type, uint64_t word);

  alignas(64) std::array<std::byte, 576> state; ///< xxHash's XXH3_state_t.
};

/// A BLAKE3 digest.
struct Digest {
  std::array<uint8_t, 32> bytes{};

  auto operator<=>(const Digest &) const = default;

  /// 64 lower-case hexadecimal digits.
  std::string hex() const;

  /// The inverse of hex(); nothing for anything else.
  static std::optional<Digest> parse(std::string_view hex);
};

/// BLAKE3 of bytes that arrive in pieces.
class Blake3 {
public:
  Blake3();

  Blake3 &update(std::span<const std::byte> bytes);
  Blake3 &update(std::string_view text);

  /// The digest of what came so far; more may come after.
  Digest finish() const;

private:
  alignas(8) std::array<std::byte, 1912> state; ///< The library's hasher.
};

Digest blake3(std::span<const std::byte> bytes);
Digest blake3(std::string_view text);

} // namespace kintsugi

template <> struct std::hash<kintsugi::Hash128> {
  size_t operator()(const kintsugi::Hash128 &hash) const { return hash.low; }
};

template <> struct std::hash<kintsugi::Digest> {
  size_t operator()(const kintsugi::Digest &digest) const {
    size_t word;
    __builtin_memcpy(&word, digest.bytes.data(), sizeof(word));
    return word;
  }
};

#endif // KINTSUGI_BASE_HASH_H
