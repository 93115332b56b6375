//===- artifact_writer.h - Writing artifacts ------------------------------===//
//
// Writes the file of abi/artifact.h in one pass: constants are streamed to disk as they come, then
// code, then the manifest that describes them. The file appears under its name only when it is
// complete.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_ARTIFACT_WRITER_H
#define KINTSUGI_RUNTIME_ARTIFACT_WRITER_H

#include "abi/artifact.h"
#include "base/hash.h"
#include "base/status.h"
#include "runtime/manifest.h"
#include "runtime/section_digest.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi::runtime {

/// Where an artifact's bytes go.
class ArtifactSink;

/// First all constants, then code and provenance, then finish().
class ArtifactWriter {
public:
  /// A usage or machine error where the file can't be created.
  static Expected<ArtifactWriter> toFile(const std::string &path);

  /// Into a vector that outlives the writer, which it clears first.
  static ArtifactWriter toMemory(std::vector<std::byte> &bytes);

  ArtifactWriter(ArtifactWriter &&);
  ~ArtifactWriter(); ///< Without finish() nothing is left behind.

  /// Starts a constant and writes its first bytes, perhaps none. Returns its offset in the
  /// constants section, for Home::constant(): a multiple of KIN_BUFFER_ALIGNMENT.
  Expected<uint64_t> addConstant(std::span<const std::byte> bytes);

  /// More bytes of the constant that was added last.
  Status appendConstant(std::span<const std::byte> bytes);

  /// Bytes of constants so far.
  uint64_t constantBytes() const { return constants; }

  /// A code object; `name` is printable ASCII of at most 39 characters, unique, and listed in the
  /// manifest.
  Status addCode(std::string_view name, std::span<const std::byte> bytes);

  Status addProvenance(const Json &provenance);

  /// Checks and writes the manifest, the table and the header, and puts the file in its place.
  /// Returns the digest that names it. An internal error where the manifest does not validate.
  Expected<Digest> finish(const Manifest &manifest);

private:
  explicit ArtifactWriter(std::unique_ptr<ArtifactSink> sink);

  Status write(std::span<const std::byte> bytes);
  Status pad(uint64_t alignment);
  Status beginSection();
  void endSection(KinSectionKind kind, std::string_view name);
  void endConstants();
  Status addSection(KinSectionKind kind, std::string_view name, std::span<const std::byte> bytes);

  std::unique_ptr<ArtifactSink> sink;
  SectionHasher hash;        ///< Of the section being written.
  uint64_t sectionStart = 0; ///< In the file.
  uint64_t constants = 0;
  bool constantsEnded = false;
  std::vector<KinArtifactSection> table;
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_ARTIFACT_WRITER_H
