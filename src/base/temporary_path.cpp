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

namespace {
/// A process that is a copy of the owner has the table, too, and must leave the files alone.
struct Slot {
  std::atomic<char *> path = nullptr; ///< Whoever takes it out owns the memory.
  std::atomic<pid_t> owner = 0;
};
} // namespace

static std::array<Slot, 64> table;
static_assert(std::atomic<char *>::is_always_lock_free);

static int enter(const std::string &path) {
  char *copy = ::strdup(path.c_str());
  for (size_t slot = 0; copy && slot < table.size(); ++slot)
    if (char *empty = nullptr; table[slot].path.compare_exchange_strong(empty, copy)) {
      table[slot].owner = ::getpid();
      return static_cast<int>(slot);
    }
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
    std::free(table[slot].path.exchange(nullptr));
  slot = -1;
  path.clear();
}

void kintsugi::removeTemporaries() {
  for (Slot &slot : table)
    if (const char *path = slot.owner == ::getpid() ? slot.path.exchange(nullptr) : nullptr)
      ::unlink(path);
}
