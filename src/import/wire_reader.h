//===- wire_reader.h - Fields of a protocol buffer ---------------------------===//
//
// Walks the fields of one message with 64-bit lengths (protozero's own reader keeps them in 32
// bits, and models may be larger than 4 GB). A malformed message sets a flag that stays; nothing
// throws.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_WIRE_READER_H
#define KINTSUGI_IMPORT_WIRE_READER_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kintsugi::import {

/// Whether anything in a file was malformed; shared by the readers of all its messages.
struct WireState {
  bool malformed = false;
};

enum class WireType : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// One field: its number and its contents as the wire type gives them.
struct WireField {
  uint32_t number = 0;
  WireType type = WireType::Varint;
  uint64_t scalar = 0;              ///< Varint, Fixed64, Fixed32
  std::span<const std::byte> bytes; ///< Bytes
};

class WireReader {
public:
  WireReader(std::span<const std::byte> message, WireState &state) : rest(message), state(&state) {}

  /// Reads the next field; false at the end and after anything malformed in the file.
  bool next(WireField &field);

  /// The field as a scalar or text. One of another wire type makes the message malformed.
  int64_t integer(const WireField &field);
  float float32(const WireField &field);
  std::string text(const WireField &field);
  std::span<const std::byte> message(const WireField &field);

  /// Appends a repeated scalar, which may be packed or not.
  void appendIntegers(const WireField &field, std::vector<int64_t> &values);
  void appendFloats(const WireField &field, std::vector<float> &values);
  /// Appends the little-endian bits of `width` (4 or 8) bytes each.
  void appendFixed(const WireField &field, unsigned width, std::vector<std::byte> &values);

private:
  bool varint(uint64_t &value);
  bool take(uint64_t count, std::span<const std::byte> &taken);
  void fail() {
    state->malformed = true;
    rest = {};
  }

  std::span<const std::byte> rest;
  WireState *state;
};

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_WIRE_READER_H
