//===- mutants.cpp - Damaged files by the thousand ------------------------------===//
//
// usage: fuzz_TARGET_mutants [--seed N] [--count N] [--keep FOLDER] FILE-OR-FOLDER ...
//
// Hands damaged copies of the files to a fuzz target, without the instruments that libFuzzer wants:
// mutant K of seed N is the same on every machine. They run in a child process, one after the
// other; where it crashes, or takes more than ten seconds for one, that mutant is kept, and another
// child goes on behind it. Exits 1 where there was one.
//
//===----------------------------------------------------------------------===//

#include "fuzz.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr unsigned secondsEach = 10;
constexpr rlim_t mostMemory = rlim_t(8) << 30;
constexpr size_t mostBytes = 1 << 20;

using Random = std::mt19937_64;
using Seeds = std::vector<std::string>;

size_t below(Random &random, size_t count) { return count == 0 ? 0 : random() % count; }

/// Numbers at which readers go wrong, as text and as a varint of the wire format.
std::string oddNumber(Random &random) {
  static const char *const texts[] = {"0",     "-1",         "2147483648",          "4294967296",
                                      "65536", "1000000000", "9223372036854775807", "1e400"};
  if (random() % 2)
    return texts[below(random, std::size(texts))];
  std::string varint;
  for (uint64_t value = random() >> below(random, 64);; value >>= 7) {
    varint += static_cast<char>((value & 127) | (value > 127 ? 128 : 0));
    if (value <= 127)
      return varint;
  }
}

/// One damage of a kind that files suffer or hostile people think of.
void damage(std::string &bytes, const std::string &other, Random &random) {
  size_t at = below(random, bytes.size() + 1), from = below(random, bytes.size());
  size_t length = 1 + below(random, random() % 4 ? 16 : 400);
  switch (random() % 9) {
  case 0:
    if (at < bytes.size())
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    break;
  case 1:
    if (at < bytes.size())
      bytes[at] = static_cast<char>(random());
    break;
  case 2:
    bytes.insert(at, bytes.substr(std::min(from, bytes.size()), length));
    break;
  case 3:
    bytes.erase(std::min(at, bytes.size()), length);
    break;
  case 4:
    bytes.resize(at);
    break;
  case 5:
    length = random() % 6;
    bytes.replace(std::min(at, bytes.size()), length, oddNumber(random));
    break;
  case 6:
    bytes.replace(std::min(at, bytes.size()), length,
                  bytes.substr(std::min(from, bytes.size()), length));
    break;
  case 7:
    bytes.insert(at, other.substr(below(random, other.size()), length));
    break;
  default:
    bytes = bytes.substr(0, at) + other.substr(below(random, other.size()));
  }
  bytes.resize(std::min(bytes.size(), mostBytes));
}

std::string mutant(const Seeds &seeds, uint64_t seed, uint64_t number) {
  Random random(seed * 1000003 + number);
  std::string bytes = seeds[below(random, seeds.size())];
  const std::string &other = seeds[below(random, seeds.size())];
  for (size_t left = 1 + below(random, 4); left > 0; --left)
    damage(bytes, other, random);
  return bytes;
}

Seeds read(const std::vector<std::filesystem::path> &paths) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path &path : paths) {
    if (!std::filesystem::is_directory(path))
      files.push_back(path);
    else
      for (const auto &entry : std::filesystem::directory_iterator(path))
        files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Seeds seeds;
  for (const std::filesystem::path &file : files) {
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

struct Options {
  uint64_t seed = 1, count = 1000;
  std::filesystem::path keep = ".";
  std::vector<std::filesystem::path> paths;
};

/// Runs mutants from `*next` on, which says at any time which one is under way.
[[noreturn]] void beChild(const Seeds &seeds, const Options &options, uint64_t *next) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit none{0, 0}, memory{mostMemory, mostMemory};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_AS, &memory);
  for (; *next < options.count; ++*next) {
    std::string bytes = mutant(seeds, options.seed, *next);
    alarm(secondsEach);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  }
  _exit(0);
}

bool readOptions(int argc, char **argv, Options &options) {
  for (int k = 1; k < argc; ++k) {
    std::string word = argv[k];
    if (word.substr(0, 2) != "--") {
      options.paths.emplace_back(word);
      continue;
    }
    if (++k == argc)
      return false;
    if (word == "--seed")
      options.seed = std::strtoull(argv[k], nullptr, 10);
    else if (word == "--count")
      options.count = std::strtoull(argv[k], nullptr, 10);
    else if (word == "--keep")
      options.keep = argv[k];
    else
      return false;
  }
  return !options.paths.empty();
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!readOptions(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s [--seed N] [--count N] [--keep FOLDER] FILE-OR-FOLDER ...\n",
                 argv[0]);
    return 2;
  }
  Seeds seeds = read(options.paths);
  void *shared =
      mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (seeds.empty() || shared == MAP_FAILED) {
    std::fprintf(stderr, "mutants: %s\n", seeds.empty() ? "there are no files" : "no memory");
    return 2;
  }
  auto *next = static_cast<uint64_t *>(shared);
  unsigned found = 0;
  for (*next = 0; *next < options.count; ++*next) {
    pid_t child = fork();
    if (child == 0)
      beChild(seeds, options, next);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0)
      return 2;
    if (*next == options.count && WIFEXITED(status) && WEXITSTATUS(status) == 0)
      break;
    std::string name = "mutant-" + std::to_string(options.seed) + "-" + std::to_string(*next);
    std::ofstream(options.keep / name, std::ios::binary) << mutant(seeds, options.seed, *next);
    std::printf("%s: %s\n", name.c_str(),
                WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "ended by itself");
    ++found;
  }
  std::printf("%llu mutants of %zu files, %u of them broke it\n",
              static_cast<unsigned long long>(options.count), seeds.size(), found);
  return found == 0 ? 0 : 1;
}
