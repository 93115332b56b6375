#include "schedule/point.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace kintsugi::schedule {

namespace {

constexpr size_t mostParts = 64; ///< Of ways, dimensions or nests; what is read may be anything.

std::string printTile(const std::optional<RegisterTile> &tile) {
  if (!tile)
    return "-";
  if (*tile == RegisterTile())
    return "scalar";
  std::string text = std::to_string(tile->vectorIterator) + "x" + std::to_string(tile->lanes) +
                     "x" + std::to_string(tile->vectors);
  if (tile->rowIterator >= 0)
    text += "+" + std::to_string(tile->rowIterator) + "x" + std::to_string(tile->rows);
  return text;
}

template <typename Integer> bool isNumber(llvm::StringRef text, Integer &number) {
  return !text.getAsInteger(10, number) && number >= 0 && std::to_string(number) == text;
}

std::optional<RegisterTile> parseTile(llvm::StringRef text) {
  RegisterTile tile;
  if (text == "scalar")
    return tile;
  auto [vectors, rows] = text.split('+');
  llvm::SmallVector<llvm::StringRef> parts;
  vectors.split(parts, 'x');
  if (parts.size() != 3 || !isNumber(parts[0], tile.vectorIterator) ||
      !isNumber(parts[1], tile.lanes) || !isNumber(parts[2], tile.vectors))
    return std::nullopt;
  if (rows.empty())
    return text.contains('+') ? std::nullopt : std::optional(tile);
  auto [iterator, count] = rows.split('x');
  if (!isNumber(iterator, tile.rowIterator) || !isNumber(count, tile.rows))
    return std::nullopt;
  return tile;
}

} // namespace

std::string Point::print() const {
  std::string text;
  for (bool taken : ways)
    text += taken ? '1' : '0';
  auto list = [&](const auto &elements, auto spell) {
    text += text.empty() ? "- " : " ";
    for (auto [position, element] : llvm::enumerate(elements))
      text += (position ? "," : "") + spell(element);
    if (elements.empty())
      text += "-";
  };
  list(sizes, [](int64_t size) { return std::to_string(size); });
  list(registers, printTile);
  return text;
}

std::optional<Point> Point::parse(std::string_view text) {
  Point point;
  llvm::SmallVector<llvm::StringRef> parts, sizes, registers;
  llvm::StringRef(text).split(parts, ' ', mostParts);
  if (parts.size() != 3 || parts[0].size() > mostParts)
    return std::nullopt;
  if (parts[0] != "-")
    for (char way : parts[0]) {
      if (way != '0' && way != '1')
        return std::nullopt;
      point.ways.push_back(way == '1');
    }
  if (parts[1] != "-")
    parts[1].split(sizes, ',', mostParts);
  for (llvm::StringRef part : sizes) {
    int64_t size = 0;
    if (!isNumber(part, size))
      return std::nullopt;
    point.sizes.push_back(size);
  }
  parts[2].split(registers, ',', mostParts);
  for (llvm::StringRef part : registers) {
    std::optional<RegisterTile> tile = parseTile(part);
    if (!tile && part != "-")
      return std::nullopt;
    point.registers.push_back(tile);
  }
  while (!point.registers.empty() && !point.registers.back())
    point.registers.pop_back();
  return point;
}

} // namespace kintsugi::schedule
