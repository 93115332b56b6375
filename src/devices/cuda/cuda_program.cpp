//===- cuda_program.cpp - An artifact ready to run on a GPU ---------------===//

#include "devices/cuda/cuda_program.h"

#include "abi/launch.h"
#include "calls/call.h"
#include "devices/cuda/code_cache.h"
#include "devices/cuda/machine_code.h"
#include "devices/cuda/tensor_map.h"
#include "runtime/binding.h"

#include <algorithm>
#include <cstring>

using namespace kintsugi;
using namespace kintsugi::devices;
using namespace kintsugi::devices::cuda;
using namespace kintsugi::runtime;

Expected<std::unique_ptr<CudaProgram>>
CudaProgram::load(CudaDevice &device, const Artifact &artifact, const CudaProgram *whole) {
  std::unique_ptr<CudaProgram> program(new CudaProgram(device, artifact));
  KINTSUGI_RETURN_IF_ERROR(device.enter());
  KINTSUGI_RETURN_IF_ERROR(program->findFunctions());
  if (whole)
    program->placeOfConstants = whole->placeOfConstants;
  else
    KINTSUGI_RETURN_IF_ERROR(program->uploadConstants());
  return program;
}

CudaProgram::~CudaProgram() {
  device.release(constantMemory, artifact.constants().size());
  if (module && device.enter().ok())
    device.driver().unloadModule(module);
}

Status CudaProgram::uploadConstants() {
  std::span<const std::byte> bytes = artifact.constants();
  if (bytes.empty())
    return Status::success();
  KINTSUGI_ASSIGN(constantMemory, device.allocate(bytes.size()));
  const Driver &driver = device.driver();
  placeOfConstants = constantMemory;
  auto address = reinterpret_cast<Address>(constantMemory);
  KINTSUGI_RETURN_IF_ERROR(driver.check(driver.upload(address, bytes.data(), bytes.size(), nullptr),
                                        "upload the constants"));
  return driver.check(driver.waitForStream(nullptr), "upload the constants");
}

/// The text of a code object must end where its bytes do.
static Status checkText(std::span<const std::byte> bytes) {
  const void *zero = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
  if (!zero || zero != &bytes.back())
    return inputError("is not the text of a module; compile the model again");
  return Status::success();
}

/// The first that the device runs.
Expected<const CodeObject *> CudaProgram::chooseCode() const {
  auto suits = [&](const CodeObject &object) {
    return std::ranges::all_of(object.features,
                               [&](const std::string &name) { return device.supports(name); });
  };
  if (manifest().code.empty())
    return inputError("the artifact has kernels but no code");
  auto chosen = std::ranges::find_if(manifest().code, suits);
  if (chosen != manifest().code.end())
    return &*chosen;
  const CudaDeviceInfo &info = device.info();
  return machineError("the device '" + std::string(device.name()) + "' (" + info.name +
                      ", compute capability " + std::to_string(info.major) + "." +
                      std::to_string(info.minor) +
                      ") runs none of the artifact's code; it needs 8.0 or newer");
}

/// Null where there is none for this device, or the driver does not take it: an older one than the
/// assembler, say. The text then tells what is wrong, if something is.
Expected<Handle> CudaProgram::loadMachineCode() const {
  const CudaDeviceInfo &info = device.info();
  auto runs = [&](const std::string &name) {
    return runsMachineCode(name, info.major, info.minor);
  };
  if (code->machineCode.empty() || !std::ranges::any_of(code->features, runs))
    return nullptr;
  std::span<const std::byte> bytes = artifact.code(code->machineCode);
  if (Status status = checkMachineCode(bytes); !status.ok())
    return at(code->machineCode, status.takeError());
  Handle loaded = nullptr;
  bool isTaken = device.driver().loadModule(&loaded, bytes.data(), 0, nullptr, nullptr) == 0;
  return isTaken ? loaded : nullptr;
}

Expected<Handle> CudaProgram::loadText() const {
  std::span<const std::byte> text = artifact.code(code->section);
  if (Status status = checkText(text); !status.ok())
    return at(code->section, status.takeError());
  const CudaDeviceInfo &info = device.info();
  CodeCache cache(device.driver(), device.folderOfCode(),
                  std::to_string(info.major) + "." + std::to_string(info.minor));
  Expected<Handle> loaded = cache.load(text);
  if (!loaded.ok())
    return at(code->section, loaded.takeError());
  return loaded;
}

Status CudaProgram::loadCode() {
  KINTSUGI_ASSIGN(code, chooseCode());
  isForAnyDevice = std::ranges::count(code->features, "sm_80") > 0;
  int version = 0;
  KINTSUGI_RETURN_IF_ERROR(
      device.driver().check(device.driver().driverVersion(&version), "ask the driver's version"));
  kernelsWait = code->kernelsWait && version >= recordsEarlyStarts;
  KINTSUGI_ASSIGN(module, loadMachineCode());
  section = module ? code->machineCode : code->section;
  if (!module) {
    KINTSUGI_ASSIGN(module, loadText());
  }
  return Status::success();
}

Status CudaProgram::checkStage(const Stage &stage) const {
  if (stage.threads == 0 || stage.threads > KIN_LAUNCH_MAX_THREADS ||
      stage.tiles > KIN_LAUNCH_MAX_BLOCKS)
    return inputError("has " + std::to_string(stage.tiles) + " blocks of " +
                      std::to_string(stage.threads) + " threads, which no device runs");
  for (uint32_t number : stage.buffers) {
    const Buffer &buffer = manifest().buffers[number];
    if (originOf(manifest(), buffer).home.offset % KIN_LAUNCH_ALIGNMENT != 0 ||
        buffer.home.offset % KIN_LAUNCH_ALIGNMENT != 0)
      return inputError("has the operand '" + buffer.name + "' at an odd address");
  }
  return Status::success();
}

