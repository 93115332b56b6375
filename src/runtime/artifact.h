//===- artifact.h - Reading artifacts -------------------------------------===//
//
// An artifact's bytes, mapped and checked (abi/artifact.h has the format). Whatever the bytes are,
// reading them stays inside them. Running the code in them is another matter: it has all rights of
// the process, and digests tell damage, not intent. Run only artifacts that you trust.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_ARTIFACT_H
#define KINTSUGI_RUNTIME_ARTIFACT_H

#include "abi/artifact.h"
#include "base/files.h"
#include "base/hash.h"
#include "runtime/host_memory.h"
#include "runtime/manifest.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi::runtime {

struct ReadOptions {
  /// Whether instructions of a feature run where the code is to run; all do where it is empty.
  std::function<bool(std::string_view feature)> supports;
  /// Whether a target's code is for that device at all; all is where it is empty. Of code that is
  /// for another one features are not asked: Model::create() says what is wrong.
  std::function<bool(std::string_view target)> runsTarget;
  /// The variant to read; where it is empty, the first for all sizes whose code runs.
  std::string variant;
  /// Hash the constants too. Without it a model of gigabytes opens at once and its pages are read
  /// when they are used; everything else is hashed always.
  bool verifyConstants = true;
};

/// Immutable once open.
class Artifact {
public:
  /// Maps the file, picks a variant, and checks header, table, and the digests and the manifest of
  /// what that variant needs. An input error that says what is wrong where it is no artifact,
  /// damaged, or of another version; a machine error that names what is missing where no code runs;
  /// a usage error for a variant that it does not have.
  static Expected<Artifact> open(const std::string &path, ReadOptions options = {});

  /// The same for bytes in memory, which are copied; `name` stands for the path in messages.
  static Expected<Artifact> fromMemory(std::span<const std::byte> bytes, std::string name,
                                       ReadOptions options = {});

  /// Another variant of the same bytes.
  Expected<Artifact> reopen(const ReadOptions &options) const;

  /// The path or name it was opened by.
  const std::string &name() const { return label; }
  /// Of the variant that was picked.
  const Manifest &manifest() const { return contents; }

  /// What the artifact has, best first, without those for some sizes only; and which of it was
  /// picked.
  std::vector<std::string> variants() const;
  const std::string &variant() const { return picked; }

  /// Names the whole file: the header's digest.
  const Digest &digest() const { return fileDigest; }

  /// Those that the variant may use. They start at a multiple of KIN_ARTIFACT_PAGE; empty where
  /// there are none.
  std::span<const std::byte> constants() const;

  /// The code section of that name; one that the manifest lists is always there.
  std::span<const std::byte> code(std::string_view section) const;

  /// JSON text about where the artifact comes from; empty where there is none.
  std::string_view provenance() const;

private:
  struct Section {
    uint32_t kind;
    std::string name;
    std::span<const std::byte> bytes;
    Digest digest;
  };

  Artifact() = default;

  std::span<const std::byte> bytes() const;
  const Section *find(uint32_t kind, std::string_view name = {}) const;
  bool isUsed(const Section &section) const;
  Status read(const ReadOptions &options);
  Expected<KinArtifactHeader> readHeader() const;
  Status readTable(const KinArtifactHeader &header);
  Status readSection(const KinArtifactSection &entry, uint64_t end);
  Status checkGaps(uint64_t end) const;
  Status checkConstantsOrder() const;
  Digest digestOf(const Section &section) const;
  Status checkDigest(const Section &section) const;
  std::vector<std::string> allVariants() const;
  Status checkDigests(const ReadOptions &options) const;
  Expected<Manifest> readManifest(const Section &section) const;
  Status pickVariant(const ReadOptions &options);
  Status checkManifest() const;

  struct Storage {
    MappedFile file;
    HostMemory memory; ///< Instead of a file.
  };

  std::string label;
  std::shared_ptr<const Storage> storage; ///< Of all that are of the same bytes.
  Digest fileDigest;
  std::vector<Section> sections;
  std::string picked; ///< The name of the variant's sections.
  Manifest contents;
};

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_ARTIFACT_H
