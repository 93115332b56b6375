//===- clock.h - What has happened before, as a warp sees it ----------------===//
#ifndef KINTSUGI_TEST_EMULATOR_CLOCK_H
#define KINTSUGI_TEST_EMULATOR_CLOCK_H

#include <algorithm>
#include <array>
#include <cstdint>

namespace kintsugi::emulator {

inline constexpr unsigned mostWarps = 32;
/// The engine that copies in bulk counts as one more.
inline constexpr unsigned bulkEngine = mostWarps;

/// A vector clock: until when what each warp of the block did is known to have happened. Time goes
/// on with each wait of a cluster's threads.
struct Clock {
  std::array<uint32_t, mostWarps + 1> seen{};
  uint32_t cluster = 0; ///< Of what the cluster's other blocks did.

  void join(const Clock &other) {
    for (unsigned k = 0; k < seen.size(); ++k)
      seen[k] = std::max(seen[k], other.seen[k]);
    cluster = std::max(cluster, other.cluster);
  }
};

} // namespace kintsugi::emulator

#endif // KINTSUGI_TEST_EMULATOR_CLOCK_H
