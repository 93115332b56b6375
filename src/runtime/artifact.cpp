//===- artifact.cpp - Reading artifacts -----------------------------------===//

#include "runtime/artifact.h"

#include "base/checked.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

using namespace kintsugi;
using namespace kintsugi::runtime;

static_assert(sizeof(KinArtifactHeader) == 64 && offsetof(KinArtifactHeader, digest) == 32);
static_assert(sizeof(KinArtifactSection) == 96);
static_assert(std::endian::native == std::endian::little);

static std::string sectionWord(uint32_t kind, const std::string &name) {
  switch (kind) {
  case KIN_SECTION_MANIFEST:
    return "manifest";
  case KIN_SECTION_CONSTANTS:
    return "constants";
  case KIN_SECTION_PROVENANCE:
    return "provenance";
  default:
    return "section '" + name + "'";
  }
}

Expected<Artifact> Artifact::open(const std::string &path, ReadOptions options) {
  Artifact artifact;
  artifact.label = path;
  auto storage = std::make_shared<Storage>();
  KINTSUGI_ASSIGN(storage->file, MappedFile::open(path));
  artifact.storage = std::move(storage);
  if (Status status = artifact.read(options); !status.ok())
    return at(path, status.takeError());
  return artifact;
}

Expected<Artifact> Artifact::fromMemory(std::span<const std::byte> bytes, std::string name,
                                        ReadOptions options) {
  Artifact artifact;
  artifact.label = std::move(name);
  auto storage = std::make_shared<Storage>();
  KINTSUGI_ASSIGN(storage->memory, HostMemory::allocate(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), storage->memory.data());
  artifact.storage = std::move(storage);
  if (Status status = artifact.read(options); !status.ok())
    return at(artifact.label, status.takeError());
  return artifact;
}

Expected<Artifact> Artifact::reopen(const ReadOptions &options) const {
  Artifact artifact;
  artifact.label = label;
  artifact.storage = storage;
  if (Status status = artifact.read(options); !status.ok())
    return at(artifact.label, status.takeError());
  return artifact;
}

std::span<const std::byte> Artifact::bytes() const {
  return storage->memory.data() ? std::span<const std::byte>(storage->memory.bytes())
                                : storage->file.bytes();
}

const Artifact::Section *Artifact::find(uint32_t kind, std::string_view name) const {
  for (const Section &section : sections)
    if (section.kind == kind && (name.empty() || section.name == name))
      return &section;
  return nullptr;
}

/// Of a variant for some sizes of an open dimension only.
static bool isForSomeSizes(std::string_view variant) {
  return variant.find('/') != std::string_view::npos;
}

std::vector<std::string> Artifact::allVariants() const {
  std::vector<std::string> names;
  for (const Section &section : sections)
    if (section.kind == KIN_SECTION_MANIFEST)
      names.push_back(section.name);
  return names;
}

std::vector<std::string> Artifact::variants() const {
  std::vector<std::string> names = allVariants();
  std::erase_if(names, isForSomeSizes);
  return names;
}

/// Whether the variant that was picked needs the section: constants are its own and those of the
/// variants before it.
bool Artifact::isUsed(const Section &section) const {
  if (section.kind == KIN_SECTION_PROVENANCE)
    return true;
  if (section.kind == KIN_SECTION_MANIFEST)
    return section.name == picked;
  if (section.kind == KIN_SECTION_CODE)
    return std::any_of(contents.code.begin(), contents.code.end(), [&](const CodeObject &object) {
      return object.section == section.name || object.machineCode == section.name;
    });
  for (const std::string &variant : allVariants()) {
    if (variant == section.name)
      return section.kind == KIN_SECTION_CONSTANTS;
    if (variant == picked)
      break;
  }
  return false;
}

std::span<const std::byte> Artifact::constants() const {
  const std::byte *begin = nullptr, *end = nullptr;
  for (const Section &section : sections) {
    if (section.kind != KIN_SECTION_CONSTANTS)
      continue;
    if (!begin)
      begin = end = section.bytes.data();
    if (isUsed(section))
      end = section.bytes.data() + section.bytes.size();
  }
  return {begin, end};
}

std::span<const std::byte> Artifact::code(std::string_view name) const {
  const Section *section = find(KIN_SECTION_CODE, name);
  return section ? section->bytes : std::span<const std::byte>();
}

std::string_view Artifact::provenance() const {
  const Section *section = find(KIN_SECTION_PROVENANCE);
  if (!section)
    return {};
  return {reinterpret_cast<const char *>(section->bytes.data()), section->bytes.size()};
}

