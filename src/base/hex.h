//===- hex.h - Bytes as hexadecimal digits --------------------------------===//
//
// The text form of hashes and digests, which name files and keys.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_HEX_H
#define KINTSUGI_BASE_HEX_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kintsugi {

/// Appends two lower-case digits.
inline void appendHexByte(std::string &text, uint8_t byte) {
  constexpr char digits[] = "0123456789abcdef";
  text += digits[byte >> 4];
  text += digits[byte & 15];
}

/// Fills `bytes` from exactly two lower-case digits each; false for any other text.
inline bool parseHex(std::string_view text, std::span<uint8_t> bytes) {
  if (text.size() != bytes.size() * 2)
    return false;
  auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < bytes.size(); ++i) {
    int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

} // namespace kintsugi

#endif // KINTSUGI_BASE_HEX_H
