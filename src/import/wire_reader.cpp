//===- wire_reader.cpp - Fields of a protocol buffer -------------------------===//

#include "import/wire_reader.h"

#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include <bit>
#include <cstring>

namespace kintsugi::import {

static_assert(std::endian::native == std::endian::little);

using WireType = protozero::pbf_wire_type;

/// The varint that comes next. Of keys and lengths protozero drops what is beyond 32 bits.
static uint64_t peekVarint(const protozero::pbf_reader &reader) {
  const char *position = reader.data().data();
  return protozero::decode_varint(&position, position + reader.length());
}

/// May throw protozero's exceptions, and may call fail().
void WireReader::readField(WireField &field) {
  if (peekVarint(rest) > UINT32_MAX)
    return fail();
  rest.next();
  field = {rest.tag(), rest.wire_type(), 0, {}};
  if (field.type == WireType::varint) {
    field.scalar = rest.get_uint64();
  } else if (field.type == WireType::fixed64) {
    field.scalar = rest.get_fixed64();
  } else if (field.type == WireType::fixed32) {
    field.scalar = rest.get_fixed32();
  } else if (uint64_t length = peekVarint(rest); length > UINT32_MAX) {
    state->tooLarge = length < rest.length();
    fail();
  } else {
    protozero::data_view view = rest.get_view();
    field.bytes = std::as_bytes(std::span(view.data(), view.size()));
  }
}

bool WireReader::next(WireField &field) {
  if (state->malformed || !rest)
    return false;
  try {
    readField(field);
  } catch (const protozero::exception &) {
    fail();
  }
  return !state->malformed;
}

int64_t WireReader::integer(const WireField &field) {
  require(field, WireType::varint);
  return static_cast<int64_t>(field.scalar);
}

float WireReader::float32(const WireField &field) {
  require(field, WireType::fixed32);
  return std::bit_cast<float>(static_cast<uint32_t>(field.scalar));
}

std::span<const std::byte> WireReader::message(const WireField &field) {
  require(field, WireType::length_delimited);
  return field.bytes;
}

std::string WireReader::text(const WireField &field) {
  auto bytes = message(field);
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

void WireReader::appendIntegers(const WireField &field, std::vector<int64_t> &values) {
  if (field.type != WireType::length_delimited) {
    values.push_back(integer(field));
    return;
  }
  auto *position = reinterpret_cast<const char *>(field.bytes.data());
  const char *end = position + field.bytes.size();
  try {
    while (position != end)
      values.push_back(static_cast<int64_t>(protozero::decode_varint(&position, end)));
  } catch (const protozero::exception &) {
    fail();
  }
}

void WireReader::appendFixed(const WireField &field, unsigned width,
                             std::vector<std::byte> &values) {
  if (field.type == WireType::length_delimited) {
    if (field.bytes.size() % width != 0)
      return fail();
    values.insert(values.end(), field.bytes.begin(), field.bytes.end());
    return;
  }
  if (field.type != (width == 8 ? WireType::fixed64 : WireType::fixed32))
    return fail();
  auto *bits = reinterpret_cast<const std::byte *>(&field.scalar);
  values.insert(values.end(), bits, bits + width);
}

void WireReader::appendFloats(const WireField &field, std::vector<float> &values) {
  std::vector<std::byte> bits;
  appendFixed(field, 4, bits);
  size_t old = values.size();
  values.resize(old + bits.size() / 4);
  if (!bits.empty())
    std::memcpy(values.data() + old, bits.data(), bits.size());
}

} // namespace kintsugi::import
