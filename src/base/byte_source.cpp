//===- byte_source.cpp - Bytes that arrive in order, perhaps inflated -----===//

#include "base/byte_source.h"

#include <algorithm>
#include <cstring>
#include <zlib.h>

using namespace kintsugi;

/// The most that zlib takes at once (uInt), kept round.
static constexpr uint64_t largestPiece = uint64_t(1) << 30;

uint32_t kintsugi::crc32Of(std::span<const std::byte> bytes, uint32_t before) {
  if (bytes.empty()) // zlib takes a null pointer for a request to start anew.
    return before;
  auto *data = reinterpret_cast<const Bytef *>(bytes.data());
  return static_cast<uint32_t>(crc32_z(before, data, bytes.size()));
}

struct ByteSource::Inflater {
  z_stream stream{};
  bool started = false;
  bool ended = false; ///< The final block was seen.

  ~Inflater() {
    if (started)
      inflateEnd(&stream);
  }
};

ByteSource::ByteSource(std::span<const std::byte> bytes, std::optional<uint32_t> crc)
    : source(bytes), left(bytes.size()), expectedCrc(crc) {}

ByteSource ByteSource::inflating(std::span<const std::byte> packed, uint64_t size, uint32_t crc) {
  ByteSource result(packed, crc);
  result.left = size;
  result.inflater = std::make_unique<Inflater>();
  return result;
}

ByteSource::ByteSource(ByteSource &&other) = default;
ByteSource::~ByteSource() = default;

Status ByteSource::inflateInto(std::span<std::byte> destination) {
  z_stream &stream = inflater->stream;
  if (!inflater->started) {
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
      return machineError("not enough memory to inflate");
    inflater->started = true;
  }
  // One byte of room at the end lets zlib reach the final block after the last byte is out.
  std::byte surplus;
  bool last = left == destination.size();
  while (!destination.empty() || (last && !inflater->ended)) {
    bool drained = destination.empty();
    uint64_t room = drained ? 1 : std::min<uint64_t>(destination.size(), largestPiece);
    uint64_t input = std::min<uint64_t>(source.size(), largestPiece);
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(source.data()));
    stream.avail_in = static_cast<uInt>(input);
    stream.next_out = reinterpret_cast<Bytef *>(drained ? &surplus : destination.data());
    stream.avail_out = static_cast<uInt>(room);
    int code = inflater->ended ? Z_STREAM_END : inflate(&stream, Z_NO_FLUSH);
    uint64_t taken = input - stream.avail_in, made = room - stream.avail_out;
    source = source.subspan(taken);
    if (drained && made != 0)
      return inputError("more compressed data than its size says");
    if (!drained)
      destination = destination.subspan(made);
    inflater->ended = code == Z_STREAM_END;
    if (inflater->ended && !destination.empty())
      return inputError("less compressed data than its size says");
    if (code == Z_MEM_ERROR)
      return machineError("not enough memory to inflate");
    if (code != Z_STREAM_END && (code != Z_OK || (taken == 0 && made == 0)))
      return inputError("damaged compressed data");
  }
  return Status::success();
}

Status ByteSource::read(std::span<std::byte> destination) {
  if (destination.size() > left)
    return inputError("ends early");
  if (inflater) {
    KINTSUGI_RETURN_IF_ERROR(inflateInto(destination));
  } else if (!destination.empty()) {
    std::memcpy(destination.data(), source.data(), destination.size());
    source = source.subspan(destination.size());
  }
  left -= destination.size();
  if (!expectedCrc)
    return Status::success();
  crc = crc32Of(destination, crc);
  if (left == 0 && crc != *expectedCrc)
    return inputError("damaged: its CRC-32 does not match");
  return Status::success();
}
