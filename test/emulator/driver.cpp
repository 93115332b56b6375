//===- driver.cpp - NVIDIA's driver over the emulator -----------------------===//
//
// The functions that devices/cuda looks up in libcuda.so.1. What is asked for is done at once;
// what a kernel does wrong comes back as the driver's errors, with a text that says where.
//
//===----------------------------------------------------------------------===//

#include "devices/cuda/driver.h"

#include "module.h"
#include "options.h"
#include "tensor_box.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>

using namespace kintsugi::emulator;
using kintsugi::devices::cuda::Address;
using kintsugi::devices::cuda::Handle;
using kintsugi::devices::cuda::LaunchConfig;
using kintsugi::devices::cuda::Result;
namespace cuda = kintsugi::devices::cuda;

namespace {

constexpr Result success = 0, invalidDevice = 101, invalidImage = 200, notFound = 500,
                 tooManyBlocks = 720, notSupported = 801;
constexpr int version = 12990; ///< None of NVIDIA's.
constexpr uint64_t memoryBytes = uint64_t(8) << 30;

struct Device {
  Options options = readOptions();
  Memory memory{memoryBytes};
  std::mutex mutex;
  std::string lastFault = "it failed";
};

/// Lives as long as the process: programs' own ends may still release memory.
Device &device() {
  static auto *only = new Device;
  return *only;
}

Result note(const Fault &fault) {
  std::lock_guard lock(device().mutex);
  device().lastFault = fault.message;
  return fault.code;
}

Result note(Fault::Code code, const std::string &message) { return note(Fault{code, message}); }

using Steps = std::vector<std::function<Result()>>;

struct Stream {
  std::unique_ptr<Steps> recorded;
};

struct Function {
  const Program *program;
  unsigned mostOpenBytes;
};

struct LoadedModule {
  Module module;
  std::map<std::string, Function> functions;
};

struct Event {
  std::chrono::steady_clock::time_point time;
};

Result perform(Handle stream, std::function<Result()> work) {
  auto *queue = static_cast<Stream *>(stream);
  if (!queue || !queue->recorded)
    return work();
  queue->recorded->push_back(std::move(work));
  return success;
}

Result checkRange(Address address, size_t bytes) {
  if (device().memory.holds(address, bytes))
    return success;
  return note(Fault::InvalidValue, "a copy of " + std::to_string(bytes) +
                                       " bytes at an address that " +
                                       device().memory.describe(address));
}

/// The first that failed.
Result firstOf(Result a, Result b) { return a ? a : b; }

void writeCounts(const Launch &launch) {
  const std::string &path = device().options.countsFile;
  if (path.empty())
    return;
  std::string line = "{\"kernel\": \"" + launch.program.name + "\", \"counts\": {";
  const char *comma = "";
  for (size_t k = 0; k < launch.counts.size(); ++k)
    if (launch.counts[k] > 0) {
      line += comma + ("\"" + launch.program.names[k] + "\": ") + std::to_string(launch.counts[k]);
      comma = ", ";
    }
  std::lock_guard lock(device().mutex);
  if (FILE *file = std::fopen(path.c_str(), "a")) {
    std::fprintf(file, "%s}}\n", line.c_str());
    std::fclose(file);
  }
}

/// What a device refuses ahead of a launch.
Result checkLaunch(const Function &function, const LaunchConfig &config, bool meets) {
  const Program &program = *function.program;
  const Options &options = device().options;
  auto refuses = [&](const std::string &what) {
    return note(Fault::InvalidValue, "kernel '" + program.name + "': " + what);
  };
  unsigned threads = config.blockX * config.blockY * config.blockZ;
  if (config.gridY != 1 || config.gridZ != 1 || threads != config.blockX)
    return refuses("the emulator has one dimension of blocks and threads");
  if (config.gridX == 0 || threads == 0 || threads > program.mostThreads)
    return refuses(std::to_string(threads) + " threads, the entry says at most " +
                   std::to_string(program.mostThreads));
  if (config.sharedBytes > function.mostOpenBytes)
    return refuses(std::to_string(config.sharedBytes) + " bytes of shared memory, it was given " +
                   std::to_string(function.mostOpenBytes));
  if (program.declaredBytes + config.sharedBytes > unsigned(options.sharedBytes))
    return refuses("more shared memory than a block can have");
  if (program.clusterWidth > 1 && config.gridX % program.clusterWidth != 0)
    return refuses("its clusters are not whole");
  if (program.clusterWidth > 0 && options.major < 9)
    return refuses("the device knows no clusters");
  unsigned room = unsigned(options.multiprocessors) * (2048 / threads);
  return meets && config.gridX > room ? tooManyBlocks : success;
}

Result runLaunch(Launch launch) {
  try {
    run(launch);
  } catch (const Fault &fault) {
    return note(fault);
  }
  writeCounts(launch);
  return success;
}

} // namespace

