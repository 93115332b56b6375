#include "tensor_box.h"

#include "block.h"
#include "launch.h"

#include <cstring>

namespace kintsugi::emulator {

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = elementBytes;
  for (unsigned d = 0; d < rank; ++d)
    bytes *= countOf(d);
  return bytes;
}

/// Where an element of a tensor lies; 0: outside, where it reads as zero.
static uint64_t placeOf(const TensorMap &map, const std::array<int64_t, 5> &coordinates) {
  uint64_t place = map.start;
  for (unsigned d = 0; d < map.rank; ++d) {
    if (coordinates[d] < 0 || uint64_t(coordinates[d]) >= map.extents[d])
      return 0;
    place += uint64_t(coordinates[d]) * (d == 0 ? map.elementBytes : map.strides[d - 1]);
  }
  return place;
}

/// The engine brings all of a box, counting also what is outside.
static void bring(const Block &block, SharedMemory &shared, const BulkCopy &copy) {
  const TensorMap &map = copy.map;
  uint32_t elements = map.boxBytes() / map.elementBytes;
  for (uint32_t number = 0; number < elements; ++number) {
    std::array<int64_t, 5> coordinates{};
    uint32_t rest = number;
    for (unsigned d = 0; d < map.rank; ++d) {
      coordinates[d] = copy.corner[d] + int64_t(rest % map.countOf(d)) * map.steps[d];
      rest /= map.countOf(d);
    }
    std::byte *to = shared.at(turned(copy.to + number * map.elementBytes, map.swizzle));
    uint64_t from = placeOf(map, coordinates);
    if (from == 0) {
      std::memset(to, 0, map.elementBytes);
      continue;
    }
    if (!block.cluster.launch.memory.holds(from, map.elementBytes))
      block.warps.front()->fail(Fault::IllegalAddress, 0,
                                "a bulk copy reads at an address that " +
                                    block.cluster.launch.memory.describe(from));
    std::memcpy(to, reinterpret_cast<const void *>(from), map.elementBytes);
  }
}

bool Block::land(uint32_t random) {
  if (copies.empty())
    return false;
  auto chosen = copies.begin() + random % copies.size();
  bring(*this, shared, *chosen);
  uint32_t bytes = chosen->map.boxBytes();
  shared.endBulkCopy(chosen->to, bytes, cluster.now);
  Arrival &arrival = arrivals.at(chosen->arrival);
  arrival.clock.seen[bulkEngine] = cluster.now;
  arrival.bytes -= bytes;
  settle(arrival);
  copies.erase(chosen);
  return true;
}

} // namespace kintsugi::emulator
