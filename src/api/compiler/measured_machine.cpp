#include "api/compiler/measured_machine.h"

#include "base/file_cache.h"
#include "devices/cuda/launch_costs.h"
#include "measure/measure.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace kintsugi::api {

using machine::Machine;
using machine::MeasuredLaunches;
using machine::Measurement;

/// The number grows when figures are measured in another way or mean something else.
static Digest keyOfThisMachine() { return blake3("measurement 1 of " + Machine::identity()); }

static Digest keyOfGpus() { return blake3("launches 1 of " + Machine::identity()); }

/// Nothing where it is not there, or damaged.
static std::optional<Json> loadJson(const Digest &key) {
  Expected<std::string> folder = FileCache::defaultFolder();
  std::error_code error;
  if (!folder.ok() || !std::filesystem::is_directory(*folder, error))
    return std::nullopt;
  Expected<FileCache> cache = FileCache::open(*folder);
  if (!cache.ok())
    return std::nullopt;
  auto entry = cache->get(key);
  if (!entry.ok() || !*entry)
    return std::nullopt;
  auto bytes = (*entry)->bytes();
  Expected<Json> json = parseJson({reinterpret_cast<const char *>(bytes.data()), bytes.size()},
                                  {.maxBytes = 1 << 20, .maxDepth = 8});
  return json.ok() ? std::optional(std::move(*json)) : std::nullopt;
}

static std::optional<Measurement> load() {
  std::optional<Json> json = loadJson(keyOfThisMachine());
  if (!json)
    return std::nullopt;
  Expected<Measurement> measurement = Measurement::fromJson(*json);
  return measurement.ok() ? std::optional(std::move(*measurement)) : std::nullopt;
}

std::string identityOf(const devices::CudaDeviceInfo &device) {
  return device.name + ", " + std::to_string(device.multiprocessors) + " multiprocessors, driver " +
         std::to_string(device.driverVersion);
}

/// What is kept of devices, by device.
static std::vector<std::optional<MeasuredLaunches>>
matched(const std::optional<Json> &kept, const std::vector<devices::CudaDeviceInfo> &devices) {
  std::vector<std::optional<MeasuredLaunches>> all(devices.size());
  if (!kept || !kept->is_array())
    return all;
  for (const Json &each : *kept) {
    auto launches = MeasuredLaunches::fromJson(each);
    for (size_t number = 0; number < devices.size() && launches.ok(); ++number)
      if (identityOf(devices[number]) == launches->device)
        all[number] = *launches;
  }
  return all;
}

std::vector<std::optional<MeasuredLaunches>>
measuredGpus(const std::vector<devices::CudaDeviceInfo> &devices) {
  return matched(loadJson(keyOfGpus()), devices);
}

Machine knownGpu(int number) {
  Machine assumed = *Machine::forLevel("sm_90a");
  std::optional<Json> kept = loadJson(keyOfGpus());
  if (!kept) // Then nobody has to ask the driver.
    return assumed;
  auto devices = devices::CudaDevice::list();
  if (!devices.ok() || size_t(number) >= devices->size())
    return assumed;
  std::optional<MeasuredLaunches> measured = matched(kept, *devices)[size_t(number)];
  return measured ? measured->applyTo(assumed) : assumed;
}

/// Of all devices that can be measured: one that is busy, or too old for this code, keeps nobody
/// from measuring the rest.
static Json measureGpus() {
  Json list = Json::array();
  auto devices = devices::CudaDevice::list();
  for (size_t number = 0; devices.ok() && number < devices->size(); ++number) {
    auto device = devices::CudaDevice::open(int(number));
    if (!device.ok())
      continue;
    auto costs = devices::measureLaunchCosts(**device);
    if (!costs.ok())
      continue;
    MeasuredLaunches launches{identityOf((*devices)[number]), costs->launchSeconds,
                              costs->barrierSeconds};
    list.push_back(launches.toJson());
  }
  return list;
}

KnownMachine knownMachine() { return {Machine::detect(), load()}; }

static Status keep(const Digest &key, const Json &json) {
  KINTSUGI_ASSIGN(std::string folder, FileCache::defaultFolder());
  KINTSUGI_ASSIGN(FileCache cache, FileCache::open(folder));
  std::string text = printJson(json, 1) + "\n";
  return cache.put(key, std::as_bytes(std::span(text)));
}

Status keepMeasurement(const Measurement &measurement) {
  return keep(keyOfThisMachine(), measurement.toJson());
}

Expected<KnownMachine> measureMachine() {
  Json gpus = measureGpus();
  if (!gpus.empty()) // Whether the processor is busy is nothing to them.
    KINTSUGI_RETURN_IF_ERROR(keep(keyOfGpus(), gpus));
  KnownMachine known;
  known.assumed = Machine::detect();
  std::vector<Machine> levels = Machine::detectLevels();
  if (levels.empty())
    levels.push_back(known.assumed);
  Expected<Measurement> measured = measure::measure(levels);
  if (!measured.ok() && !gpus.empty())
    return machineError(measured.error().message + " (GPUs were measured, and that is kept)");
  KINTSUGI_ASSIGN(known.measured, std::move(measured));
  KINTSUGI_RETURN_IF_ERROR(keepMeasurement(*known.measured));
  return known;
}

Status forgetMeasurement() {
  KINTSUGI_ASSIGN(std::string folder, FileCache::defaultFolder());
  KINTSUGI_ASSIGN(FileCache cache, FileCache::open(folder));
  for (const Digest &key : {keyOfThisMachine(), keyOfGpus()}) {
    std::optional<std::string> path = cache.find(key);
    if (path && ::unlink(path->c_str()) != 0 && errno != ENOENT)
      return machineError(*path + ": can't remove: " + std::strerror(errno));
  }
  return Status::success();
}

} // namespace kintsugi::api