extern "C" {

Result cuInit(unsigned) {
  device();
  return success;
}
Result cuDriverGetVersion(int *result) {
  *result = version;
  return success;
}
Result cuGetErrorName(Result error, const char **name) {
  switch (error) {
  case Fault::InvalidValue:
    *name = "CUDA_ERROR_INVALID_VALUE";
    break;
  case cuda::outOfMemory:
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    break;
  case Fault::InvalidText:
    *name = "CUDA_ERROR_INVALID_PTX";
    break;
  case Fault::IllegalAddress:
    *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
    break;
  case Fault::Misaligned:
    *name = "CUDA_ERROR_MISALIGNED_ADDRESS";
    break;
  case tooManyBlocks:
    *name = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE";
    break;
  default:
    *name = "CUDA_ERROR_LAUNCH_FAILED";
  }
  return success;
}
Result cuGetErrorString(Result, const char **text) {
  static thread_local std::string last;
  std::lock_guard lock(device().mutex);
  last = device().lastFault;
  *text = last.c_str();
  return success;
}

Result cuDeviceGetCount(int *count) {
  *count = 1;
  return success;
}
Result cuDeviceGet(int *number, int ordinal) {
  *number = ordinal;
  return ordinal == 0 ? success : invalidDevice;
}
Result cuDeviceGetName(char *name, int bytes, int) {
  std::snprintf(name, size_t(bytes), "%s", device().options.name);
  return success;
}
Result cuDeviceGetAttribute(int *value, int attribute, int) {
  const Options &options = device().options;
  switch (attribute) {
  case cuda::multiprocessors:
    *value = options.multiprocessors;
    return success;
  case cuda::capabilityMajor:
    *value = options.major;
    return success;
  case cuda::capabilityMinor:
    *value = options.minor;
    return success;
  case cuda::mostSharedBytes:
    *value = options.sharedBytes;
    return success;
  }
  return Fault::InvalidValue;
}
Result cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = device().memory.total;
  return success;
}
Result cuDevicePrimaryCtxRetain(Handle *context, int) {
  *context = &device();
  return success;
}
Result cuDevicePrimaryCtxRelease_v2(int) { return success; }
Result cuCtxSetCurrent(Handle context) { return context ? success : Fault::InvalidValue; }

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Result cuMemGetInfo_v2(size_t *free, size_t *all) {
  *free = device().memory.free();
  *all = device().memory.total;
  return success;
}
Result cuMemAlloc_v2(Address *address, size_t bytes) {
  *address = device().memory.allocate(bytes);
  return *address ? success : cuda::outOfMemory;
}
Result cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  return *memory ? success : cuda::outOfMemory;
}
Result cuMemFreeHost(void *memory) {
  std::free(memory);
  return success;
}
Result cuPointerGetAttribute(void *value, int attribute, Address pointer) {
  if (attribute != cuda::memoryType || !device().memory.holds(pointer, 1))
    return Fault::InvalidValue;
  *static_cast<unsigned *>(value) = cuda::deviceMemory;
  return success;
}
Result cuMemFree_v2(Address address) {
  return device().memory.release(address) ? success : Fault::InvalidValue;
}
Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Handle stream) {
  return perform(stream, [=]() -> Result {
    if (Result wrong = checkRange(to, bytes))
      return wrong;
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return success;
  });
}
Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Handle stream) {
  return perform(stream, [=]() -> Result {
    if (Result wrong = checkRange(from, bytes))
      return wrong;
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return success;
  });
}
Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Handle stream) {
  return perform(stream, [=]() -> Result {
    if (Result wrong = firstOf(checkRange(to, bytes), checkRange(from, bytes)))
      return wrong;
    std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    return success;
  });
}
Result cuMemsetD32Async(Address to, unsigned value, size_t count, Handle stream) {
  return perform(stream, [=]() -> Result {
    if (Result wrong = checkRange(to, 4 * count))
      return wrong;
    std::fill_n(reinterpret_cast<unsigned *>(to), count, value);
    return success;
  });
}

