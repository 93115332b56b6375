#include "pipeline/box.h"

#include <utility>

namespace kintsugi::pipeline {

std::optional<Box> boxOf(std::string_view name) {
  static constexpr std::pair<std::string_view, Box> boxes[] = {{"expressions", Box::Expressions},
                                                               {"derived", Box::Derived},
                                                               {"space", Box::Space},
                                                               {"problem", Box::Problem},
                                                               {"plan", Box::Plan},
                                                               {"tile", Box::Tile},
                                                               {"llvm", Box::Llvm},
                                                               {"asm", Box::Asm}};
  for (auto [word, box] : boxes)
    if (word == name)
      return box;
  return std::nullopt;
}

} // namespace kintsugi::pipeline
