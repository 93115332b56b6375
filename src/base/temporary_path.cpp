//===- temporary_path.cpp - Files that must not stay behind ---------------===//

#include "base/temporary_path.h"

#include "base/files.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

using namespace kintsugi;

/// Whoever takes a path out of its slot owns the memory.
static std::array<std::atomic<char *>, 64> table;
static_assert(std::atomic<char *>::is_always_lock_free);

static int enter(const std::string &path) {
  char *copy = ::strdup(path.c_str());
  for (size_t slot = 0; copy && slot < table.size(); ++slot)
    if (char *empty = nullptr; table[slot].compare_exchange_strong(empty, copy))
      return static_cast<int>(slot);
  std::free(copy);
  return -1;
}

TemporaryPath::TemporaryPath(std::string path) : path(std::move(path)), slot(enter(this->path)) {}

Expected<TemporaryPath> TemporaryPath::ofNewFile() {
  const char *folder = std::getenv("TMPDIR");
  std::string name = std::string(folder && *folder ? folder : "/tmp") + "/kintsugi-XXXXXX";
  FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.valid())
    return machineError(name + ": can't make a temporary file: " + std::strerror(errno));
  return TemporaryPath(std::move(name));
}

TemporaryPath::TemporaryPath(TemporaryPath &&other)
    : path(std::exchange(other.path, {})), slot(std::exchange(other.slot, -1)) {}

TemporaryPath::~TemporaryPath() {
  if (!path.empty())
    ::unlink(path.c_str());
  keep();
}

void TemporaryPath::keep() {
  if (slot >= 0)
    std::free(table[slot].exchange(nullptr));
  slot = -1;
  path.clear();
}

void kintsugi::removeTemporaries() {
  for (std::atomic<char *> &slot : table)
    if (const char *path = slot.exchange(nullptr))
      ::unlink(path);
}
