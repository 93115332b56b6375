//===- wire_reader.h - Fields of a protocol buffer ---------------------------===//
//
// Walks the fields of one message with protozero's reader. A malformed message sets a flag that
// stays; nothing throws.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_WIRE_READER_H
#define KINTSUGI_IMPORT_WIRE_READER_H

#include <protozero/pbf_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kintsugi::import {

/// Whether anything in a file was malformed; shared by the readers of all its messages.
struct WireState {
  bool malformed = false;
  bool tooLarge = false; ///< Malformed by a field of 4 GiB or more, which protozero can't hold.
};

/// One field: its number and its contents as the wire type gives them.
struct WireField {
  uint32_t number = 0;
  protozero::pbf_wire_type type = protozero::pbf_wire_type::unknown;
  uint64_t scalar = 0;              ///< varint, fixed64, fixed32
  std::span<const std::byte> bytes; ///< length_delimited
};

class WireReader {
public:
  WireReader(std::span<const std::byte> message, WireState &state)
      : rest(reinterpret_cast<const char *>(message.data()), message.size()), state(&state) {}

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
  void readField(WireField &field);
  void require(const WireField &field, protozero::pbf_wire_type type) {
    if (field.type != type)
      fail();
  }
  void fail() {
    state->malformed = true;
    rest = {};
  }

  protozero::pbf_reader rest;
  WireState *state;
};

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_WIRE_READER_H
