//===- section_digest.h - The digest of gigabytes -------------------------===//
//
// Constants may be gigabytes, and one SHA-256 over them would take longer than everything else that
// loading does. So a section is hashed as a tree: SHA-256 of the SHA-256s of its chunks, in order.
// Chunks are independent, and eight at a time fill the lanes of a vector register.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_RUNTIME_SECTION_DIGEST_H
#define KINTSUGI_RUNTIME_SECTION_DIGEST_H

#include "base/hash.h"

#include <cstddef>
#include <span>
#include <vector>

namespace kintsugi::runtime {

/// Bytes that arrive in pieces.
class SectionHasher {
public:
  SectionHasher &update(std::span<const std::byte> bytes);

  /// The digest of everything. The object must not be used after.
  Digest finish();

private:
  void hashGroup(const std::byte *group);

  Sha256 root;
  std::vector<std::byte> pending; ///< Less than a group of chunks.
};

Digest sectionDigest(std::span<const std::byte> bytes);

} // namespace kintsugi::runtime

#endif // KINTSUGI_RUNTIME_SECTION_DIGEST_H
