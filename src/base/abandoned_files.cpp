#include "base/abandoned_files.h"

#include "base/files.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

using namespace kintsugi;
namespace fs = std::filesystem;

/// Under the lock, so that nobody has just made it.
static void removeIfAbandoned(const std::string &path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.valid() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
    ::unlink(path.c_str());
}

void kintsugi::removeAbandonedFiles(const std::string &folder) {
  std::error_code error;
  fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
  for (; !error && entry != end; entry.increment(error))
    if (isTemporaryName(entry->path().filename().string()))
      removeIfAbandoned(entry->path().string());
}
