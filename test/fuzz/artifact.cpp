// Artifacts: the digests of what was changed are made right again, since they find damage and no
// malice, so that what stands behind them is reached. Nothing of an artifact is executed: a device
// that computes nothing loads it, and runs it where that takes little memory.

#include "base/hash.h"
#include "devices/null/null_device.h"
#include "fuzz.h"
#include "runtime/context.h"
#include "unit/runtime/resealed.h"

using namespace kintsugi;
using namespace kintsugi::runtime;

namespace {

constexpr uint64_t mostBytes = 1 << 20, mostSteps = 10000;

/// Gives header, table and sections the digests that they should have, as far as they are there.
void sealAnew(std::vector<std::byte> &bytes) {
  if (bytes.size() < sizeof(KinArtifactHeader))
    return;
  KinArtifactHeader header = headerOf(bytes);
  uint64_t tableBytes = uint64_t(header.section_count) * sizeof(KinArtifactSection);
  if (header.section_count == 0 || header.section_count > KIN_ARTIFACT_MAX_SECTIONS ||
      header.table_offset > bytes.size() || tableBytes > bytes.size() - header.table_offset)
    return;
  std::vector<KinArtifactSection> table = tableOf(bytes);
  for (KinArtifactSection &section : table) {
    if (section.offset > bytes.size() || section.bytes > bytes.size() - section.offset)
      continue;
    Digest digest =
        blake3(std::span<const std::byte>(bytes).subspan(section.offset, section.bytes));
    std::memcpy(section.digest, digest.bytes.data(), sizeof(section.digest));
  }
  reseal(bytes, header, table);
}

/// How many stages and copies a run takes, or more than mostSteps.
uint64_t stepsOf(const Plan &plan) {
  uint64_t steps = 1;
  for (const Plan &child : plan.children)
    if (uint64_t more = stepsOf(child); __builtin_add_overflow(steps, more, &steps))
      return mostSteps + 1;
  uint64_t times = plan.kind == Plan::Kind::Repeat ? plan.count : 1;
  if (__builtin_mul_overflow(steps, times, &steps))
    return mostSteps + 1;
  return steps;
}

uint64_t bytesOf(const Port &port) {
  uint64_t count = 16;
  for (int64_t extent : port.shape)
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count))
      return mostBytes + 1;
  return count;
}

void run(const std::shared_ptr<const Model> &model) {
  const Manifest &manifest = model->manifest();
  uint64_t total = manifest.arenaBytes;
  for (const auto &ports : {manifest.inputs, manifest.outputs})
    for (const Port &port : ports)
      if (total > mostBytes || (total += bytesOf(port)) > mostBytes)
        return;
  if (stepsOf(manifest.plan) > mostSteps)
    return;
  auto context = Context::create(model, {1});
  if (!context.ok())
    return fuzz::requireUserError(context.error());
  std::vector<std::vector<std::byte>> memory;
  std::vector<InputTensor> inputs;
  std::vector<OutputTensor> outputs;
  std::vector<std::vector<int64_t>> shapes(manifest.outputs.size());
  for (const Port &port : manifest.inputs) {
    memory.emplace_back(bytesOf(port));
    inputs.push_back({"", port.type, port.shape, memory.back().data(), memory.back().size()});
  }
  for (size_t k = 0; k < manifest.outputs.size(); ++k) {
    const Port &port = manifest.outputs[k];
    shapes[k] = port.shape;
    memory.emplace_back(bytesOf(port));
    outputs.push_back({"", memory.back().data(), memory.back().size(), shapes[k]});
  }
  Status status = (*context)->run(inputs, outputs);
  if (!status.ok())
    fuzz::requireUserError(status.error());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto given = fuzz::bytesOf(data, size);
  std::vector<std::byte> bytes(given.begin(), given.end());
  sealAnew(bytes);
  auto artifact = Artifact::fromMemory(bytes, "fuzzed.kin");
  if (!artifact.ok()) {
    fuzz::requireUserError(artifact.error());
    return 0;
  }
  auto model = Model::create(std::move(*artifact), std::make_shared<devices::NullDevice>());
  if (!model.ok())
    fuzz::requireUserError(model.error());
  else
    run(*model);
  return 0;
}
