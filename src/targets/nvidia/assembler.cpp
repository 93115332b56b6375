#include "targets/nvidia/assembler.h"

#include "base/child_process.h"
#include "base/files.h"

#include <cstring>
#include <fstream>

namespace kintsugi::targets {

Expected<std::string> findAssembler() {
  const std::string usual = "/usr/local/cuda/bin";
  if (std::optional<std::string> path = findProgram("ptxas", {usual}))
    return std::move(*path);
  return machineError("there is no ptxas in PATH or " + usual +
                      "; install NVIDIA's toolkit for CUDA 12 or newer, or add the folder of its "
                      "ptxas to PATH");
}

static Expected<TemporaryPath> writeText(std::string_view text) {
  KINTSUGI_ASSIGN(TemporaryPath path, TemporaryPath::ofNewFile());
  std::ofstream file(path.str(), std::ios::binary);
  file << text;
  file.close();
  if (!file)
    return machineError(path.str() + ": can't be written");
  return path;
}

Expected<std::vector<std::byte>> assemble(const std::string &assembler, std::string_view text,
                                          const std::string &level) {
  // Models of hundreds of kernels take minutes.
  constexpr auto limit = std::chrono::minutes(60);
  KINTSUGI_ASSIGN(TemporaryPath source, writeText(text));
  KINTSUGI_ASSIGN(TemporaryPath result, TemporaryPath::ofNewFile());
  Status done = runProgram({assembler, "-arch=" + level, source.str(), "-o", result.str()}, limit);
  if (!done.ok())
    return machineError(done.error().message +
                        "; put the ptxas of CUDA 12 or newer first in PATH, or leave machine code "
                        "to the driver");
  KINTSUGI_ASSIGN(std::string code, readTextFile(result.str()));
  if (code.empty())
    return machineError(assembler + ": wrote no code for " + level);
  std::vector<std::byte> bytes(code.size());
  std::memcpy(bytes.data(), code.data(), code.size());
  return bytes;
}

} // namespace kintsugi::targets
