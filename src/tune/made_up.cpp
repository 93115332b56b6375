#include "tune/made_up.h"

#include "base/tensor.h"
#include "loops/scratch.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace kintsugi::tune {

bool canBeMeasured(const loops::Schedule &schedule) {
  return llvm::all_of(schedule.buffers, [](const loops::Buffer &buffer) {
    return buffer.home != loops::Home::Memory || buffer.written || isFloat(buffer.type) ||
           buffer.type == ElementType::Bool;
  });
}

std::vector<std::byte> madeUpValues(ElementType type, uint64_t bytes, uint64_t seed) {
  constexpr int64_t period = 4093;
  std::vector<std::byte> values(bytes);
  int64_t size = loops::bytesOfElement(type), elements = int64_t(bytes) / size;
  uint64_t state = 1 + seed;
  for (int64_t i = 0; i < std::min(period, elements); ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    double unit = double(state >> 40) / double(1 << 24);
    bool even = unit < 0.5;
    storeDouble(type, values, i, type == ElementType::Bool ? double(even) : (unit - 0.5) * 3.46);
  }
  for (int64_t i = period; i < elements; i += period)
    std::memcpy(values.data() + i * size, values.data(), std::min(period, elements - i) * size);
  return values;
}

} // namespace kintsugi::tune
