//===- wire_reader.cpp - Fields of a protocol buffer -------------------------===//

#include "import/wire_reader.h"

#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include <bit>
#include <cstring>

namespace kintsugi::import {

static_assert(std::endian::native == std::endian::little);

bool WireReader::varint(uint64_t &value) {
  const char *begin = reinterpret_cast<const char *>(rest.data());
  const char *position = begin;
  try {
    value = protozero::decode_varint(&position, begin + rest.size());
  } catch (const protozero::exception &) {
    fail();
    return false;
  }
  rest = rest.subspan(position - begin);
  return true;
}

bool WireReader::take(uint64_t count, std::span<const std::byte> &taken) {
  if (count > rest.size()) {
    fail();
    return false;
  }
  taken = rest.first(count);
  rest = rest.subspan(count);
  return true;
}

bool WireReader::next(WireField &field) {
  uint64_t key;
  if (state->malformed || rest.empty() || !varint(key))
    return false;
  uint64_t number = key >> 3;
  if (number == 0 || number > 0x1fffffff) {
    fail();
    return false;
  }
  field = {static_cast<uint32_t>(number), static_cast<WireType>(key & 7), 0, {}};
  switch (field.type) {
  case WireType::Varint:
    return varint(field.scalar);
  case WireType::Fixed64:
  case WireType::Fixed32: {
    std::span<const std::byte> bits;
    if (!take(field.type == WireType::Fixed64 ? 8 : 4, bits))
      return false;
    std::memcpy(&field.scalar, bits.data(), bits.size());
    return true;
  }
  case WireType::Bytes: {
    uint64_t length;
    return varint(length) && take(length, field.bytes);
  }
  }
  fail();
  return false;
}

int64_t WireReader::integer(const WireField &field) {
  if (field.type != WireType::Varint)
    fail();
  return static_cast<int64_t>(field.scalar);
}

float WireReader::float32(const WireField &field) {
  if (field.type != WireType::Fixed32)
    fail();
  return std::bit_cast<float>(static_cast<uint32_t>(field.scalar));
}

std::span<const std::byte> WireReader::message(const WireField &field) {
  if (field.type != WireType::Bytes)
    fail();
  return field.bytes;
}

std::string WireReader::text(const WireField &field) {
  auto bytes = message(field);
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

void WireReader::appendIntegers(const WireField &field, std::vector<int64_t> &values) {
  if (field.type != WireType::Bytes) {
    values.push_back(integer(field));
    return;
  }
  WireReader packed(field.bytes, *state);
  uint64_t value;
  while (!packed.rest.empty() && packed.varint(value))
    values.push_back(static_cast<int64_t>(value));
}

void WireReader::appendFixed(const WireField &field, unsigned width,
                             std::vector<std::byte> &values) {
  if (field.type == WireType::Bytes) {
    if (field.bytes.size() % width != 0)
      return fail();
    values.insert(values.end(), field.bytes.begin(), field.bytes.end());
    return;
  }
  if (field.type != (width == 8 ? WireType::Fixed64 : WireType::Fixed32))
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