Expected<KinArtifactHeader> Artifact::readHeader() const {
  KinArtifactHeader header;
  if (bytes().size() < sizeof(header))
    return inputError("not an artifact: it has " + std::to_string(bytes().size()) + " bytes");
  std::memcpy(&header, bytes().data(), sizeof(header));
  if (std::memcmp(header.magic, KIN_ARTIFACT_MAGIC, sizeof(header.magic)) != 0)
    return inputError("not an artifact: it does not begin with " KIN_ARTIFACT_MAGIC);
  if (header.version != KIN_ARTIFACT_VERSION)
    return inputError("an artifact of version " + std::to_string(header.version) +
                      ", this runtime reads version " + std::to_string(KIN_ARTIFACT_VERSION) +
                      "; compile the model again");
  if (header.file_bytes != bytes().size())
    return inputError("cut short or extended: it has " + std::to_string(bytes().size()) +
                      " bytes instead of " + std::to_string(header.file_bytes) +
                      "; copy it again or compile the model again");
  if (header.section_count > KIN_ARTIFACT_MAX_SECTIONS || header.table_offset % 8 != 0 ||
      header.table_offset > header.file_bytes ||
      header.file_bytes - header.table_offset != header.section_count * sizeof(KinArtifactSection))
    return inputError("damaged: the table of sections is not where the header says");
  return header;
}

Status Artifact::readSection(const KinArtifactSection &entry, uint64_t end) {
  if (entry.reserved != 0 || entry.offset % KIN_ARTIFACT_PAGE != 0 ||
      entry.offset < KIN_ARTIFACT_PAGE || !inRange(entry.offset, entry.bytes, end))
    return inputError("damaged: section " + std::to_string(sections.size()) +
                      " is outside the file or not aligned");
  Section section;
  section.kind = entry.kind;
  section.name.assign(entry.name, strnlen(entry.name, sizeof(entry.name)));
  bool readable = std::all_of(section.name.begin(), section.name.end(),
                              [](char c) { return c > ' ' && c <= '~'; });
  if (section.name.size() == sizeof(entry.name) || !readable)
    return inputError("damaged: section " + std::to_string(sections.size()) + " has no valid name");
  section.bytes = bytes().subspan(entry.offset, entry.bytes);
  std::memcpy(section.digest.bytes.data(), entry.digest, sizeof(entry.digest));
  bool several = section.kind != KIN_SECTION_PROVENANCE;
  if (find(section.kind, several ? std::string_view(section.name) : std::string_view()))
    return inputError("damaged: " + sectionWord(section.kind, section.name) + " is there twice");
  sections.push_back(std::move(section));
  return Status::success();
}

Status Artifact::readTable(const KinArtifactHeader &header) {
  auto table = bytes().subspan(header.table_offset);
  Digest digest =
      Blake3().update(bytes().first(offsetof(KinArtifactHeader, digest))).update(table).finish();
  std::memcpy(fileDigest.bytes.data(), header.digest, sizeof(header.digest));
  if (digest != fileDigest)
    return inputError("damaged: the table of sections does not have its digest; copy the file "
                      "again or compile the model again");
  for (uint32_t i = 0; i < header.section_count; ++i) {
    KinArtifactSection entry;
    std::memcpy(&entry, table.data() + i * sizeof(entry), sizeof(entry));
    KINTSUGI_RETURN_IF_ERROR(readSection(entry, header.table_offset));
  }
  return checkGaps(header.table_offset);
}

/// Between the sections there are zeros, so that every byte of the file is accounted for.
Status Artifact::checkGaps(uint64_t end) const {
  std::vector<std::pair<uint64_t, uint64_t>> taken = {{0, sizeof(KinArtifactHeader)}, {end, end}};
  for (const Section &section : sections) {
    auto start = static_cast<uint64_t>(section.bytes.data() - bytes().data());
    taken.push_back({start, start + section.bytes.size()});
  }
  std::sort(taken.begin(), taken.end());
  for (size_t i = 1; i < taken.size(); ++i) {
    uint64_t from = taken[i - 1].second, to = taken[i].first;
    if (to < from)
      return inputError("damaged: sections overlap; compile the model again");
    auto gap = bytes().subspan(from, to - from);
    if (std::any_of(gap.begin(), gap.end(), [](std::byte b) { return b != std::byte(0); }))
      return inputError("damaged: there is something between the sections; copy the file again or "
                        "compile the model again");
  }
  return Status::success();
}

/// One after the other from page to page, so that offsets go through all of them.
Status Artifact::checkConstantsOrder() const {
  const std::byte *next = nullptr;
  for (const Section &section : sections) {
    if (section.kind != KIN_SECTION_CONSTANTS)
      continue;
    if (next && section.bytes.data() != next)
      return inputError("damaged: the constants are not in one piece; compile the model again");
    auto at = static_cast<uint64_t>(section.bytes.data() - bytes().data()) + section.bytes.size();
    next = bytes().data() + (at + KIN_ARTIFACT_PAGE - 1) / KIN_ARTIFACT_PAGE * KIN_ARTIFACT_PAGE;
  }
  return Status::success();
}

