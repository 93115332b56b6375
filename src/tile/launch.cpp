#include "tile/launch.h"

#include <algorithm>

namespace kintsugi::tile {

bool Launch::isClocked() const { return phases.size() > 1 || phases.front().size() > 1; }

std::vector<size_t> Launch::orderOfParts() const {
  std::vector<size_t> order;
  for (const std::vector<Part> &phase : phases) {
    size_t first = order.size();
    auto place = [&](size_t part) { // Of the first of its kernel, then its own.
      auto alike = std::ranges::find(phase, phase[part - first].kernel, &Part::kernel);
      return std::pair(alike - phase.begin(), part);
    };
    for (size_t part = 0; part < phase.size(); ++part)
      order.push_back(first + part);
    std::ranges::sort(order.begin() + static_cast<ptrdiff_t>(first), order.end(), {}, place);
  }
  return order;
}

} // namespace kintsugi::tile