//===----------------------------------------------------------------------===//
// Streams, graphs and events
//===----------------------------------------------------------------------===//

Result cuStreamCreate(Handle *stream, unsigned) {
  *stream = new Stream;
  return success;
}
Result cuStreamDestroy_v2(Handle stream) {
  delete static_cast<Stream *>(stream);
  return success;
}
Result cuStreamSynchronize(Handle) { return success; }
Result cuStreamIsCapturing(Handle stream, int *status) {
  *status = stream && static_cast<Stream *>(stream)->recorded;
  return success;
}
Result cuStreamWaitEvent(Handle, Handle, unsigned) { return success; }
Result cuStreamBeginCapture_v2(Handle stream, int) {
  static_cast<Stream *>(stream)->recorded = std::make_unique<Steps>();
  return success;
}
Result cuStreamEndCapture(Handle stream, Handle *graph) {
  *graph = static_cast<Stream *>(stream)->recorded.release();
  return success;
}
Result cuGraphInstantiateWithFlags(Handle *runnable, Handle graph, unsigned long long) {
  *runnable = new Steps(*static_cast<Steps *>(graph));
  return success;
}
Result cuGraphLaunch(Handle runnable, Handle) {
  for (const auto &step : *static_cast<Steps *>(runnable))
    if (Result wrong = step())
      return wrong;
  return success;
}
Result cuGraphDestroy(Handle graph) {
  delete static_cast<Steps *>(graph);
  return success;
}
Result cuGraphExecDestroy(Handle graph) { return cuGraphDestroy(graph); }
Result cuEventCreate(Handle *event, unsigned) {
  *event = new Event;
  return success;
}
Result cuEventDestroy_v2(Handle event) {
  delete static_cast<Event *>(event);
  return success;
}
Result cuEventRecord(Handle event, Handle stream) {
  return perform(stream, [event]() -> Result {
    static_cast<Event *>(event)->time = std::chrono::steady_clock::now();
    return success;
  });
}
Result cuEventRecordWithFlags(Handle event, Handle stream, unsigned) {
  return cuEventRecord(event, stream);
}
Result cuEventQuery(Handle) { return success; }
Result cuEventSynchronize(Handle) { return success; }
Result cuEventElapsedTime(float *milliseconds, Handle start, Handle end) {
  std::chrono::duration<float, std::milli> passed =
      static_cast<Event *>(end)->time - static_cast<Event *>(start)->time;
  *milliseconds = passed.count();
  return success;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Result cuModuleLoadDataEx(Handle *module, const void *image, unsigned count, int *options,
                          void **values) {
  std::string text = static_cast<const char *>(image);
  if (text.starts_with("\177ELF"))
    return invalidImage;
  plantFault(text);
  try {
    auto loaded = std::unique_ptr<LoadedModule>(
        new LoadedModule{Module(std::move(text), device().memory), {}});
    bool isOwn =
        loaded->module.architecture() == "sm_90a" || loaded->module.architecture() == "sm_90";
    if (isOwn && device().options.major != 9)
      return invalidImage;
    *module = loaded.release();
    return success;
  } catch (const Fault &fault) {
    for (unsigned k = 0; k < count; ++k)
      if (options[k] == cuda::errorLog)
        std::strncpy(static_cast<char *>(values[k]), fault.message.c_str(), 2000);
    return note(fault);
  }
}
// What links would give is the text again: loading it needs none.
Result cuLinkCreate_v2(unsigned, int *, void **, Handle *) { return notSupported; }
Result cuLinkAddData_v2(Handle, int, void *, size_t, const char *, unsigned, int *, void **) {
  return notSupported;
}
Result cuLinkComplete(Handle, void **, size_t *) { return notSupported; }
Result cuLinkDestroy(Handle) { return notSupported; }
Result cuModuleUnload(Handle module) {
  delete static_cast<LoadedModule *>(module);
  return success;
}
Result cuModuleGetFunction(Handle *function, Handle module, const char *name) {
  auto *loaded = static_cast<LoadedModule *>(module);
  try {
    const Program *program = loaded->module.find(name);
    if (!program)
      return notFound;
    constexpr unsigned usual = 48 << 10;
    Function &made = loaded->functions[name];
    made = {program, usual - std::min(usual, program->declaredBytes)};
    *function = &made;
    return success;
  } catch (Fault &fault) {
    fault.message = std::string("kernel '") + name + "' " + fault.message;
    std::fprintf(stderr, "emulator: %s\n", fault.message.c_str());
    return note(fault);
  }
}
Result cuFuncGetAttribute(int *value, int attribute, Handle handle) {
  const Program &program = *static_cast<Function *>(handle)->program;
  switch (attribute) {
  case cuda::mostThreads:
    *value = int(program.mostThreads);
    return success;
  case cuda::staticSharedBytes:
    *value = int(program.declaredBytes);
    return success;
  case cuda::clusterWidth:
    *value = int(program.clusterWidth);
    return success;
  }
  return Fault::InvalidValue;
}
Result cuFuncSetAttribute(Handle handle, int attribute, int value) {
  auto &function = *static_cast<Function *>(handle);
  if (attribute != cuda::dynamicSharedBytes)
    return Fault::InvalidValue;
  if (value < 0 || value + int(function.program->declaredBytes) > device().options.sharedBytes)
    return note(Fault::InvalidValue, "the device has less shared memory for a block");
  function.mostOpenBytes = unsigned(value);
  return success;
}
/// The fewest: launches whose blocks meet need all of them at once, and any count is right.
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Handle, int, size_t) {
  *blocks = 1;
  return success;
}
Result cuTensorMapEncodeTiled(void *to, int type, unsigned rank, Address start,
                              const uint64_t *extents, const uint64_t *strides, const unsigned *box,
                              const unsigned *steps, int interleave, int swizzle, int, int fill) {
  constexpr int twoBytes = 1;
  constexpr uint64_t alignment = 16, alignmentOfMaps = 64;
  bool isKnown = type == twoBytes && rank >= 1 && rank <= 5 && interleave == 0 && fill == 0 &&
                 swizzle >= 1 && swizzle <= 3 && start % alignment == 0 &&
                 reinterpret_cast<uintptr_t>(to) % alignmentOfMaps == 0;
  TensorMap map;
  map.rank = uint8_t(rank);
  map.elementBytes = 2;
  map.swizzle = uint8_t(swizzle);
  map.start = start;
  for (unsigned d = 0; isKnown && d < rank; ++d) {
    isKnown = box[d] >= 1 && box[d] <= 256 && steps[d] >= 1 && steps[d] <= 8 && extents[d] >= 1;
    map.extents[d] = extents[d];
    map.box[d] = uint16_t(box[d]);
    map.steps[d] = uint8_t(steps[d]);
    if (d > 0) {
      map.strides[d - 1] = strides[d - 1];
      isKnown &= strides[d - 1] % alignment == 0;
    }
  }
  if (!isKnown || map.countOf(0) * map.elementBytes > 16u << swizzle)
    return note(Fault::InvalidValue, "a tensor map that no device knows");
  std::memcpy(to, &map, sizeof map);
  return success;
}
Result cuLaunchKernelEx(const LaunchConfig *config, Handle handle, void **parameters, void **) {
  const auto &function = *static_cast<Function *>(handle);
  const Program &program = *function.program;
  Launch launch{.program = program, .memory = device().memory, .habits = device().options.habits};
  for (unsigned k = 0; k < config->numAttributes; ++k) {
    launch.startsEarly |=
        config->attributes[k].id == cuda::startEarly && config->attributes[k].value;
    launch.meets |= config->attributes[k].id == cuda::allAtOnce && config->attributes[k].value;
  }
  if (Result wrong = checkLaunch(function, *config, launch.meets))
    return wrong;
  launch.blocks = config->gridX;
  launch.threads = config->blockX;
  launch.openBytes = config->sharedBytes;
  launch.parameters.resize(program.parameterBytes);
  for (size_t k = 0; k < program.parameters.size(); ++k)
    std::memcpy(launch.parameters.data() + program.parameterPlaces[k], parameters[k],
                program.parameters[k].bytes);
  return perform(config->stream, [launch] { return runLaunch(launch); });
}

} // extern "C"
