//===- temporary_path.h - Files that must not stay behind -----------------===//
//
// A file that is being written goes when its writer goes, and also when a signal ends the process:
// the paths stand in a table that a signal handler can read.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_TEMPORARY_PATH_H
#define KINTSUGI_BASE_TEMPORARY_PATH_H

#include "base/status.h"

#include <string>

namespace kintsugi {

/// Owns a file by its path, which may not exist yet; removes it at the end unless it is kept.
class TemporaryPath {
public:
  TemporaryPath() = default;
  explicit TemporaryPath(std::string path);
  /// Of an empty file that nobody else may read, in $TMPDIR or /tmp. A machine error where it can't
  /// be made.
  static Expected<TemporaryPath> ofNewFile();
  TemporaryPath(TemporaryPath &&other);
  TemporaryPath &operator=(TemporaryPath &&) = delete;
  ~TemporaryPath();

  /// Empty where there is none to remove.
  const std::string &str() const { return path; }

  /// The file stays, or has another name by now.
  void keep();

private:
  std::string path;
  int slot = -1; ///< In the table; -1 where that is full.
};

/// Removes every file that a TemporaryPath owns at the moment. Safe in a signal handler that ends
/// the process: it takes no lock and no memory.
void removeTemporaries();

} // namespace kintsugi

#endif // KINTSUGI_BASE_TEMPORARY_PATH_H