Expected<std::vector<KinTensorMap>> CudaProgram::findMaps(const Stage &stage) const {
  auto found = std::ranges::find(code->maps, stage.symbol, &StageMaps::symbol);
  if (found == code->maps.end())
    return std::vector<KinTensorMap>();
  if (found->maps.size() > KIN_TENSOR_MAX_MAPS)
    return inputError("takes " + std::to_string(found->maps.size()) + " tensor maps");
  for (const KinTensorMap &map : found->maps) {
    if (map.operand >= stage.buffers.size())
      return inputError("has a tensor map of an operand that there is not");
    const Buffer &operand = manifest().buffers[stage.buffers[map.operand]];
    KINTSUGI_RETURN_IF_ERROR(checkMap(map, operand.bytes, stage.scratchBytes));
  }
  return found->maps;
}

Expected<Handle> CudaProgram::findFunction(const Stage &stage) const {
  const Driver &driver = device.driver();
  Handle function = nullptr;
  if (driver.function(&function, module, stage.symbol.c_str()) != 0)
    return inputError("is not in the code; compile the model again");
  int threads = 0;
  KINTSUGI_RETURN_IF_ERROR(
      driver.check(driver.functionAttribute(&threads, mostThreads, function), "look at it"));
  if (static_cast<int64_t>(stage.threads) > threads)
    return machineError("can run " + std::to_string(threads) + " threads a block here, not " +
                        std::to_string(stage.threads));
  return function;
}

Expected<unsigned> CudaProgram::giveShared(Handle function, const Stage &stage) const {
  const Driver &driver = device.driver();
  int declared = 0;
  KINTSUGI_RETURN_IF_ERROR(
      driver.check(driver.functionAttribute(&declared, staticSharedBytes, function), "look at it"));
  constexpr uint64_t onAny = KIN_LAUNCH_SHARED_BYTES;
  uint64_t own = static_cast<uint64_t>(std::max(declared, 0)), given = stage.scratchBytes;
  if (isForAnyDevice)
    given = std::min(given, onAny - std::min(own, onAny));
  if (given > device.info().sharedBytes || own > device.info().sharedBytes - given)
    return machineError("needs " + std::to_string(given + own) +
                        " bytes of shared memory, the device has " +
                        std::to_string(device.info().sharedBytes));
  if (given > 0)
    KINTSUGI_RETURN_IF_ERROR(driver.check(
        driver.setFunctionAttribute(function, dynamicSharedBytes, static_cast<int>(given)),
        "give it its shared memory"));
  return static_cast<unsigned>(given);
}

/// As many as are under way at once, and no more than there are tiles.
Expected<unsigned> CudaProgram::blocksThatMeet(uint32_t number) const {
  const Stage &stage = manifest().stages[number];
  int atOnce = 0;
  KINTSUGI_RETURN_IF_ERROR(device.driver().check(
      device.driver().blocksAtOnce(&atOnce, functions[number], static_cast<int>(stage.threads),
                                   sharedBytes[number]),
      "ask how many of its blocks have room"));
  if (atOnce <= 0)
    return machineError("has no room for a block on a multiprocessor of the device");
  uint64_t room = static_cast<uint64_t>(atOnce) * device.info().multiprocessors;
  return static_cast<unsigned>(std::min<uint64_t>(stage.tiles, room));
}

/// One for each tile, or those of a cluster, or fewer that meet.
Expected<unsigned> CudaProgram::blocksFor(uint32_t number) const {
  const Stage &stage = manifest().stages[number];
  if (stage.meets)
    return blocksThatMeet(number);
  int width = 0; // Drivers that know no clusters don't know the attribute either.
  if (device.driver().functionAttribute(&width, clusterWidth, functions[number]) != 0 || width <= 1)
    return static_cast<unsigned>(stage.tiles);
  if (stage.tiles > static_cast<uint64_t>(KIN_LAUNCH_MAX_BLOCKS / width))
    return inputError("has " + std::to_string(stage.tiles) + " clusters of " +
                      std::to_string(width) + " blocks, which no device runs");
  return static_cast<unsigned>(stage.tiles) * width;
}

/// Of the last stage so far.
Status CudaProgram::findKernel(const Stage &stage) {
  KINTSUGI_ASSIGN(functions.back(), findFunction(stage));
  KINTSUGI_ASSIGN(sharedBytes.back(), giveShared(functions.back(), stage));
  KINTSUGI_ASSIGN(maps.back(), findMaps(stage));
  KINTSUGI_ASSIGN(blocks.back(), blocksFor(static_cast<uint32_t>(blocks.size() - 1)));
  return Status::success();
}

Status CudaProgram::findFunctions() {
  for (const Stage &stage : manifest().stages) {
    functions.push_back(nullptr);
    blocks.push_back(0);
    sharedBytes.push_back(0);
    maps.emplace_back();
    if (stage.kind == Stage::Kind::Call) {
      if (!calls::find(stage.symbol))
        return inputError("call '" + stage.symbol + "': this runtime has no such call");
      continue;
    }
    std::string where = "kernel '" + stage.symbol + "'";
    if (Status status = checkStage(stage); !status.ok())
      return at(where, status.takeError());
    if (!module)
      KINTSUGI_RETURN_IF_ERROR(loadCode());
    if (Status status = findKernel(stage); !status.ok())
      return at(where, status.takeError());
  }
  return Status::success();
}
