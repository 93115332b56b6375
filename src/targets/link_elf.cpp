//===- link_elf.cpp - From objects to a shared object ---------------------===//

#include "targets/link_elf.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace kintsugi::targets {

namespace {

/// A file in memory: lld reads and writes paths, and nothing may stay behind on disk.
class MemoryFile {
public:
  explicit MemoryFile(const char *name) : descriptor(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor >= 0)
      close(descriptor);
  }
  MemoryFile(MemoryFile &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  MemoryFile &operator=(MemoryFile &&) = delete;

  bool valid() const { return descriptor >= 0; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

  bool write(const std::string &bytes) const {
    for (size_t done = 0; done < bytes.size();) {
      ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno != EINTR)
        return false;
      done += std::max<ssize_t>(count, 0);
    }
    return true;
  }

  bool read(std::vector<std::byte> &bytes) const {
    struct stat status;
    if (fstat(descriptor, &status) != 0)
      return false;
    bytes.resize(status.st_size);
    for (size_t done = 0; done < bytes.size();) {
      ssize_t count = pread(descriptor, bytes.data() + done, bytes.size() - done, done);
      if (count == 0 || (count < 0 && errno != EINTR))
        return false;
      done += std::max<ssize_t>(count, 0);
    }
    return true;
  }

private:
  int descriptor;
};

Error outOfMemory() {
  return machineError(std::string("linking a code object: ") + std::strerror(errno));
}

} // namespace

Expected<std::vector<std::byte>> linkElf(const std::vector<std::string> &objects) {
  MemoryFile output("kintsugi-linked");
  if (!output.valid())
    return outOfMemory();
  std::vector<MemoryFile> inputs;
  std::vector<std::string> words = {"ld.lld",          "-shared",        "--no-undefined",
                                    "-Bsymbolic",      "--build-id=none", "--strip-all",
                                    "--hash-style=gnu", "-znow",           "--threads=1",
                                    "--no-mmap-output-file", "-o",         output.path()};
  for (const std::string &object : objects) {
    inputs.emplace_back("kintsugi-object");
    if (!inputs.back().valid() || !inputs.back().write(object))
      return outOfMemory();
    words.push_back(inputs.back().path());
  }
  std::vector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());

  static std::mutex turn; // lld keeps its state in globals.
  std::lock_guard<std::mutex> lock(turn);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result =
      lld::lldMain(arguments, llvm::nulls(), stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return internalError("linking a code object failed: " + messages);
  std::vector<std::byte> bytes;
  if (!output.read(bytes) || bytes.empty())
    return outOfMemory();
  return bytes;
}

} // namespace kintsugi::targets
