#include "api/compiler/artifacts.h"

#include "abi/artifact.h"
#include "api/compiler/identity.h"
#include "api/compiler/worker_process.h"
#include "base/file_cache.h"
#include "base/files.h"
#include "devices/cpu/cpu_device.h"
#include "pipeline/model_identity.h"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace kintsugi::api {

bool isArtifact(const std::string &path) {
  constexpr size_t length = sizeof(KIN_ARTIFACT_MAGIC) - 1;
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char start[length];
  return file.valid() && ::read(file.get(), start, length) == ssize_t(length) &&
         std::memcmp(start, KIN_ARTIFACT_MAGIC, length) == 0;
}

Status checkIsModel(const std::string &path) {
  if (isArtifact(path))
    return usageError(path + ": is an artifact already; kintsugi run runs it");
  return Status::success();
}

std::shared_ptr<runtime::Device> hostDevice() {
  static const auto device = std::make_shared<devices::CpuDevice>();
  return device;
}

static machine::Level ownLevel() { return *machine::levelOf(machine::Machine::detect().level); }

namespace {

struct Compiled {
  Json report;
  std::string records; ///< The digest of those that there are now; "" for none.
  Json decisions;
};

} // namespace

/// Models alone are compiled, and the constants are computed here.
static Expected<Compiled> compileInWorker(const std::string &artifact, const std::string &model,
                                          const Settings &settings, bool wantsDecisions) {
  KINTSUGI_RETURN_IF_ERROR(checkIsModel(model));
  KINTSUGI_RETURN_IF_ERROR(machine::checkRuns(ownLevel(), machine::Level::V3));
  KINTSUGI_ASSIGN(Answer answer,
                  ask({Task::Compile, model, artifact, "", wantsDecisions}, settings));
  KINTSUGI_ASSIGN(const Json *report, jsonObject(answer.json, "report"));
  KINTSUGI_ASSIGN(std::string records, jsonString(answer.json, "records"));
  auto decisions = jsonObject(answer.json, "decisions");
  return Compiled{*report, std::move(records), decisions.ok() ? **decisions : Json()};
}

Expected<Json> compileTo(const std::string &artifact, const std::string &model,
                         const Settings &settings) {
  KINTSUGI_ASSIGN(Compiled compiled, compileInWorker(artifact, model, settings, false));
  return std::move(compiled.report);
}

static Expected<Prepared> prepareWithoutCache(const std::string &model, const Settings &settings,
                                              bool wantsDecisions) {
  KINTSUGI_ASSIGN(TemporaryPath temporary, TemporaryPath::ofNewFile());
  std::string name = temporary.str();
  KINTSUGI_ASSIGN(Compiled compiled, compileInWorker(name, model, settings, wantsDecisions));
  return Prepared{name, std::move(temporary),         false, std::move(compiled.report),
                  "",   std::move(compiled.decisions)};
}

/// The report of the compilation that made a cached artifact; nothing where it is not there.
static Expected<std::optional<Json>> cachedReport(const FileCache &cache, const Digest &key) {
  KINTSUGI_ASSIGN(std::optional<FileCache::Entry> entry, cache.get(key));
  if (!entry)
    return std::optional<Json>();
  auto bytes = entry->bytes();
  Expected<Json> report = parseJson({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  return report.ok() ? std::optional(std::move(*report)) : std::nullopt;
}

/// Where an artifact is kept: what it is made from, the digest of the records included.
static Digest keyOf(const Digest &model, const Settings &settings, const std::string &records) {
  Blake3 hash;
  hash.update(compilerIdentity() + "\n" + model.hex() + "\n");
  settings.addTo(hash);
  hash.update(records);
  return hash.finish();
}

static Digest reportKeyOf(const Digest &key) { return blake3(key.hex() + " report"); }

/// Whether an artifact that is there is what these settings ask for: all that --tune could find out
/// may be known by now.
static bool isDone(const Json &report, const Settings &settings, const TunedRecords &tuned) {
  if (!tuned.records || settings.compile.tuneSeconds == 0)
    return true;
  auto tuning = jsonObject(report, "tuning");
  auto complete = tuning.ok() ? jsonBool(**tuning, "complete") : Expected<bool>(tuning.takeError());
  return complete.ok() && *complete;
}

/// What was measured on the way decides what the artifact is: it belongs under another key.
static Expected<Prepared> moveTo(const Digest &key, const std::string &from, const FileCache &cache,
                                 Json report) {
  KINTSUGI_ASSIGN(std::string place, cache.placeFor(key));
  if (place != from && std::rename(from.c_str(), place.c_str()) != 0)
    return machineError(place + ": can't be written: " + std::strerror(errno));
  report["artifact"] = place;
  std::string text = printJson(report);
  KINTSUGI_RETURN_IF_ERROR(cache.put(reportKeyOf(key), std::as_bytes(std::span(text))));
  return Prepared{place, {}, false, std::move(report), "", {}};
}

static Expected<Prepared> prepareInCache(const std::string &path, const Settings &settings,
                                         bool wantsDecisions) {
  KINTSUGI_ASSIGN(Digest model, pipeline::modelIdentity(path));
  TunedRecords tuned = openTunedRecords(settings);
  Digest key = keyOf(model, settings, tuned.digest());
  KINTSUGI_ASSIGN(std::string folder, FileCache::defaultFolder());
  KINTSUGI_ASSIGN(FileCache cache, FileCache::open(folder));
  KINTSUGI_ASSIGN(std::optional<Json> known, cachedReport(cache, reportKeyOf(key)));
  std::optional<std::string> found = cache.find(key);
  if (known && found && isDone(*known, settings, tuned))
    return Prepared{*found, {}, true, std::move(*known), tuned.note, {}};
  KINTSUGI_ASSIGN(std::string place, cache.placeFor(key));
  KINTSUGI_ASSIGN(Compiled compiled, compileInWorker(place, path, settings, wantsDecisions));
  KINTSUGI_ASSIGN(Prepared prepared, moveTo(keyOf(model, settings, compiled.records), place, cache,
                                            std::move(compiled.report)));
  prepared.note = tuned.note;
  prepared.decisions = std::move(compiled.decisions);
  return prepared;
}

Status checkRuns(const Settings &settings) {
  return settings.level ? machine::checkRuns(ownLevel(), *settings.level) : Status::success();
}

Expected<Prepared> prepare(const std::string &path, const Settings &settings, bool wantsDecisions) {
  if (isArtifact(path)) {
    if (!settings.compileFlags.empty())
      return usageError(path + ": is an artifact already: " + settings.compileFlags.front() +
                        " can't change it; compile the model anew");
    return Prepared{path, {}, false, Json(), "", {}};
  }
  return settings.cache ? prepareInCache(path, settings, wantsDecisions)
                        : prepareWithoutCache(path, settings, wantsDecisions);
}

} // namespace kintsugi::api
