#include "api/compiler/tuned_store.h"

#include "api/compiler/identity.h"
#include "api/compiler/measured_machine.h"
#include "base/file_cache.h"
#include "machine/machine.h"

#include <filesystem>

namespace kintsugi::api {

static Expected<std::string> storePath() {
  KINTSUGI_ASSIGN(std::string folder, FileCache::defaultFolder());
  return folder + "/tuned.db";
}

static bool isThere(const std::string &path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::string TunedRecords::digest() const {
  return records && !records->empty() ? records->digest().hex() : std::string();
}

void TunedRecords::lendTo(pipeline::CompileOptions &options) {
  options.records = records ? &*records : nullptr;
  options.recordsLevel = level;
}

/// That of the artifact's machines that this one counts as when it runs the artifact: the first
/// whose instructions it has. Null where it is none of them.
static const machine::Machine *machineAtHand(const pipeline::CompileOptions &options) {
  if (options.target == "cuda")
    return &options.machine;
  machine::Level own = *machine::levelOf(machine::Machine::detect().level);
  auto runs = [&](const machine::Machine &machine) {
    return machine::checkRuns(own, *machine::levelOf(machine.level)).ok();
  };
  if (runs(options.machine))
    return &options.machine;
  for (const machine::Machine &machine : options.lesser)
    if (runs(machine))
      return &machine;
  return nullptr;
}

/// The device that runs what the settings' compilation makes, and whose driver compiles it.
static Expected<std::string> nameOfGpu(int number) {
  KINTSUGI_ASSIGN(std::vector<devices::CudaDeviceInfo> all, devices::CudaDevice::list());
  if (size_t(number) >= all.size())
    return machineError("there is no NVIDIA device " + std::to_string(number));
  return identityOf(all[number]);
}

/// What a measurement holds for: the machine as it is described, and what ran.
static Expected<std::string> identityOf(const machine::Machine &machine, const Settings &settings) {
  std::string digest = blake3(machine.print()).hex();
  if (settings.compile.target != "cuda")
    return machine.name + ", " + std::to_string(settings.compile.threads) + " threads, " + digest;
  KINTSUGI_ASSIGN(std::string device, nameOfGpu(settings.device));
  return device + ", " + digest;
}

static Expected<tune::Records> readStore(const std::string &path, const std::string &identity) {
  KINTSUGI_ASSIGN(store::Store store, store::Store::open(path));
  return tune::Records::read(std::make_shared<store::Store>(std::move(store)), identity,
                             compilerIdentity());
}

/// The store's file, in a folder that is there; nothing where the compilation needs none.
static Expected<std::optional<std::string>> storeFor(const Settings &settings) {
  bool isTuning = settings.compile.tuneSeconds > 0;
  Expected<std::string> path = storePath();
  if (!isTuning)
    return path.ok() && isThere(*path) ? std::optional(*path) : std::nullopt;
  if (!path.ok())
    return path.takeError();
  KINTSUGI_RETURN_IF_ERROR(
      FileCache::open(std::filesystem::path(*path).parent_path().string()).status());
  return std::optional(*path);
}

TunedRecords openTunedRecords(const Settings &settings) {
  TunedRecords result;
  bool isTuning = settings.compile.tuneSeconds > 0;
  const machine::Machine *machine = machineAtHand(settings.compile);
  if (settings.compile.target == "reference" || !machine)
    return result;
  result.level = machine->level;
  auto keepNothing = [&](const std::string &problem) {
    if (isTuning)
      result.records.emplace(*tune::Records::read(nullptr, "", ""));
    if (!problem.empty())
      result.note = problem + (isTuning ? "; what is measured now is not kept"
                                        : "; compiled without tuned schedules");
    return std::move(result);
  };
  if (!settings.cache)
    return keepNothing("");
  auto path = storeFor(settings);
  if (!path.ok())
    return keepNothing(path.error().message);
  if (!*path)
    return result;
  Expected<std::string> identity = identityOf(*machine, settings);
  if (!identity.ok()) // Without its device: there is nothing that holds for it, nor can be.
    return result;
  auto records = readStore(**path, *identity);
  if (!records.ok())
    return keepNothing(records.error().message);
  result.records.emplace(std::move(*records));
  return result;
}

Expected<TunedSummary> describeTunedStore() {
  KINTSUGI_ASSIGN(std::string path, storePath());
  TunedSummary summary;
  if (!isThere(path))
    return summary;
  std::error_code error;
  for (const char *suffix : {"", "-wal"})
    if (auto bytes = std::filesystem::file_size(path + suffix, error); !error)
      summary.bytes += bytes;
  auto store = store::Store::open(path);
  Expected<int64_t> size = store.ok() ? store->size() : Expected<int64_t>(store.takeError());
  if (size.ok())
    summary.entries = *size;
  else
    summary.problem = size.error().message;
  return summary;
}

Status clearTunedStore() {
  KINTSUGI_ASSIGN(std::string path, storePath());
  return store::Store::remove(path);
}

} // namespace kintsugi::api
