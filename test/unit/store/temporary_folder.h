//===- temporary_folder.h - A folder that is gone after the test ------------===//
#ifndef KINTSUGI_TEST_STORE_TEMPORARY_FOLDER_H
#define KINTSUGI_TEST_STORE_TEMPORARY_FOLDER_H

#include "base/hash.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace kintsugi::store {

class TemporaryFolder {
public:
  TemporaryFolder() : path(::testing::TempDir() + "kintsugi-store-XXXXXX") {
    if (!mkdtemp(path.data()))
      std::abort();
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string file(const std::string &name) const { return path + "/" + name; }

private:
  std::string path;
};

inline Hash128 hashFor(uint64_t number) { return Hasher("store test").add(number).finish(); }

inline Measurement timeFor(uint64_t number, double seconds) {
  return {hashFor(number), "- 16 -", seconds, 2 * seconds, 7};
}

} // namespace kintsugi::store

#endif // KINTSUGI_TEST_STORE_TEMPORARY_FOLDER_H
