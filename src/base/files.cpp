//===- files.cpp - Reading and writing files safely -----------------------===//

#include "base/files.h"
#include "base/abandoned_files.h"
#include "base/checked.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace kintsugi;

static std::string reason(int code) { return std::generic_category().message(code); }

/// A name, a place or a permission is for the user to mend; anything else is the machine's.
static bool isUsersToMend(int code) {
  switch (code) {
  case ENOENT:
  case ENOTDIR:
  case EISDIR:
  case EACCES:
  case EPERM:
  case EROFS:
  case ELOOP:
  case ENAMETOOLONG:
  case ENXIO:
    return true;
  default:
    return false;
  }
}

static Error readError(const std::string &path, int code) {
  std::string message = path + ": can't read: " + reason(code);
  return isUsersToMend(code) ? inputError(message) : machineError(message);
}

static Error writeError(const std::string &path, int code) {
  std::string message = path + ": can't write: " + reason(code);
  return isUsersToMend(code) ? usageError(message) : machineError(message);
}

FileDescriptor &FileDescriptor::operator=(FileDescriptor &&other) {
  if (this != &other) {
    close();
    fd = std::exchange(other.fd, -1);
  }
  return *this;
}

void FileDescriptor::close() {
  if (fd >= 0)
    ::close(fd);
  fd = -1;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

MappedFile &MappedFile::operator=(MappedFile &&other) {
  std::swap(mapped, other.mapped);
  return *this;
}

MappedFile::~MappedFile() {
  if (!mapped.empty())
    ::munmap(const_cast<std::byte *>(mapped.data()), mapped.size());
}

void MappedFile::evict(std::span<const std::byte> part) const {
  auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto begin = reinterpret_cast<uintptr_t>(part.data()) / page * page;
  auto end = reinterpret_cast<uintptr_t>(part.data() + part.size());
  ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED); // A hint.
}

/// The size of an open regular file.
static Expected<uint64_t> regularSize(int fd, const std::string &path) {
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return readError(path, errno);
  if (!S_ISREG(info.st_mode))
    return inputError(path + ": not a regular file");
  return static_cast<uint64_t>(info.st_size);
}

/// O_NONBLOCK, so that a pipe is refused instead of waited for.
static constexpr int readFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Expected<MappedFile> MappedFile::map(const FileDescriptor &file, const std::string &name) {
  KINTSUGI_ASSIGN(uint64_t size, regularSize(file.get(), name));
  MappedFile result;
  if (size == 0)
    return result;
  void *memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED)
    return machineError(name + ": can't map: " + reason(errno));
  result.mapped = {static_cast<const std::byte *>(memory), size};
  return result;
}

Expected<MappedFile> MappedFile::open(const std::string &path) {
  FileDescriptor file(::open(path.c_str(), readFlags));
  if (!file.valid())
    return readError(path, errno);
  return map(file, path);
}

Expected<std::string> kintsugi::readTextFile(const std::string &path, uint64_t maxBytes) {
  FileDescriptor file(::open(path.c_str(), readFlags));
  if (!file.valid())
    return readError(path, errno);
  KINTSUGI_ASSIGN(uint64_t size, regularSize(file.get(), path));
  std::string text;
  // To the end of the file whatever size it claims: those under /proc and /sys say 0.
  while (size <= maxBytes && text.size() <= maxBytes) {
    size_t filled = text.size(), room = (filled < size ? size - filled : 0) + 4096;
    text.resize(filled + room);
    ssize_t count = ::read(file.get(), text.data() + filled, room);
    int code = errno;
    text.resize(filled + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0)
      return text;
    if (count < 0 && code != EINTR)
      return readError(path, code);
  }
  return inputError(path + ": larger than the limit of " + std::to_string(maxBytes) + " bytes");
}

