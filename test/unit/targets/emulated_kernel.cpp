#include "emulated_kernel.h"

#include "abi/launch.h"
#include "emulator/module.h"
#include "emulator/tensor_box.h"
#include "targets/nvidia/nvidia.h"
#include "tile/build.h"

#include <cstring>
#include <random>

namespace kintsugi::test {

using emulator::Launch;
using emulator::TensorMap;
using loops::Schedule;

Operands someOperands(const Schedule &schedule) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  Operands operands(schedule.memoryBuffers());
  for (unsigned buffer = 0; buffer < operands.size(); ++buffer)
    for (int64_t i = 0; i < schedule.buffers[buffer].elements; ++i)
      operands[buffer].push_back(number(random));
  return operands;
}

namespace {

/// The driver's encoding of a map.
TensorMap encoded(const KinTensorMap &map, uint64_t operand) {
  TensorMap result;
  result.rank = uint8_t(map.rank);
  result.elementBytes = KIN_TENSOR_ELEMENT_BYTES;
  result.swizzle = map.line_bytes == 128 ? 3 : map.line_bytes == 64 ? 2 : 1;
  result.start = operand + map.start;
  for (unsigned d = 0; d < map.rank; ++d) {
    result.extents[d] = map.extents[d];
    result.box[d] = uint16_t(map.box[d]);
    result.steps[d] = uint8_t(map.steps[d]);
    if (d > 0)
      result.strides[d - 1] = map.strides[d];
  }
  return result;
}

void setParameter(Launch &launch, size_t number, const void *value, size_t bytes) {
  std::memcpy(launch.parameters.data() + launch.program.parameterPlaces[number], value, bytes);
}

void setParameters(Launch &launch, const std::vector<uint64_t> &operands,
                   const std::vector<KinTensorMap> &maps) {
  launch.parameters.resize(launch.program.parameterBytes);
  size_t number = 0;
  for (uint64_t operand : operands)
    setParameter(launch, number++, &operand, sizeof operand);
  for (const KinTensorMap &map : maps) {
    TensorMap value = encoded(map, operands[map.operand]);
    setParameter(launch, number++, &value, sizeof value);
  }
}

/// As devices/cuda gives shared memory.
uint32_t openBytes(const Schedule &schedule, const emulator::Program &program, bool isForAny) {
  auto wanted = uint32_t(schedule.scratchBytes);
  return isForAny ? std::min(wanted, KIN_LAUNCH_SHARED_BYTES - program.declaredBytes) : wanted;
}

void run(const Schedule &schedule, const std::string &level, const targets::CodeObject &code,
         Operands &operands, Executed &executed) {
  emulator::Memory memory(uint64_t(1) << 30);
  emulator::Module module(reinterpret_cast<const char *>(code.bytes.data()), memory);
  const emulator::Program *program = module.find("kernel");
  Launch launch{.program = *program, .memory = memory, .habits = {}};
  launch.blocks = unsigned(schedule.tiles()) * std::max(1u, program->clusterWidth);
  launch.threads = unsigned(schedule.threads);
  launch.openBytes = openBytes(schedule, *program, level == "sm_80");
  launch.startsEarly = code.kernelsWait;
  std::vector<uint64_t> places;
  for (unsigned buffer = 0; buffer < schedule.memoryBuffers(); ++buffer) {
    std::vector<std::byte> bytes = packed(schedule.buffers[buffer].type, operands[buffer]);
    places.push_back(memory.allocate(bytes.size()));
    std::memcpy(reinterpret_cast<void *>(places.back()), bytes.data(), bytes.size());
  }
  setParameters(launch, places, code.maps.at(0));
  emulator::run(launch);
  for (size_t k = 0; k < launch.counts.size(); ++k)
    executed.counts[program->names[k]] += launch.counts[k];
  for (unsigned buffer = 0; buffer < schedule.memoryBuffers(); ++buffer) {
    std::vector<std::byte> bytes = packed(schedule.buffers[buffer].type, operands[buffer]);
    std::memcpy(bytes.data(), reinterpret_cast<const void *>(places[buffer]), bytes.size());
    operands[buffer] = unpacked(schedule.buffers[buffer].type, bytes);
  }
}

} // namespace

std::string compareOnGpu(const Schedule &schedule, const std::string &level,
                         const Operands &operands, double tolerance, Executed &executed) {
  auto program = tile::buildTileProgram(tile::NamedSchedule{"kernel", &schedule});
  if (!program.ok())
    return program.error().message;
  targets::CompileOptions options;
  options.level = level;
  auto code = targets::createNvidiaTarget()->compile({&*program}, options);
  if (!code.ok())
    return code.error().message;
  Operands got = operands;
  try {
    run(schedule, level, *code, got, executed);
  } catch (const emulator::Fault &fault) {
    return fault.message;
  }
  return compareWithPlain(schedule, operands, got, tolerance);
}

} // namespace kintsugi::test
