#include "devices/cuda/record.h"

namespace kintsugi::devices::cuda {

Expected<Handle> record(const Driver &driver, Handle stream, const std::function<Status()> &ask) {
  KINTSUGI_RETURN_IF_ERROR(
      driver.check(driver.beginCapture(stream, relaxedCapture), "record a run"));
  Status asked = ask();
  Handle recorded = nullptr, graph = nullptr;
  Status status = driver.check(driver.endCapture(stream, &recorded), "record a run");
  if (asked.ok() && status.ok())
    status = driver.check(driver.instantiate(&graph, recorded, 0), "prepare a recorded run");
  if (recorded)
    driver.destroyGraph(recorded);
  KINTSUGI_RETURN_IF_ERROR(std::move(asked));
  KINTSUGI_RETURN_IF_ERROR(std::move(status));
  return graph;
}

} // namespace kintsugi::devices::cuda
