//===- resealed.h - Artifacts that lie, with right digests ----------------===//
#ifndef KINTSUGI_TEST_RUNTIME_RESEALED_H
#define KINTSUGI_TEST_RUNTIME_RESEALED_H

#include "abi/artifact.h"
#include "base/hash.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace kintsugi::runtime {

inline KinArtifactHeader headerOf(const std::vector<std::byte> &bytes) {
  KinArtifactHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

inline std::vector<KinArtifactSection> tableOf(const std::vector<std::byte> &bytes) {
  KinArtifactHeader header = headerOf(bytes);
  std::vector<KinArtifactSection> table(header.section_count);
  std::memcpy(table.data(), bytes.data() + header.table_offset,
              table.size() * sizeof(KinArtifactSection));
  return table;
}

inline const KinArtifactSection &sectionOf(const std::vector<KinArtifactSection> &table,
                                           uint32_t kind) {
  for (const KinArtifactSection &section : table)
    if (section.kind == kind)
      return section;
  return table[0];
}

/// Writes a header and table over those there are, with the digest they should have.
inline void reseal(std::vector<std::byte> &bytes, KinArtifactHeader header,
                   const std::vector<KinArtifactSection> &table) {
  auto tableBytes = std::as_bytes(std::span(table));
  auto headerBytes = std::as_bytes(std::span(&header, 1));
  Digest digest = Blake3().update(headerBytes.first(32)).update(tableBytes).finish();
  std::memcpy(header.digest, digest.bytes.data(), 32);
  std::ranges::copy(tableBytes, bytes.data() + headerOf(bytes).table_offset);
  std::memcpy(bytes.data(), &header, sizeof(header));
}

} // namespace kintsugi::runtime

#endif // KINTSUGI_TEST_RUNTIME_RESEALED_H
