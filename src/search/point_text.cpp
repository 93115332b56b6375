#include "search/point_text.h"

#include "search/transforms.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace kintsugi::search {

using namespace loops;

namespace {

constexpr size_t mostParts = 64; ///< Of a list; what is read may be anything.

std::string printOffer(const TransformOffer &offer) {
  std::string name = transforms()[offer.transform].name;
  return offer.offer == 0 ? name : name + "#" + std::to_string(offer.offer);
}

std::string printTile(const RegisterTile &tile) {
  if (tile == RegisterTile())
    return "scalar";
  std::string text = std::to_string(tile.vectorIterator) + "x" + std::to_string(tile.lanes) + "x" +
                     std::to_string(tile.vectors);
  if (tile.rowIterator >= 0)
    text += "+" + std::to_string(tile.rowIterator) + "x" + std::to_string(tile.rows);
  if (tile.columnIterator >= 0)
    text += "|" + std::to_string(tile.columnIterator) + "x" + std::to_string(tile.columns);
  if (tile.apart > 1)
    text += "@" + std::to_string(tile.apart);
  return text;
}

std::string printTile(const MatrixTile &tile) {
  std::string text = tile.inFours ? "U" : "u";
  for (unsigned number : {tile.rows, tile.columns, tile.depth, tile.down, tile.across, tile.warpsK,
                          tile.blocks, tile.stages})
    text += (text.size() > 1 ? "x" : "") + std::to_string(number);
  return text;
}

std::string printChoice(const std::optional<NestChoice> &choice) {
  return choice ? std::visit([](const auto &tile) { return printTile(tile); }, *choice) : "-";
}

template <typename Integer> bool isNumber(llvm::StringRef text, Integer &number) {
  return !text.getAsInteger(10, number) && number >= 0 && std::to_string(number) == text;
}

/// "ITERATORxCOUNT", where there is a mark for it.
bool isPair(llvm::StringRef text, bool isThere, int &iterator, unsigned &count) {
  auto [first, second] = text.split('x');
  return isThere ? isNumber(first, iterator) && isNumber(second, count) : text.empty();
}

std::optional<TransformOffer> parseOffer(llvm::StringRef text) {
  auto [name, number] = text.split('#');
  TransformOffer offer{0, 0};
  if (text.contains('#') && !(isNumber(number, offer.offer) && offer.offer > 0))
    return std::nullopt;
  const auto *found = llvm::find_if(
      transforms(), [&](const Transform &transform) { return transform.name == name; });
  if (found == transforms().end())
    return std::nullopt;
  offer.transform = unsigned(found - transforms().begin());
  return offer;
}

std::optional<NestChoice> parseRegisters(llvm::StringRef text) {
  RegisterTile tile;
  if (text == "scalar")
    return tile;
  auto [beforeApart, apart] = text.split('@');
  auto [beforeColumns, columns] = beforeApart.split('|');
  auto [vectors, rows] = beforeColumns.split('+');
  llvm::SmallVector<llvm::StringRef> parts;
  vectors.split(parts, 'x');
  bool isTile =
      parts.size() == 3 && isNumber(parts[0], tile.vectorIterator) &&
      isNumber(parts[1], tile.lanes) && isNumber(parts[2], tile.vectors) &&
      isPair(rows, text.contains('+'), tile.rowIterator, tile.rows) &&
      isPair(columns, text.contains('|'), tile.columnIterator, tile.columns) &&
      (text.contains('@') ? isNumber(apart, tile.apart) && tile.apart > 1 : apart.empty());
  return isTile ? std::optional<NestChoice>(tile) : std::nullopt;
}

std::optional<NestChoice> parseUnits(llvm::StringRef text) {
  MatrixTile tile;
  tile.inFours = text.front() == 'U';
  llvm::SmallVector<llvm::StringRef> parts;
  text.drop_front().split(parts, 'x');
  unsigned *const numbers[] = {&tile.rows,   &tile.columns, &tile.depth,  &tile.down,
                               &tile.across, &tile.warpsK,  &tile.blocks, &tile.stages};
  if (parts.size() != std::size(numbers))
    return std::nullopt;
  for (auto [part, number] : llvm::zip_equal(parts, numbers))
    if (!isNumber(part, *number))
      return std::nullopt;
  return tile;
}

std::optional<NestChoice> parseChoice(llvm::StringRef text) {
  bool isOnUnits = text.starts_with("u") || text.starts_with("U");
  return isOnUnits ? parseUnits(text) : parseRegisters(text);
}

} // namespace

std::string pointText(const Point &point) {
  std::string text;
  auto list = [&](const auto &elements, auto spell) {
    text += text.empty() ? "" : " ";
    for (auto [position, element] : llvm::enumerate(elements))
      text += (position ? "," : "") + spell(element);
    if (elements.empty())
      text += "-";
  };
  list(point.transforms, printOffer);
  list(point.sizes, [](int64_t size) { return std::to_string(size); });
  list(point.registers, printChoice);
  if (point.threads > 0)
    text += " " + std::to_string(point.threads);
  return text;
}

std::optional<Point> parsePoint(std::string_view text) {
  Point point;
  llvm::SmallVector<llvm::StringRef> parts, offers, sizes, registers;
  llvm::StringRef(text).split(parts, ' ', mostParts);
  bool hasThreads = parts.size() == 4 && isNumber(parts[3], point.threads) && point.threads > 0;
  if (parts.size() != 3 && !hasThreads)
    return std::nullopt;
  if (parts[0] != "-")
    parts[0].split(offers, ',', mostParts);
  for (llvm::StringRef part : offers) {
    std::optional<TransformOffer> offer = parseOffer(part);
    if (!offer)
      return std::nullopt;
    point.transforms.push_back(*offer);
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
    std::optional<NestChoice> choice = parseChoice(part);
    if (!choice && part != "-")
      return std::nullopt;
    point.registers.push_back(choice);
  }
  while (!point.registers.empty() && !point.registers.back())
    point.registers.pop_back();
  return point;
}

} // namespace kintsugi::search
