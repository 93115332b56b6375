//===- files.h - Reading and writing files safely -------------------------===//
//
// Files are mapped to be read, and written whole or not at all: a temporary file beside the target,
// flushed, then renamed over it, so that a crash or a full disk never leaves half an artifact. A
// file that a model names (external data) is opened beneath the model's folder only.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_FILES_H
#define KINTSUGI_BASE_FILES_H

#include "base/status.h"
#include "base/temporary_path.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace kintsugi {

/// Owns an open file descriptor.
class FileDescriptor {
public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd(fd) {}
  FileDescriptor(FileDescriptor &&other) : fd(std::exchange(other.fd, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other);
  ~FileDescriptor() { close(); }

  int get() const { return fd; }
  bool valid() const { return fd >= 0; }
  void close();

private:
  int fd = -1;
};

/// A regular file's bytes, mapped read-only. They must not be truncated by others while mapped:
/// reading past the new end raises SIGBUS, as with any mapping.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) : mapped(std::exchange(other.mapped, {})) {}
  MappedFile &operator=(MappedFile &&other);
  ~MappedFile();

  /// An input error where `path` can't be read or is not a regular file.
  static Expected<MappedFile> open(const std::string &path);

  /// Maps what is open already; `name` is for messages.
  static Expected<MappedFile> map(const FileDescriptor &file, const std::string &name);

  /// Lets go of the physical memory under a part of the bytes, which comes back, from the file,
  /// where somebody reads them again.
  void evict(std::span<const std::byte> part) const;

  std::span<const std::byte> bytes() const { return mapped; }
  std::string_view text() const {
    return {reinterpret_cast<const char *>(mapped.data()), mapped.size()};
  }

private:
  std::span<const std::byte> mapped;
};

/// The whole of a regular file, at most `maxBytes` of it; an input error where it is larger.
Expected<std::string> readTextFile(const std::string &path, uint64_t maxBytes = uint64_t(1) << 30);

/// Opens a regular file at a path relative to `folder` that a document names, to read. An input
/// error for an absolute path, one with "..", a symbolic link anywhere below `folder`, a file that
/// has other names (hard links), or anything but a regular file. Never blocks on a pipe.
Expected<FileDescriptor> openBeneath(const std::string &folder, std::string_view relativePath);

/// A file that appears under its name only when it is complete.
class AtomicFile {
public:
  /// Creates a temporary file in the folder of `path`. Where `path` is a symbolic link, the file it
  /// points to will be replaced. A usage error where the folder is missing or not writable, or
  /// `path` is something else than a regular file.
  static Expected<AtomicFile> create(const std::string &path);

  AtomicFile(AtomicFile &&other) = default;
  AtomicFile &operator=(AtomicFile &&) = delete;

  /// Appends.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);

  /// Overwrites bytes that were written before.
  Status rewrite(uint64_t offset, std::span<const std::byte> bytes);

  /// Bytes written so far.
  uint64_t size() const { return written; }

  /// Flushes (to the disk where `durable`) and renames. The object must not be written to after.
  Status commit(bool durable = true);

private:
  AtomicFile(FileDescriptor file, std::string path, TemporaryPath temporary)
      : file(std::move(file)), path(std::move(path)), temporary(std::move(temporary)) {}

  Status writeAt(uint64_t offset, std::span<const std::byte> bytes);

  FileDescriptor file;
  std::string path;
  TemporaryPath temporary; ///< Removed where commit() is not reached.
  uint64_t written = 0;
};

/// Whether a file name is one that AtomicFile gives to temporary files.
bool isTemporaryName(std::string_view name);

Status writeFileAtomic(const std::string &path, std::span<const std::byte> bytes);
Status writeFileAtomic(const std::string &path, std::string_view text);

} // namespace kintsugi

#endif // KINTSUGI_BASE_FILES_H
