#include "base/fill_numbers.h"

std::string kintsugi::fillNumbers(std::string_view text, std::span<const int64_t> numbers) {
  std::string filled;
  for (int64_t number : numbers) {
    size_t gap = text.find("{}");
    if (gap == std::string_view::npos)
      break;
    filled.append(text.substr(0, gap)).append(std::to_string(number));
    text.remove_prefix(gap + 2);
  }
  return filled.append(text);
}
