#include "api/compiler/artifacts.h"

#include "abi/artifact.h"
#include "base/file_cache.h"
#include "base/files.h"
#include "devices/cpu/cpu_device.h"
#include "pipeline/model_identity.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <link.h>
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

/// The file that holds the compiler's code, as it is on the disk: another build, another identity.
static std::string compilerIdentity() {
  std::string file = "/proc/self/exe";
  auto visit = [](dl_phdr_info *object, size_t, void *result) {
    auto address = reinterpret_cast<uintptr_t>(&compilerIdentity);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr) &part = object->dlpi_phdr[i];
      uintptr_t start = object->dlpi_addr + part.p_vaddr;
      if (part.p_type != PT_LOAD || address < start || address >= start + part.p_memsz)
        continue;
      if (object->dlpi_name && *object->dlpi_name)
        *static_cast<std::string *>(result) = object->dlpi_name;
      return 1;
    }
    return 0;
  };
  ::dl_iterate_phdr(visit, &file);
  return pipeline::compilerVersion() + " " + pipeline::fileIdentity(file);
}

static machine::Level ownLevel() { return *machine::levelOf(machine::Machine::detect().level); }

Expected<Json> compileTo(const std::string &artifact, const std::string &model,
                         const Settings &settings) {
  KINTSUGI_RETURN_IF_ERROR(checkIsModel(model));
  // The constants are computed here.
  KINTSUGI_RETURN_IF_ERROR(machine::checkRuns(ownLevel(), machine::Level::V3));
  auto start = std::chrono::steady_clock::now();
  Diagnostics diagnostics;
  KINTSUGI_ASSIGN(runtime::ArtifactWriter writer, runtime::ArtifactWriter::toFile(artifact));
  KINTSUGI_ASSIGN(pipeline::CompileReport report,
                  pipeline::compile(model, settings.compile, *hostDevice(), writer, diagnostics));
  Json json = report.toJson();
  json["phases"] = Json::array();
  for (const pipeline::PhaseTime &phase : report.phases)
    json["phases"].push_back({{"phase", phase.phase}, {"seconds", phase.seconds}});
  json["notes"] = Json::array();
  for (const Diagnostic &diagnostic : diagnostics.list())
    json["notes"].push_back(diagnostic.str());
  json["artifact"] = artifact;
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  json["compile_s"] = taken.count();
  return json;
}

static Expected<Prepared> prepareWithoutCache(const std::string &model, const Settings &settings) {
  const char *folder = std::getenv("TMPDIR");
  std::string name = std::string(folder && *folder ? folder : "/tmp") + "/kintsugi-XXXXXX";
  FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.valid())
    return machineError(name + ": can't make a temporary file: " + std::strerror(errno));
  TemporaryPath temporary(name);
  KINTSUGI_ASSIGN(Json report, compileTo(name, model, settings));
  return Prepared{name, std::move(temporary), false, std::move(report)};
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

Expected<Prepared> prepare(const std::string &path, const Settings &settings) {
  if (isArtifact(path)) {
    if (!settings.compileFlags.empty())
      return usageError(path + ": is an artifact already: " + settings.compileFlags.front() +
                        " can't change it; compile the model anew");
    return Prepared{path, {}, false, Json()};
  }
  if (settings.level)
    KINTSUGI_RETURN_IF_ERROR(machine::checkRuns(ownLevel(), *settings.level));
  if (!settings.cache)
    return prepareWithoutCache(path, settings);
  KINTSUGI_ASSIGN(Digest model, pipeline::modelIdentity(path));
  Sha256 hash;
  hash.update(compilerIdentity() + "\n" + model.hex() + "\n");
  settings.addTo(hash);
  Digest key = hash.finish();
  Digest reportKey = sha256(key.hex() + " report");
  KINTSUGI_ASSIGN(std::string folder, FileCache::defaultFolder());
  KINTSUGI_ASSIGN(FileCache cache, FileCache::open(folder));
  KINTSUGI_ASSIGN(std::optional<Json> known, cachedReport(cache, reportKey));
  std::optional<std::string> found = cache.find(key);
  if (known && found)
    return Prepared{*found, {}, true, std::move(*known)};
  KINTSUGI_ASSIGN(std::string place, cache.placeFor(key));
  KINTSUGI_ASSIGN(Json report, compileTo(place, path, settings));
  std::string text = printJson(report);
  KINTSUGI_RETURN_IF_ERROR(cache.put(reportKey, std::as_bytes(std::span(text))));
  return Prepared{place, {}, false, std::move(report)};
}

} // namespace kintsugi::api
