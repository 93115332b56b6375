//===- utf8.cpp - Code points to and from UTF-8 ---------------------------===//

#include "base/utf8.h"

using namespace kintsugi;

static bool isScalar(uint32_t point) {
  return point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
}

std::optional<std::string> kintsugi::utf8From(std::span<const uint32_t> points) {
  std::string text;
  for (uint32_t point : points) {
    if (!isScalar(point))
      return std::nullopt;
    int following = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    constexpr uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(leads[following] | point >> (6 * following));
    while (following-- > 0)
      text += static_cast<char>(0x80 | (point >> (6 * following) & 0x3f));
  }
  return text;
}

std::optional<uint32_t> kintsugi::takeCodePoint(std::string_view &text) {
  if (text.empty())
    return std::nullopt;
  auto lead = static_cast<uint8_t>(text[0]);
  int following = lead < 0x80             ? 0
                  : (lead & 0xe0) == 0xc0 ? 1
                  : (lead & 0xf0) == 0xe0 ? 2
                  : (lead & 0xf8) == 0xf0 ? 3
                                          : -1;
  if (following < 0 || text.size() <= static_cast<size_t>(following))
    return std::nullopt;
  uint32_t point = following == 0 ? lead : lead & (0x3fu >> following);
  for (int i = 1; i <= following; ++i) {
    if ((text[i] & 0xc0) != 0x80)
      return std::nullopt;
    point = point << 6 | (text[i] & 0x3f);
  }
  constexpr uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  if (point < least[following] || !isScalar(point))
    return std::nullopt;
  text.remove_prefix(1 + following);
  return point;
}

std::optional<std::vector<uint32_t>> kintsugi::codePointsOf(std::string_view text) {
  std::vector<uint32_t> points;
  while (!text.empty()) {
    std::optional<uint32_t> point = takeCodePoint(text);
    if (!point)
      return std::nullopt;
    points.push_back(*point);
  }
  return points;
}
