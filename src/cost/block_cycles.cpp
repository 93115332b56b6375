#include "cost/block_cycles.h"

namespace kintsugi::cost {

BlockCycles &BlockCycles::operator+=(const BlockCycles &other) {
  busy += other.busy;
  alone += other.alone;
  scattered += other.scattered;
  return *this;
}

} // namespace kintsugi::cost
