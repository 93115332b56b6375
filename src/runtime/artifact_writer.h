//===- artifact_writer.h - Writing artifacts ------------------------------===//
//
// Writes the file of abi/artifact.h in one pass: constants are streamed to disk as they come, those
// of one variant after those of another, then code, then the manifests that describe them. The file
// appears under its name only when it is complete.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_ARTIFACT_WRITER_H
#define KINTSUGI_RUNTIME_ARTIFACT_WRITER_H

#include "abi/artifact.h"
#include "base/hash.h"
#include "base/status.h"
#include "runtime/manifest.h"

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

/// First all constants, then code and provenance, then manifests, then finish().
class ArtifactWriter {
public:
  /// A usage or machine error where the file can't be created.
  static Expected<ArtifactWriter> toFile(const std::string &path);

  /// Into a vector that outlives the writer, which it clears first.
  static ArtifactWriter toMemory(std::vector<std::byte> &bytes);

  ArtifactWriter(ArtifactWriter &&);
  ~ArtifactWriter(); ///< Without finish() nothing is left behind.

  /// Starts a constant and writes its first bytes, perhaps none. Returns its offset among the
  /// constants of all variants, for Home::constant(): a multiple of KIN_BUFFER_ALIGNMENT.
  Expected<uint64_t> addConstant(std::span<const std::byte> bytes);

  /// More bytes of the constant that was added last.
  Status appendConstant(std::span<const std::byte> bytes);

  /// Bytes of constants so far, of all variants.
  uint64_t constantBytes() const { return constants; }

  /// What was added since the last call are the constants of that variant. Names of variants are
  /// like those of code.
  void endConstants(std::string_view variant);

  /// A code object; `name` is printable ASCII of at most 39 characters, unique, and listed in the
  /// manifest.
  Status addCode(std::string_view name, std::span<const std::byte> bytes);

  Status addProvenance(const Json &provenance);

  /// Checks and writes the manifest of a variant. Variants come in the order in which their
  /// constants came, best first. An internal error where the manifest does not validate.
  Status addManifest(std::string_view variant, const Manifest &manifest);

  /// Writes the table and the header, and puts the file in its place. Returns the digest that names
  /// it.
  Expected<Digest> finish();

  /// The same for an artifact of one variant, whose constants need no end.
  Expected<Digest> finish(const Manifest &manifest);

private:
  explicit ArtifactWriter(std::unique_ptr<ArtifactSink> sink);

  Status write(std::span<const std::byte> bytes);
  Status pad(uint64_t alignment);
  Status beginSection();
  void endSection(KinSectionKind kind, std::string_view name);
  Status beginConstants();
  uint64_t constantsSeenBy(std::string_view variant) const;
  Status addSection(KinSectionKind kind, std::string_view name, std::span<const std::byte> bytes);

  std::unique_ptr<ArtifactSink> sink;
  Blake3 hash;                 ///< Of the section being written.
  uint64_t sectionStart = 0;   ///< In the file.
  uint64_t constantsStart = 0; ///< Of the first section of constants, in the file.
  uint64_t constants = 0;      ///< Up to here, from there.
  bool inConstants = false;    ///< A section of them is being written.
  bool constantsEnded = false; ///< Something else came.
  std::vector<KinArtifactSection> table;
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_ARTIFACT_WRITER_H
