// Models on their whole way: what is imported is compiled for a processor into an artifact, if it
// is small, and that artifact can be opened.

#include "devices/cpu/cpu_device.h"
#include "fuzz.h"
#include "pipeline/pipeline.h"
#include "runtime/artifact.h"

using namespace kintsugi;

namespace {

constexpr int64_t mostElements = 1 << 20;
constexpr size_t mostNodes = 60;

bool isSmall(const te::Program &program) {
  int64_t total = 0;
  for (const te::Value &value : program.values) {
    int64_t count = 1;
    for (te::Extent extent : value.shape)
      if (__builtin_mul_overflow(count, extent.constant(), &count) || count > mostElements)
        return false;
    total += count;
  }
  return total <= mostElements && program.nodes.size() <= mostNodes;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Diagnostics diagnostics;
  import::ImportOptions import;
  import.randomWeights = true;
  import::Bytes bytes{nullptr, fuzz::bytesOf(data, size)};
  auto program = import::importOnnx(bytes, "model.onnx", "/nonexistent", import, diagnostics);
  if (!program.ok()) {
    fuzz::requireUserError(program.error());
    return 0;
  }
  if (!isSmall(*program))
    return 0;
  pipeline::CompileOptions options;
  options.machine = *machine::Machine::forLevel(size % 2 ? "x86-64-v3" : "x86-64-v4");
  options.threads = 1;
  devices::CpuDevice host;
  std::vector<std::byte> written;
  runtime::ArtifactWriter writer = runtime::ArtifactWriter::toMemory(written);
  auto report = pipeline::compile(*program, options, host, writer);
  if (!report.ok()) {
    fuzz::requireUserError(report.error());
    return 0;
  }
  runtime::ReadOptions read;
  read.supports = [](std::string_view) { return true; };
  fuzz::require(runtime::Artifact::fromMemory(written, "model.kin", read).ok(),
                "an artifact that was written can't be opened");
  return 0;
}
