//===- artifact_writer.cpp - Writing artifacts ----------------------------===//

#include "runtime/artifact_writer.h"

#include "abi/stage.h"
#include "base/files.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>

using namespace kintsugi;
using namespace kintsugi::runtime;

namespace kintsugi::runtime {
class ArtifactSink {
public:
  virtual ~ArtifactSink() = default;
  virtual uint64_t size() const = 0;
  virtual Status write(std::span<const std::byte> bytes) = 0;
  virtual Status rewriteStart(std::span<const std::byte> bytes) = 0;
  virtual Status commit() = 0;
};
} // namespace kintsugi::runtime

namespace {
class FileSink final : public ArtifactSink {
public:
  explicit FileSink(AtomicFile file) : file(std::move(file)) {}
  uint64_t size() const override { return file.size(); }
  Status write(std::span<const std::byte> bytes) override { return file.write(bytes); }
  Status rewriteStart(std::span<const std::byte> bytes) override { return file.rewrite(0, bytes); }
  Status commit() override { return file.commit(); }

private:
  AtomicFile file;
};

class MemorySink final : public ArtifactSink {
public:
  explicit MemorySink(std::vector<std::byte> &target) : target(target) { target.clear(); }
  uint64_t size() const override { return target.size(); }
  Status write(std::span<const std::byte> bytes) override {
    target.insert(target.end(), bytes.begin(), bytes.end());
    return Status::success();
  }
  Status rewriteStart(std::span<const std::byte> bytes) override {
    std::memcpy(target.data(), bytes.data(), bytes.size());
    return Status::success();
  }
  Status commit() override { return Status::success(); }

private:
  std::vector<std::byte> &target;
};
} // namespace

/// Its name where it has none.
static constexpr std::string_view onlyVariant = "only";

ArtifactWriter::ArtifactWriter(std::unique_ptr<ArtifactSink> sink) : sink(std::move(sink)) {}
ArtifactWriter::ArtifactWriter(ArtifactWriter &&) = default;
ArtifactWriter::~ArtifactWriter() = default;

Expected<ArtifactWriter> ArtifactWriter::toFile(const std::string &path) {
  KINTSUGI_ASSIGN(AtomicFile file, AtomicFile::create(path));
  return ArtifactWriter(std::make_unique<FileSink>(std::move(file)));
}

ArtifactWriter ArtifactWriter::toMemory(std::vector<std::byte> &bytes) {
  return ArtifactWriter(std::make_unique<MemorySink>(bytes));
}

Status ArtifactWriter::write(std::span<const std::byte> bytes) {
  hash.update(bytes);
  return sink->write(bytes);
}

Status ArtifactWriter::pad(uint64_t alignment) {
  static constexpr std::byte zeros[KIN_ARTIFACT_PAGE] = {};
  uint64_t over = sink->size() % alignment;
  return over == 0 ? Status::success() : write(std::span(zeros, alignment - over));
}

Status ArtifactWriter::beginSection() {
  if (sink->size() == 0)
    KINTSUGI_RETURN_IF_ERROR(write(std::as_bytes(std::span(KIN_ARTIFACT_MAGIC, 8))));
  KINTSUGI_RETURN_IF_ERROR(pad(KIN_ARTIFACT_PAGE));
  hash = Blake3();
  sectionStart = sink->size();
  return Status::success();
}

void ArtifactWriter::endSection(KinSectionKind kind, std::string_view name) {
  KinArtifactSection entry = {};
  assert(name.size() < sizeof(entry.name) && table.size() < KIN_ARTIFACT_MAX_SECTIONS);
  entry.kind = kind;
  entry.offset = sectionStart;
  entry.bytes = sink->size() - sectionStart;
  Digest digest = hash.finish();
  std::memcpy(entry.digest, digest.bytes.data(), sizeof(entry.digest));
  std::memcpy(entry.name, name.data(), name.size());
  table.push_back(entry);
}

Status ArtifactWriter::addSection(KinSectionKind kind, std::string_view name,
                                  std::span<const std::byte> bytes) {
  endConstants(onlyVariant);
  constantsEnded = true;
  KINTSUGI_RETURN_IF_ERROR(beginSection());
  KINTSUGI_RETURN_IF_ERROR(write(bytes));
  endSection(kind, name);
  return Status::success();
}

