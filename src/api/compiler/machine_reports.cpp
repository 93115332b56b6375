//===- machine_reports.cpp - Reports of the machine and the cache -----------===//

#include "api/compiler/reports.h"

#include "api/compiler/measured_machine.h"
#include "api/compiler/tuned_store.h"
#include "base/file_cache.h"
#include "devices/cuda/cuda_device.h"

namespace kintsugi::api {

/// The list of them, or why there is none.
static Json describeCudaDevices() {
  auto devices = devices::CudaDevice::list();
  if (!devices.ok())
    return {{"problem", devices.error().message}};
  Json list = Json::array();
  std::vector<std::optional<machine::MeasuredLaunches>> measured = measuredGpus(*devices);
  for (size_t number = 0; number < devices->size(); ++number) {
    const devices::CudaDeviceInfo &device = (*devices)[number];
    list.push_back(
        {{"name", device.name},
         {"capability", std::to_string(device.major) + "." + std::to_string(device.minor)},
         {"multiprocessors", device.multiprocessors},
         {"bytes", device.memoryBytes},
         {"measured", measured[number] ? measured[number]->toJson() : Json()}});
  }
  return {{"devices", list}};
}

Expected<Json> describeMachine(const std::string &action) {
  KnownMachine known;
  if (action == "measure") {
    KINTSUGI_ASSIGN(known, measureMachine());
  } else {
    if (action != "show" && action != "forget")
      return usageError("machine " + action + ": use show, measure or forget");
    if (action == "forget")
      KINTSUGI_RETURN_IF_ERROR(forgetMeasurement());
    known = knownMachine();
  }
  KINTSUGI_ASSIGN(Json report, parseJson(known.inUse().print()));
  KINTSUGI_ASSIGN(report["assumed"], parseJson(known.assumed.print()));
  report["measured"] = known.measured ? known.measured->toJson() : Json();
  report["cuda"] = describeCudaDevices();
  return report;
}

static Json listEntries(const std::vector<FileCache::Listed> &entries) {
  Json list = Json::array();
  for (const FileCache::Listed &entry : entries)
    list.push_back({{"key", entry.key.hex()},
                    {"bytes", entry.bytes},
                    {"last_used", double(entry.lastUsed) * 1e-9}});
  return list;
}

Expected<Json> manageCache(const std::string &action, uint64_t maxBytes) {
  if (action != "ls" && action != "gc" && action != "clear")
    return usageError("cache " + action + ": use ls, gc or clear");
  KINTSUGI_ASSIGN(std::string folder, FileCache::defaultFolder());
  KINTSUGI_ASSIGN(FileCache cache, FileCache::open(folder));
  FileCache::Removed removed;
  if (action == "clear")
    KINTSUGI_RETURN_IF_ERROR(clearTunedStore());
  KINTSUGI_ASSIGN(TunedSummary tuned, describeTunedStore());
  if (action != "ls") {
    KINTSUGI_ASSIGN(removed, cache.gc(action == "gc" ? maxBytes : 0));
  }
  KINTSUGI_ASSIGN(std::vector<FileCache::Listed> entries, cache.list());
  uint64_t bytes = 0;
  for (const FileCache::Listed &entry : entries)
    bytes += entry.bytes;
  Json tunedJson = {{"entries", tuned.entries}, {"bytes", tuned.bytes}};
  if (!tuned.problem.empty())
    tunedJson["problem"] = tuned.problem;
  return Json{{"folder", cache.folder()},           {"tuned", tunedJson},
              {"entries", listEntries(entries)},    {"bytes", bytes},
              {"removed_entries", removed.entries}, {"removed_bytes", removed.bytes}};
}

} // namespace kintsugi::api
