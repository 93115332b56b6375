//===- file_cache.cpp - A folder of results that can be made again --------===//
//
// <folder>/<2 digits>/<62 digits of the key>; the 256 folders are never removed, so that a writer
// never loses the one it is about to rename into.
//
//===----------------------------------------------------------------------===//

#include "base/file_cache.h"
#include "base/abandoned_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace kintsugi;
namespace fs = std::filesystem;

namespace {
/// Precedes an entry's bytes. Little-endian.
struct Header {
  std::array<char, 8> magic{'K', 'I', 'N', 'C', 'A', 'C', 'H', '1'};
  uint64_t size = 0; ///< Of the bytes that follow.
  std::array<uint8_t, 32> digest{};
  std::array<uint8_t, 16> padding{};
};
static_assert(sizeof(Header) == 64);
} // namespace

/// Over the key too, so that an entry moved to another name is not taken for that one.
static Digest digestOf(const Digest &key, std::span<const std::byte> bytes) {
  return Blake3().update(std::as_bytes(std::span(key.bytes))).update(bytes).finish();
}

static bool isIntact(const Digest &key, std::span<const std::byte> file) {
  Header header, expected;
  if (file.size() < sizeof(Header))
    return false;
  std::memcpy(&header, file.data(), sizeof(Header));
  std::span<const std::byte> bytes = file.subspan(sizeof(Header));
  return header.magic == expected.magic && header.padding == expected.padding &&
         header.size == bytes.size() && header.digest == digestOf(key, bytes).bytes;
}

std::span<const std::byte> FileCache::Entry::bytes() const {
  return file.bytes().subspan(sizeof(Header));
}

Expected<std::string> FileCache::defaultFolder() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string folder = variable("KINTSUGI_CACHE"); !folder.empty())
    return folder;
  // The XDG specification has relative paths ignored.
  if (std::string folder = variable("XDG_CACHE_HOME"); folder.starts_with('/'))
    return folder + "/kintsugi";
  if (std::string home = variable("HOME"); !home.empty())
    return home + "/.cache/kintsugi";
  return usageError("no folder for the cache: set KINTSUGI_CACHE, XDG_CACHE_HOME or HOME");
}

Expected<FileCache> FileCache::open(std::string folder) {
  if (folder.empty())
    return usageError("the cache's folder has an empty name");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return machineError(folder + ": can't make the cache's folder: " + error.message() +
                        "; set KINTSUGI_CACHE to one that can be written");
  return FileCache(std::move(folder));
}

std::string FileCache::pathOf(const Digest &key) const {
  std::string hex = key.hex();
  return root + "/" + hex.substr(0, 2) + "/" + hex.substr(2);
}

Expected<std::string> FileCache::placeFor(const Digest &key) const {
  std::string path = pathOf(key);
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error)
    return machineError(path + ": can't make its folder: " + error.message());
  return path;
}

std::optional<std::string> FileCache::find(const Digest &key) const {
  std::string path = pathOf(key);
  if (::access(path.c_str(), R_OK) != 0)
    return std::nullopt;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return path;
}

Status FileCache::put(const Digest &key, std::span<const std::byte> bytes) const {
  KINTSUGI_ASSIGN(std::string path, placeFor(key));
  Header header;
  header.size = bytes.size();
  header.digest = digestOf(key, bytes).bytes;
  KINTSUGI_ASSIGN(AtomicFile file, AtomicFile::create(path));
  KINTSUGI_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(&header, 1))));
  KINTSUGI_RETURN_IF_ERROR(file.write(bytes));
  // What a crash may tear is found by its digest: no need to wait for the disk.
  return file.commit(/*durable=*/false);
}

Expected<std::optional<FileCache::Entry>> FileCache::get(const Digest &key) const {
  std::string path = pathOf(key);
  if (::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
    return std::optional<Entry>();
  Expected<MappedFile> file = MappedFile::open(path);
  // Removed since, damaged, or no regular file: as good as not there.
  if (!file.ok() && file.error().kind == ErrorKind::Machine)
    return file.takeError();
  if (!file.ok() || !isIntact(key, file->bytes())) {
    ::unlink(path.c_str());
    return std::optional<Entry>();
  }
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // Last used now; a read-only cache stays as is.
  return std::optional(Entry(std::move(*file)));
}

namespace {
/// A file below the cache's folder.
struct Found {
  FileCache::Listed entry;
  fs::path path;
};
} // namespace

static int64_t modified(const struct stat &info) {
  return int64_t(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

/// Sorts the cache's files into entries and those that are too short to be any. Files that vanish
/// meanwhile are passed over.
static Status scan(const std::string &root, std::vector<Found> &entries,
                   std::vector<fs::path> &leftovers) {
  std::error_code error;
  fs::directory_iterator folders(root, error), end;
  if (error)
    return machineError(root + ": can't list the cache: " + error.message());
  for (; !error && folders != end; folders.increment(error)) {
    std::string prefix = folders->path().filename();
    std::error_code ignored;
    fs::directory_iterator files(folders->path(), ignored);
    for (; prefix.size() == 2 && !ignored && files != end; files.increment(ignored)) {
      std::string name = files->path().filename();
      struct stat info;
      if (::lstat(files->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode))
        continue;
      std::optional<Digest> key = Digest::parse(prefix + name);
      bool torn = key && uint64_t(info.st_size) < sizeof(Header);
      if (key && !torn)
        entries.push_back({{*key, uint64_t(info.st_size), modified(info)}, files->path()});
      else if (torn)
        leftovers.push_back(files->path());
    }
  }
  if (error)
    return machineError(root + ": can't list the cache: " + error.message());
  std::sort(entries.begin(), entries.end(), [](const Found &a, const Found &b) {
    return std::pair(a.entry.lastUsed, a.entry.key) < std::pair(b.entry.lastUsed, b.entry.key);
  });
  return Status::success();
}

Expected<std::vector<FileCache::Listed>> FileCache::list() const {
  std::vector<Found> found;
  std::vector<fs::path> leftovers;
  KINTSUGI_RETURN_IF_ERROR(scan(root, found, leftovers));
  std::vector<Listed> entries;
  for (const Found &file : found)
    entries.push_back(file.entry);
  return entries;
}

Expected<FileCache::Removed> FileCache::gc(uint64_t maxBytes) const {
  std::vector<Found> found;
  std::vector<fs::path> leftovers;
  KINTSUGI_RETURN_IF_ERROR(scan(root, found, leftovers));
  for (const fs::path &path : leftovers)
    ::unlink(path.c_str());
  std::error_code error;
  for (fs::directory_iterator folders(root, error), end; !error && folders != end;
       folders.increment(error))
    if (folders->path().filename().native().size() == 2)
      removeAbandonedFiles(folders->path());
  uint64_t kept = 0;
  for (const Found &file : found)
    kept += file.entry.bytes;
  Removed removed;
  for (const Found &file : found) {
    if (kept <= maxBytes)
      break;
    if (::unlink(file.path.c_str()) == 0) {
      ++removed.entries;
      removed.bytes += file.entry.bytes;
    } else if (errno != ENOENT) {
      return machineError(file.path.string() + ": can't remove: " + std::strerror(errno));
    }
    kept -= file.entry.bytes;
  }
  return removed;
}
