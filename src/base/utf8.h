//===- utf8.h - Code points to and from UTF-8 -----------------------------===//
//
// NumPy stores strings as UTF-32; everything else here is UTF-8 (RFC 3629).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_UTF8_H
#define KINTSUGI_BASE_UTF8_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi {

/// Nothing for surrogates and numbers above 0x10ffff.
std::optional<std::string> utf8From(std::span<const uint32_t> points);

/// The code point that the text begins with, which is taken from it; nothing, and nothing taken,
/// for bytes that are not UTF-8 (overlong forms and surrogates included).
std::optional<uint32_t> takeCodePoint(std::string_view &text);

/// Nothing for text that is not UTF-8 (overlong forms and surrogates included).
std::optional<std::vector<uint32_t>> codePointsOf(std::string_view text);

} // namespace kintsugi

#endif // KINTSUGI_BASE_UTF8_H
