#include "api/compiler/measured_machine.h"

#include "base/file_cache.h"
#include "measure/measure.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace kintsugi::api {

using machine::Machine;
using machine::Measurement;

/// The number grows when figures are measured in another way or mean something else.
static Digest keyOfThisMachine() { return sha256("measurement 1 of " + Machine::identity()); }

static std::optional<Measurement> load() {
  Expected<std::string> folder = FileCache::defaultFolder();
  std::error_code error;
  if (!folder.ok() || !std::filesystem::is_directory(*folder, error))
    return std::nullopt;
  Expected<FileCache> cache = FileCache::open(*folder);
  if (!cache.ok())
    return std::nullopt;
  auto entry = cache->get(keyOfThisMachine());
  if (!entry.ok() || !*entry)
    return std::nullopt;
  auto bytes = (*entry)->bytes();
  Expected<Json> json = parseJson({reinterpret_cast<const char *>(bytes.data()), bytes.size()},
                                  {.maxBytes = 1 << 20, .maxDepth = 8});
  Expected<Measurement> measurement =
      json.ok() ? Measurement::fromJson(*json) : Expected<Measurement>(json.takeError());
  return measurement.ok() ? std::optional(std::move(*measurement)) : std::nullopt;
}

KnownMachine knownMachine() { return {Machine::detect(), load()}; }

Expected<KnownMachine> measureMachine() {
  KINTSUGI_ASSIGN(std::string folder, FileCache::defaultFolder());
  KINTSUGI_ASSIGN(FileCache cache, FileCache::open(folder));
  KnownMachine known;
  known.assumed = Machine::detect();
  std::vector<Machine> levels = Machine::detectLevels();
  if (levels.empty())
    levels.push_back(known.assumed);
  KINTSUGI_ASSIGN(known.measured, measure::measure(levels));
  std::string text = printJson(known.measured->toJson(), 1) + "\n";
  KINTSUGI_RETURN_IF_ERROR(cache.put(keyOfThisMachine(), std::as_bytes(std::span(text))));
  return known;
}

Status forgetMeasurement() {
  KINTSUGI_ASSIGN(std::string folder, FileCache::defaultFolder());
  KINTSUGI_ASSIGN(FileCache cache, FileCache::open(folder));
  std::optional<std::string> path = cache.find(keyOfThisMachine());
  if (path && ::unlink(path->c_str()) != 0 && errno != ENOENT)
    return machineError(*path + ": can't remove: " + std::strerror(errno));
  return Status::success();
}

} // namespace kintsugi::api
