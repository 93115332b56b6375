// The store of measurements: a file that is none is refused, whatever it has inside.

#include "store/store.h"
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace kintsugi;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int file = memfd_create("times.db", 0);
  fuzz::require(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size),
                "no memory for a file");
  {
    auto store = store::Store::open("/proc/self/fd/" + std::to_string(file));
    if (store.ok()) {
      auto all = store->load("machine", "compiler");
      if (!all.ok())
        fuzz::requireUserError(all.error());
    } else {
      fuzz::requireUserError(store.error());
    }
  }
  close(file);
  return 0;
}