Status ArtifactWriter::beginConstants() {
  KINTSUGI_RETURN_IF_ERROR(beginSection());
  if (constantsStart == 0)
    constantsStart = sectionStart;
  inConstants = true;
  return Status::success();
}

Expected<uint64_t> ArtifactWriter::addConstant(std::span<const std::byte> bytes) {
  assert(!constantsEnded && "constants come before everything else");
  if (!inConstants)
    KINTSUGI_RETURN_IF_ERROR(beginConstants());
  KINTSUGI_RETURN_IF_ERROR(pad(KIN_BUFFER_ALIGNMENT));
  uint64_t offset = sink->size() - constantsStart;
  KINTSUGI_RETURN_IF_ERROR(appendConstant(bytes));
  return offset;
}

Status ArtifactWriter::appendConstant(std::span<const std::byte> bytes) {
  KINTSUGI_RETURN_IF_ERROR(write(bytes));
  constants = sink->size() - constantsStart;
  return Status::success();
}

void ArtifactWriter::endConstants(std::string_view variant) {
  if (inConstants)
    endSection(KIN_SECTION_CONSTANTS, variant);
  inConstants = false;
}

Status ArtifactWriter::addCode(std::string_view name, std::span<const std::byte> bytes) {
  return addSection(KIN_SECTION_CODE, name, bytes);
}

Status ArtifactWriter::addProvenance(const Json &provenance) {
  std::string text = printJson(provenance, 1);
  return addSection(KIN_SECTION_PROVENANCE, "provenance", std::as_bytes(std::span(text)));
}

/// Sections stand in the table as they were written: those of a variant and the ones before it are
/// those up to its own, or up to the first of a variant that is still to come.
uint64_t ArtifactWriter::constantsSeenBy(std::string_view variant) const {
  uint64_t end = 0;
  for (const KinArtifactSection &entry : table) {
    bool written = std::any_of(table.begin(), table.end(), [&](const KinArtifactSection &other) {
      return other.kind == KIN_SECTION_MANIFEST && std::strcmp(other.name, entry.name) == 0;
    });
    if (entry.kind == KIN_SECTION_CONSTANTS && (written || entry.name == variant))
      end = std::max(end, entry.offset + entry.bytes - constantsStart);
  }
  return end;
}

Status ArtifactWriter::addManifest(std::string_view variant, const Manifest &manifest) {
  if (Status status = manifest.validate(constantsSeenBy(variant)); !status.ok())
    return internalError("the manifest is inconsistent: " + status.error().message);
  std::string text = printJson(manifest.toJson(), 1);
  return addSection(KIN_SECTION_MANIFEST, variant, std::as_bytes(std::span(text)));
}

Expected<Digest> ArtifactWriter::finish(const Manifest &manifest) {
  endConstants(onlyVariant);
  KINTSUGI_RETURN_IF_ERROR(addManifest(onlyVariant, manifest));
  return finish();
}

Expected<Digest> ArtifactWriter::finish() {
  KINTSUGI_RETURN_IF_ERROR(pad(8));

  KinArtifactHeader header = {};
  std::memcpy(header.magic, KIN_ARTIFACT_MAGIC, sizeof(header.magic));
  header.version = KIN_ARTIFACT_VERSION;
  header.section_count = static_cast<uint32_t>(table.size());
  header.table_offset = sink->size();
  auto tableBytes = std::as_bytes(std::span(table));
  header.file_bytes = header.table_offset + tableBytes.size();
  auto headerBytes = std::as_bytes(std::span(&header, 1));
  Digest digest = Blake3()
                      .update(headerBytes.first(offsetof(KinArtifactHeader, digest)))
                      .update(tableBytes)
                      .finish();
  std::memcpy(header.digest, digest.bytes.data(), sizeof(header.digest));
  KINTSUGI_RETURN_IF_ERROR(sink->write(tableBytes));
  KINTSUGI_RETURN_IF_ERROR(sink->rewriteStart(headerBytes));
  KINTSUGI_RETURN_IF_ERROR(sink->commit());
  return digest;
}
