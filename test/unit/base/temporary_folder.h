//===- temporary_folder.h - A folder that goes with its test --------------===//
//
// Tests of files need a place of their own.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_UNIT_BASE_TEMPORARY_FOLDER_H
#define KINTSUGI_TEST_UNIT_BASE_TEMPORARY_FOLDER_H

#include <cstdlib>
#include <filesystem>
#include <string>

namespace kintsugi {

class TemporaryFolder {
public:
  TemporaryFolder() {
    path = (std::filesystem::temp_directory_path() / "kintsugi-test-XXXXXX").string();
    if (!::mkdtemp(path.data()))
      std::abort();
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::string operator/(const std::string &name) const { return path + "/" + name; }
  const std::string &str() const { return path; }

  /// Files and folders in it, temporary ones included.
  size_t size() const {
    std::filesystem::directory_iterator begin(path), end;
    return static_cast<size_t>(std::distance(begin, end));
  }

private:
  std::string path;
};

} // namespace kintsugi

#endif // KINTSUGI_TEST_UNIT_BASE_TEMPORARY_FOLDER_H