/// A file's bytes are let go of once they are hashed: a run may never touch most of a table.
Digest Artifact::digestOf(const Section &section) const {
  constexpr size_t pieceBytes = size_t(1) << 20;
  Blake3 hasher;
  for (size_t at = 0; at < section.bytes.size(); at += pieceBytes) {
    auto piece = section.bytes.subspan(at, std::min(pieceBytes, section.bytes.size() - at));
    hasher.update(piece);
    if (!storage->memory.data())
      storage->file.evict(piece);
  }
  return hasher.finish();
}

Status Artifact::checkDigest(const Section &section) const {
  if (digestOf(section) == section.digest)
    return Status::success();
  return inputError("damaged: the " + sectionWord(section.kind, section.name) +
                    " does not have its digest; copy the file again or compile the model again");
}

/// Of all that the variant uses but its manifest, which was checked before it was read.
Status Artifact::checkDigests(const ReadOptions &options) const {
  for (const Section &section : sections) {
    bool skipped = section.kind == KIN_SECTION_CONSTANTS && !options.verifyConstants;
    if (section.kind != KIN_SECTION_MANIFEST && isUsed(section) && !skipped)
      KINTSUGI_RETURN_IF_ERROR(checkDigest(section));
  }
  return Status::success();
}

Expected<Manifest> Artifact::readManifest(const Section &section) const {
  KINTSUGI_RETURN_IF_ERROR(checkDigest(section));
  std::string_view text(reinterpret_cast<const char *>(section.bytes.data()), section.bytes.size());
  auto json = parseJson(text);
  if (!json.ok())
    return at("manifest", json.takeError());
  auto manifest = Manifest::fromJson(*json);
  if (!manifest.ok())
    return at("manifest", manifest.takeError());
  return manifest;
}

static std::string joined(const std::vector<std::string> &names, const char *between) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : between) + name;
  return text;
}

/// What the code of all those manifests asks for and the machine lacks, with commas between.
static std::string missingFeatures(const std::vector<Manifest> &manifests,
                                   const ReadOptions &options) {
  std::vector<std::string> missing;
  for (const Manifest &manifest : manifests)
    for (const CodeObject &object : manifest.code)
      for (const std::string &feature : object.features)
        if (!options.supports(feature) &&
            std::find(missing.begin(), missing.end(), feature) == missing.end())
          missing.push_back(feature);
  return joined(missing, ", ");
}

/// Whether a machine runs one of the manifest's code objects, or it has none, or it is for another
/// device.
static bool runs(const Manifest &manifest, const ReadOptions &options) {
  bool isForOther = options.runsTarget && !options.runsTarget(manifest.target);
  return !options.supports || isForOther || manifest.code.empty() ||
         std::any_of(manifest.code.begin(), manifest.code.end(), [&](const CodeObject &object) {
           return std::all_of(object.features.begin(), object.features.end(), options.supports);
         });
}

Status Artifact::pickVariant(const ReadOptions &options) {
  std::vector<Manifest> others;
  std::vector<std::string> names;
  for (const Section &section : sections) {
    bool isWanted =
        options.variant.empty() ? !isForSomeSizes(section.name) : section.name == options.variant;
    if (section.kind != KIN_SECTION_MANIFEST || !isWanted)
      continue;
    KINTSUGI_ASSIGN(Manifest manifest, readManifest(section));
    names.push_back(section.name);
    if (runs(manifest, options)) {
      picked = section.name;
      contents = std::move(manifest);
      return Status::success();
    }
    others.push_back(std::move(manifest));
  }
  if (variants().empty())
    return inputError("damaged: it has no manifest");
  if (names.empty())
    return usageError("has no code for " + options.variant + "; it has code for " +
                      joined(variants(), " and "));
  return machineError("has code for " + joined(names, " and ") + ", but this processor lacks " +
                      missingFeatures(others, options) + "; compile the model for this machine");
}

Status Artifact::checkManifest() const {
  if (Status status = contents.validate(constants().size()); !status.ok())
    return at("manifest", status.takeError());
  auto isThere = [&](const std::string &name) {
    return !name.empty() && find(KIN_SECTION_CODE, name);
  };
  for (const CodeObject &object : contents.code) {
    if (!isThere(object.section))
      return inputError("manifest: the code object '" + object.section + "' is not there");
    if (!object.machineCode.empty() && !isThere(object.machineCode))
      return inputError("manifest: the machine code '" + object.machineCode + "' is not there");
  }
  return Status::success();
}

Status Artifact::read(const ReadOptions &options) {
  KINTSUGI_ASSIGN(KinArtifactHeader header, readHeader());
  KINTSUGI_RETURN_IF_ERROR(readTable(header));
  KINTSUGI_RETURN_IF_ERROR(checkConstantsOrder());
  KINTSUGI_RETURN_IF_ERROR(pickVariant(options));
  KINTSUGI_RETURN_IF_ERROR(checkDigests(options));
  return checkManifest();
}
