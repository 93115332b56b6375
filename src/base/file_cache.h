//===- file_cache.h - A folder of results that can be made again ----------===//
//
// Compiled kernels, measurements' binaries and prepared constants are kept under a digest of all
// that determines them. The cache is never trusted: each entry carries a digest of its key and
// bytes, checked on every read, and an entry that fails it is dropped as if it had never been
// there. Any number of threads and processes may read, write, collect and clear at once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_FILE_CACHE_H
#define KINTSUGI_BASE_FILE_CACHE_H

#include "base/files.h"
#include "base/hash.h"
#include "base/status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kintsugi {

class FileCache {
public:
  /// An entry's bytes, verified; they stay readable whatever becomes of the entry.
  class Entry {
  public:
    /// Aligned to 64 bytes.
    std::span<const std::byte> bytes() const;

  private:
    friend class FileCache;
    explicit Entry(MappedFile file) : file(std::move(file)) {}
    MappedFile file;
  };

  struct Listed {
    Digest key;
    uint64_t bytes = 0;   ///< On disk.
    int64_t lastUsed = 0; ///< Nanoseconds since 1970, when it was last put or found.
  };

  /// What gc() or clear() took away.
  struct Removed {
    uint64_t entries = 0;
    uint64_t bytes = 0;
  };

  /// $KINTSUGI_CACHE, or $XDG_CACHE_HOME/kintsugi, or ~/.cache/kintsugi; a usage error where the
  /// environment names none of them.
  static Expected<std::string> defaultFolder();

  /// Makes the folder and its parents where they are missing.
  static Expected<FileCache> open(std::string folder);

  const std::string &folder() const { return root; }

  /// Stores bytes under a key, in place of what may be there. It shows up whole or not at all.
  Status put(const Digest &key, std::span<const std::byte> bytes) const;

  /// The entry, or nothing where there is none or it was damaged (then it is gone now).
  Expected<std::optional<Entry>> get(const Digest &key) const;

  /// For files that carry digests of their own, which their readers check: where the one of a key
  /// belongs. Makes its folder; whoever writes it there does so whole or not at all.
  Expected<std::string> placeFor(const Digest &key) const;

  /// The path of such a file where it is there, which counts as using it.
  std::optional<std::string> find(const Digest &key) const;

  /// Every entry, the one used longest ago first. Their digests are not checked.
  Expected<std::vector<Listed>> list() const;

  /// Removes the entries used longest ago until at most `maxBytes` are left, and temporary files
  /// whose writers are gone.
  Expected<Removed> gc(uint64_t maxBytes) const;

  /// Removes every entry, and nothing that is not one.
  Expected<Removed> clear() const { return gc(0); }

private:
  explicit FileCache(std::string folder) : root(std::move(folder)) {}

  std::string pathOf(const Digest &key) const;

  std::string root;
};

} // namespace kintsugi

#endif // KINTSUGI_BASE_FILE_CACHE_H