Expected<FileDescriptor> kintsugi::openBeneath(const std::string &folder,
                                               std::string_view relativePath) {
  std::string shown = "\"" + std::string(relativePath) + "\" in " + folder;
  if (relativePath.empty() || relativePath.front() == '/' ||
      relativePath.find('\0') != relativePath.npos)
    return inputError(shown + ": not a relative path of a file");
  FileDescriptor place(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place.valid())
    return readError(folder, errno);
  // Component by component and never through a link or "..": what is opened lies below the folder
  // even while others move things about.
  while (!relativePath.empty()) {
    size_t slash = relativePath.find('/');
    std::string component(relativePath.substr(0, slash));
    relativePath.remove_prefix(slash == relativePath.npos ? relativePath.size() : slash + 1);
    if (component == "..")
      return inputError(shown + ": leaves the folder by \"..\"; put the file beneath the folder");
    if (component.empty() || component == ".")
      continue;
    bool last = relativePath.empty();
    FileDescriptor next(::openat(place.get(), component.c_str(),
                                 readFlags | O_NOFOLLOW | (last ? 0 : O_DIRECTORY)));
    if (!next.valid()) {
      // With O_DIRECTORY, a link is reported as ENOTDIR.
      struct stat info;
      int code = errno;
      bool link = ::fstatat(place.get(), component.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                  S_ISLNK(info.st_mode);
      if (link)
        return inputError(shown + ": \"" + component +
                          "\" is a symbolic link; put the file itself there");
      return readError(shown, code);
    }
    place = std::move(next);
  }
  KINTSUGI_RETURN_IF_ERROR(regularSize(place.get(), shown));
  struct stat info;
  if (::fstat(place.get(), &info) != 0)
    return readError(shown, errno);
  // Nothing tells where its other names are: an unpacked archive can link to whatever its owner may
  // read. Where a package store links files on purpose, a copy does.
  if (info.st_nlink > 1)
    return inputError(shown + ": the file has another name (a hard link), which may lie outside of "
                              "the folder; put a copy in its place");
  return place;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static constexpr std::string_view temporaryPrefix = ".kintsugi-";
static constexpr std::string_view temporarySuffix = ".tmp";

bool kintsugi::isTemporaryName(std::string_view name) {
  return name.starts_with(temporaryPrefix) && name.ends_with(temporarySuffix);
}

/// The folder of a path with its slash: "" for "file".
static std::string folderOf(const std::string &path) { return path.substr(0, path.rfind('/') + 1); }

/// Where a symbolic link leads; the path itself where it is none, or leads nowhere.
static std::string resolveLink(const std::string &path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode))
    return path;
  std::unique_ptr<char, decltype(&std::free)> target(::realpath(path.c_str(), nullptr), &std::free);
  return target ? std::string(target.get()) : path;
}

/// Locks a new file, for abandoned_files.h; false where somebody took it for abandoned before. A
/// file system without locks has nobody who takes it for that.
static bool isKeptFromOthers(const FileDescriptor &file) {
  struct stat info;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return errno != EWOULDBLOCK;
  return ::fstat(file.get(), &info) == 0 && info.st_nlink > 0;
}

Expected<AtomicFile> AtomicFile::create(const std::string &path) {
  std::string target = resolveLink(path);
  struct stat info;
  if (::stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return usageError(path + ": can't write: not a regular file");
  removeAbandonedFiles(folderOf(target));
  static std::atomic<uint64_t> counter = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    uint64_t random = 0;
    if (::getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
      random = static_cast<uint64_t>(::getpid()) << 32 ^ counter++;
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(random));
    std::string name = folderOf(target);
    name.append(temporaryPrefix).append(digits).append(temporarySuffix);
    FileDescriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file.valid() && errno != EEXIST)
      return writeError(path, errno);
    if (file.valid() && isKeptFromOthers(file))
      return AtomicFile(std::move(file), std::move(target), TemporaryPath(std::move(name)));
  }
  return writeError(path, EEXIST);
}

Status AtomicFile::writeAt(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return writeError(path, count < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return Status::success();
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  KINTSUGI_RETURN_IF_ERROR(writeAt(written, bytes));
  written += bytes.size();
  return Status::success();
}

Status AtomicFile::write(std::string_view text) {
  return write(std::as_bytes(std::span(text.data(), text.size())));
}

Status AtomicFile::rewrite(uint64_t offset, std::span<const std::byte> bytes) {
  assert(inRange(offset, bytes.size(), written));
  return writeAt(offset, bytes);
}

Status AtomicFile::commit(bool durable) {
  if (durable && ::fsync(file.get()) != 0)
    return writeError(path, errno);
  if (::rename(temporary.str().c_str(), path.c_str()) != 0)
    return writeError(path, errno);
  temporary.keep();
  file.close();
  if (durable) {
    // The name too. Some file systems can't flush a folder; the file itself is safe by now.
    std::string folder = folderOf(path);
    FileDescriptor place(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (place.valid())
      ::fsync(place.get());
  }
  return Status::success();
}

Status kintsugi::writeFileAtomic(const std::string &path, std::span<const std::byte> bytes) {
  KINTSUGI_ASSIGN(AtomicFile file, AtomicFile::create(path));
  KINTSUGI_RETURN_IF_ERROR(file.write(bytes));
  return file.commit();
}

Status kintsugi::writeFileAtomic(const std::string &path, std::string_view text) {
  return writeFileAtomic(path, std::as_bytes(std::span(text.data(), text.size())));
}
