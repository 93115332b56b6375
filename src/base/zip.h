//===- zip.h - ZIP archives, as far as .npz files use them ----------------===//
//
// Stored and deflated members, ZIP64 (PKWARE APPNOTE 6.3.10). The reader trusts no number in the
// archive; the writer's bytes depend on nothing but its input (no clock, no user names).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_ZIP_H
#define KINTSUGI_BASE_ZIP_H

#include "base/byte_source.h"
#include "base/files.h"
#include "base/status.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi {

/// A member as the archive's directory describes it.
struct ZipMember {
  std::string name;
  uint16_t method = 0; ///< 0 stored, 8 deflated.
  uint32_t crc = 0;
  uint64_t packedSize = 0; ///< Checked to lie inside the archive.
  uint64_t size = 0;       ///< Checked to be at most what deflate can make of packedSize.
  uint64_t headerOffset = 0;
};

/// Reads the directory of an archive. An input error for anything malformed, encrypted members,
/// other methods, archives in several parts, and two members of one name.
Expected<std::vector<ZipMember>> readZipDirectory(std::span<const std::byte> archive);

/// Opens a member of that archive. What comes out is checked against its size and CRC at its end.
Expected<ByteSource> openZipMember(std::span<const std::byte> archive, const ZipMember &member);

enum class Compression : uint8_t { None, Deflate };

/// Writes an archive member by member, in order.
class ZipWriter {
public:
  static Expected<ZipWriter> create(const std::string &path, Compression compression);

  /// Adds a member whose bytes are `parts` one after the other.
  Status add(const std::string &name, std::span<const std::span<const std::byte>> parts);

  /// Writes the directory; the archive appears under its name.
  Status finish();

private:
  ZipWriter(AtomicFile file, Compression compression)
      : file(std::move(file)), compression(compression) {}

  AtomicFile file;
  Compression compression;
  std::vector<ZipMember> members;
  std::set<std::string> names;
};

} // namespace kintsugi

#endif // KINTSUGI_BASE_ZIP_H
