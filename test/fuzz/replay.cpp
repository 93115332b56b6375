//===- replay.cpp - Runs files through a fuzz target ---------------------------===//
//
// usage: fuzz_TARGET_replay FILE-OR-FOLDER ...
//
// Each file has a few seconds; the name of the one that crashes or hangs is the last that was
// printed.
//
//===----------------------------------------------------------------------===//

#include "fuzz.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>
#include <vector>

namespace {

constexpr unsigned secondsEach = 10;

std::vector<std::filesystem::path> filesOf(const std::filesystem::path &path) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(path))
    return {path};
  for (const auto &entry : std::filesystem::directory_iterator(path))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

int main(int argc, char **argv) {
  unsigned count = 0;
  for (int k = 1; k < argc; ++k) {
    for (const std::filesystem::path &path : filesOf(argv[k])) {
      std::ifstream stream(path, std::ios::binary);
      std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
      std::printf("%s\n", path.c_str());
      std::fflush(stdout);
      alarm(secondsEach);
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
      alarm(0);
      ++count;
    }
  }
  if (count == 0)
    std::fprintf(stderr, "replay: there are no files\n");
  return count == 0 ? 1 : 0;
}
