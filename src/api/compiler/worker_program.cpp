#include "api/compiler/worker_program.h"

#include <atomic>
#include <filesystem>
#include <link.h>
#include <unistd.h>

namespace kintsugi::api {

namespace fs = std::filesystem;

static std::atomic<int (*)()> ownServe = nullptr;

void useThisProgramAsWorker(int (*serve)()) { ownServe = serve; }

/// The file that holds this code: a program, or a library that it has loaded.
static std::string fileOfThisCode() {
  std::string file = "/proc/self/exe";
  auto visit = [](dl_phdr_info *object, size_t, void *result) {
    auto address = reinterpret_cast<uintptr_t>(&fileOfThisCode);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr) &part = object->dlpi_phdr[i];
      uintptr_t start = object->dlpi_addr + part.p_vaddr;
      if (part.p_type != PT_LOAD || address < start || address >= start + part.p_memsz)
        continue;
      if (object->dlpi_name && *object->dlpi_name)
        *static_cast<std::string *>(result) = object->dlpi_name;
      return 1;
    }
    return 0;
  };
  ::dl_iterate_phdr(visit, &file);
  return file;
}

Expected<std::string> workerProgram() {
  if (ownServe.load())
    return std::string("/proc/self/exe"); // Right also where the file has been replaced.
  std::error_code error;
  fs::path folder = fs::canonical(fileOfThisCode(), error).parent_path();
  for (const fs::path &place : {folder / "kintsugi", folder.parent_path() / "bin/kintsugi"})
    if (fs::is_regular_file(place, error) && ::access(place.c_str(), X_OK) == 0)
      return place.string();
  return machineError(folder.string() + ": the program kintsugi, which compiles, is not there nor "
                                        "in ../bin; put it beside the library");
}

/// False where that is not known.
static bool hasOneThread() {
  std::error_code error;
  fs::directory_iterator threads("/proc/self/task", error);
  return !error && std::distance(fs::begin(threads), fs::end(threads)) == 1;
}

Expected<ChildProcess> startWorker(const FileDescriptor &channel) {
  if (int (*serve)() = ownServe; serve && hasOneThread())
    return ChildProcess::fork(serve, channel);
  KINTSUGI_ASSIGN(std::string program, workerProgram());
  return ChildProcess::start({program, workerArgument}, channel);
}

} // namespace kintsugi::api
