//===- byte_source.h - Bytes that arrive in order, perhaps inflated -------===//
//
// What the .npy reader reads from: plain bytes, or a member of a ZIP archive inflated as it is
// read, straight into the tensor.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_BYTE_SOURCE_H
#define KINTSUGI_BASE_BYTE_SOURCE_H

#include "base/status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace kintsugi {

/// The CRC-32 of ZIP and gzip over bytes that follow those of CRC `before`.
uint32_t crc32Of(std::span<const std::byte> bytes, uint32_t before = 0);

/// Reads bytes that live elsewhere and outlive it.
class ByteSource {
public:
  /// The bytes themselves; their CRC-32 is checked at the end where one is given.
  explicit ByteSource(std::span<const std::byte> bytes, std::optional<uint32_t> crc = {});

  /// What raw deflate (RFC 1951) makes of the bytes, which must be `size` bytes.
  static ByteSource inflating(std::span<const std::byte> packed, uint64_t size, uint32_t crc);

  ByteSource(ByteSource &&other);
  ~ByteSource();

  /// Bytes not read yet.
  uint64_t remaining() const { return left; }

  /// Fills `destination` or fails: an input error where there are too few bytes left, the packed
  /// data is damaged or, with the last byte, the CRC does not match.
  Status read(std::span<std::byte> destination);

private:
  struct Inflater;

  Status inflateInto(std::span<std::byte> destination);

  std::span<const std::byte> source; ///< Not consumed yet.
  uint64_t left;
  std::optional<uint32_t> expectedCrc;
  uint32_t crc = 0;
  std::unique_ptr<Inflater> inflater;
};

} // namespace kintsugi

#endif // KINTSUGI_BASE_BYTE_SOURCE_H
