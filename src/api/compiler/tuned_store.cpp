#include "api/compiler/tuned_store.h"

#include "api/compiler/identity.h"
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

void TunedRecords::lendTo(pipeline::CompileOptions &options) {
  options.records = records ? &*records : nullptr;
  options.recordsLevel = level;
}

/// That of the artifact's machines that this one counts as when it runs the artifact: the first
/// whose instructions it has. Null where it is none of them.
static const machine::Machine *machineAtHand(const pipeline::CompileOptions &options) {
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

/// What a measurement holds for: the machine as it is described, and the threads that ran.
static std::string identityOf(const machine::Machine &machine, unsigned threads) {
  return machine.name + ", " + std::to_string(threads) + " threads, " +
         sha256(machine.print()).hex();
}

static Expected<tune::Records> readRecords(std::shared_ptr<store::Store> store,
                                           const Settings &settings) {
  const pipeline::CompileOptions &options = settings.compile;
  return tune::Records::read(std::move(store), identityOf(*machineAtHand(options), options.threads),
                             compilerIdentity());
}

static Expected<tune::Records> readStore(const std::string &path, const Settings &settings) {
  KINTSUGI_ASSIGN(store::Store store, store::Store::open(path));
  return readRecords(std::make_shared<store::Store>(std::move(store)), settings);
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
  if (settings.compile.target != "cpu" || !machine)
    return result;
  result.level = machine->level;
  auto keepNothing = [&](const std::string &problem) {
    if (isTuning)
      result.records.emplace(*readRecords(nullptr, settings));
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
  auto records = readStore(**path, settings);
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
