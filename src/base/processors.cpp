#include "base/processors.h"

#include <sched.h>

namespace kintsugi {

std::vector<int> allowedProcessors() {
  std::vector<int> processors;
  // The kernel refuses a mask that is shorter than its own.
  for (int count = 1024; count <= 65536 && processors.empty(); count *= 4) {
    cpu_set_t *mask = CPU_ALLOC(count);
    size_t size = CPU_ALLOC_SIZE(count);
    if (mask && sched_getaffinity(0, size, mask) == 0)
      for (int processor = 0; processor < count; ++processor)
        if (CPU_ISSET_S(processor, size, mask))
          processors.push_back(processor);
    CPU_FREE(mask);
  }
  if (processors.empty())
    processors.push_back(0);
  return processors;
}

} // namespace kintsugi
