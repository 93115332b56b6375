//===- link_elf.cpp - From objects to a shared object ---------------------===//

#include "targets/link_elf.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace kintsugi::targets {

namespace {

Error machineFailed() {
  return machineError(std::string("linking a code object: ") + std::strerror(errno));
}

/// An open file that is reached by a path: lld reads and writes paths only, and nothing may stay
/// behind on disk.
class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&) = delete;

  bool valid() const { return number >= 0; }
  int get() const { return number; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(number); }
  void reset() {
    if (valid())
      close(std::exchange(number, -1));
  }

private:
  int number;
};

bool writeAll(int file, const std::string &bytes) {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = write(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR)
      return false;
    done += std::max<ssize_t>(count, 0);
  }
  return true;
}

/// Until the last writer closes.
void readAll(int file, std::vector<std::byte> &bytes) {
  std::array<std::byte, 1 << 16> part;
  for (;;) {
    ssize_t count = read(file, part.data(), part.size());
    if (count == 0 || (count < 0 && errno != EINTR))
      return;
    bytes.insert(bytes.end(), part.data(), part.data() + std::max<ssize_t>(count, 0));
  }
}

/// Runs lld, which writes to a pipe: it would rename a temporary file over a regular one.
Expected<std::vector<std::byte>> runLinker(std::vector<std::string> words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return machineFailed();
  Descriptor readEnd(ends[0]), writeEnd(ends[1]);
  words.insert(words.end(), {"-o", writeEnd.path()});
  std::vector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());

  std::vector<std::byte> bytes;
  std::thread reader([&] { readAll(readEnd.get(), bytes); });
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result =
      lld::lldMain(arguments, llvm::nulls(), stream, {{lld::Gnu, &lld::elf::link}});
  writeEnd.reset();
  reader.join();
  if (result.retCode != 0 || bytes.empty())
    return internalError("linking a code object failed: " + messages);
  return bytes;
}

} // namespace

Expected<std::vector<std::byte>> linkElf(const std::vector<std::string> &objects) {
  std::vector<Descriptor> inputs;
  std::vector<std::string> words = {"ld.lld",           "-shared",     "--no-undefined",
                                    "-Bsymbolic",       "-znow",       "--build-id=none",
                                    "--hash-style=gnu", "--strip-all", "--threads=1"};
  for (const std::string &object : objects) {
    inputs.emplace_back(memfd_create("kintsugi-object", MFD_CLOEXEC));
    if (!inputs.back().valid() || !writeAll(inputs.back().get(), object))
      return machineFailed();
    words.push_back(inputs.back().path());
  }
  static std::mutex turn; // lld keeps its state in globals.
  std::lock_guard<std::mutex> lock(turn);
  return runLinker(std::move(words));
}

} // namespace kintsugi::targets
