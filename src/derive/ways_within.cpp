#include "derive/ways_within.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace kintsugi::derive {

std::vector<size_t> chooseWithin(llvm::ArrayRef<std::vector<Way>> things, double limit) {
  std::vector<size_t> chosen;
  double total = 0;
  for (const std::vector<Way> &ways : things) {
    auto quickest = std::min_element(
        ways.begin(), ways.end(), [](const Way &a, const Way &b) { return a.seconds < b.seconds; });
    chosen.push_back(quickest - ways.begin());
    total += quickest->bytes;
  }
  while (total > limit) {
    double least = std::numeric_limits<double>::infinity(); // Seconds a byte.
    size_t thing = things.size(), way = 0;
    for (auto [number, ways] : llvm::enumerate(things))
      for (auto [other, candidate] : llvm::enumerate(ways)) {
        const Way &now = ways[chosen[number]];
        double saved = now.bytes - candidate.bytes;
        double price = saved > 0 ? (candidate.seconds - now.seconds) / saved : least;
        if (saved > 0 && (thing == things.size() || price < least))
          least = price, thing = number, way = other;
      }
    if (thing == things.size())
      break;
    total += things[thing][way].bytes - things[thing][chosen[thing]].bytes;
    chosen[thing] = way;
  }
  return chosen;
}

} // namespace kintsugi::derive
