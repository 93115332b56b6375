//===- fake_cuda.cpp - A driver that isn't one ----------------------------===//

#include "fake_cuda.h"

#include "abi/stage.h"
#include "devices/cuda/driver.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using Handle = void *;
using Address = unsigned long long;

namespace {

constexpr int success = 0, invalidValue = 1, outOfMemory = 2, invalidDevice = 101, notFound = 500,
              illegalAddress = 700;

using Work = std::function<int()>;

struct Stream {
  std::vector<Work> *recording = nullptr;
  std::deque<Work> asked; ///< And not done.
  uint64_t numDone = 0;
  int failed = success; ///< What the first piece of work that failed gave.

  uint64_t numAsked() const { return numDone + asked.size(); }
  /// The first so many pieces of work.
  int runUntil(uint64_t number) {
    while (numDone < number && !asked.empty()) {
      Work work = std::move(asked.front());
      asked.pop_front();
      ++numDone;
      if (int error = work(); error && !failed)
        failed = error;
    }
    return failed;
  }
};

struct Event {
  std::shared_ptr<int> tick = std::make_shared<int>(0);
  std::shared_ptr<Stream> stream; ///< That it was recorded in,
  uint64_t behind = 0;            ///< behind so many pieces of work.
};

struct Function {
  std::string name;
  KinStageFunction body;
};

std::recursive_mutex mutex;
std::map<Address, size_t> allocated;                 ///< Bytes by address.
std::map<Address, size_t> locked;                    ///< The same of the host's memory.
std::map<Stream *, std::shared_ptr<Stream>> streams; ///< By handle; null: the default stream.

std::shared_ptr<Stream> streamOf(Handle handle) {
  auto &stream = streams[static_cast<Stream *>(handle)];
  if (!stream)
    stream = std::make_shared<Stream>();
  return stream;
}

bool isIn(const std::map<Address, size_t> &blocks, const void *memory) {
  std::lock_guard lock(mutex);
  auto address = reinterpret_cast<Address>(memory);
  auto behind = blocks.upper_bound(address);
  return behind != blocks.begin() && address - std::prev(behind)->first < std::prev(behind)->second;
}

int perform(Handle handle, Work work) {
  std::lock_guard lock(mutex);
  std::shared_ptr<Stream> stream = streamOf(handle);
  if (stream->recording) {
    stream->recording->push_back(std::move(work));
    return success;
  }
  fakeCuda()->isUnderWay = true;
  stream->asked.push_back(std::move(work));
  return success;
}

int wait(Stream &stream, uint64_t behind) {
  ++fakeCuda()->waits;
  int failed = stream.runUntil(behind);
  bool isIdle = std::ranges::all_of(streams, [](auto &each) { return each.second->asked.empty(); });
  fakeCuda()->isUnderWay &= !isIdle;
  return failed ? failed : fakeCuda()->fault;
}

/// As code does that says when its parts are under way (abi/launch.h).
void noteTimes(uint64_t *table) {
  for (auto [begin, end] : fakeCuda()->partTimes) {
    table[0] = std::max(table[0], ~begin);
    table[1] = std::max(table[1], end);
    table += 2;
  }
}

void countMove(Handle stream) {
  std::lock_guard lock(mutex);
  fakeCuda()->recordedMoves += streamOf(stream)->recording != nullptr;
}

int move(Handle stream, void *to, const void *from, size_t bytes) {
  countMove(stream);
  return perform(stream, [=] {
    std::memmove(to, from, bytes);
    return success;
  });
}

} // namespace

extern "C" {

FakeCuda *fakeCuda() {
  static FakeCuda fake;
  return &fake;
}

int cuInit(unsigned) { return success; }
int cuDriverGetVersion(int *version) {
  *version = fakeCuda()->version;
  return success;
}
int cuGetErrorName(int error, const char **name) {
  *name = error == outOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == illegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                    : "CUDA_ERROR_UNKNOWN";
  return success;
}
int cuGetErrorString(int error, const char **text) {
  *text = error == illegalAddress ? "an illegal memory access was encountered" : "it failed";
  return success;
}
int cuDeviceGetCount(int *count) {
  *count = fakeCuda()->devices;
  return success;
}
int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal < fakeCuda()->devices ? success : invalidDevice;
}
int cuDeviceGetName(char *name, int bytes, int) {
  std::strncpy(name, "Fake GPU", bytes);
  return success;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == 75   ? fakeCuda()->major
           : attribute == 76 ? fakeCuda()->minor
           : attribute == 16 ? 4
                             : fakeCuda()->sharedBytesOfBlocks;
  return success;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = fakeCuda()->memoryBytes;
  return success;
}
int cuDevicePrimaryCtxRetain(Handle *context, int) {
  *context = fakeCuda();
  ++fakeCuda()->contexts;
  return success;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  --fakeCuda()->contexts;
  return success;
}
int cuCtxSetCurrent(Handle context) { return context ? success : invalidValue; }
int cuMemGetInfo_v2(size_t *free, size_t *all) {
  *free = fakeCuda()->memoryBytes / 2;
  *all = fakeCuda()->memoryBytes;
  return success;
}
int cuMemAlloc_v2(Address *address, size_t bytes) {
  if (bytes > fakeCuda()->memoryBytes / 2)
    return outOfMemory;
  std::lock_guard lock(mutex);
  *address = reinterpret_cast<Address>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  allocated[*address] = bytes;
  ++fakeCuda()->memoryInUse;
  return success;
}
int cuPointerGetAttribute(void *value, int attribute, Address pointer) {
  ++fakeCuda()->pointerQueries;
  if (attribute != kintsugi::devices::cuda::memoryType ||
      !isIn(allocated, reinterpret_cast<void *>(pointer)))
    return invalidValue;
  *static_cast<unsigned *>(value) = kintsugi::devices::cuda::deviceMemory;
  return success;
}
int cuMemFree_v2(Address address) {
  std::lock_guard lock(mutex);
  for (auto &[handle, stream] : streams)
    stream->runUntil(stream->numAsked());
  allocated.erase(address);
  std::free(reinterpret_cast<void *>(address));
  --fakeCuda()->memoryInUse;
  return success;
}
int cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  std::lock_guard lock(mutex);
  *memory = std::malloc(bytes);
  locked[reinterpret_cast<Address>(*memory)] = bytes;
  ++fakeCuda()->memoryInUse;
  return success;
}
int cuMemFreeHost(void *memory) {
  std::lock_guard lock(mutex);
  locked.erase(reinterpret_cast<Address>(memory));
  std::free(memory);
  --fakeCuda()->memoryInUse;
  return success;
}
// Of the host's memory only what is locked is read and written while the host goes on.
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Handle stream) {
  if (isIn(allocated, from))
    return invalidValue;
  ++fakeCuda()->uploads;
  if (isIn(locked, from))
    return move(stream, reinterpret_cast<void *>(to), from, bytes);
  auto *start = static_cast<const char *>(from);
  std::vector<char> taken(start, start + bytes);
  countMove(stream);
  return perform(stream, [to, taken] {
    std::memcpy(reinterpret_cast<void *>(to), taken.data(), taken.size());
    return success;
  });
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Handle stream) {
  if (isIn(allocated, to))
    return invalidValue;
  int status = move(stream, to, reinterpret_cast<void *>(from), bytes);
  if (isIn(locked, to))
    return status;
  std::lock_guard lock(mutex);
  std::shared_ptr<Stream> asked = streamOf(stream);
  return asked->runUntil(asked->numAsked());
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Handle stream) {
  ++fakeCuda()->copies;
  return move(stream, reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
}
int cuMemsetD32Async(Address to, unsigned value, size_t count, Handle stream) {
  countMove(stream);
  return perform(stream, [=] {
    for (size_t i = 0; i < count; ++i)
      std::memcpy(reinterpret_cast<char *>(to) + 4 * i, &value, 4);
    return success;
  });
}
int cuStreamCreate(Handle *handle, unsigned) {
  std::lock_guard lock(mutex);
  auto stream = std::make_shared<Stream>();
  *handle = stream.get();
  streams[stream.get()] = std::move(stream);
  return success;
}
// What it was asked for goes on.
int cuStreamDestroy_v2(Handle stream) {
  std::lock_guard lock(mutex);
  streams.erase(static_cast<Stream *>(stream));
  return success;
}
int cuStreamSynchronize(Handle handle) {
  std::lock_guard lock(mutex);
  std::shared_ptr<Stream> stream = streamOf(handle);
  return wait(*stream, stream->numAsked());
}
int cuStreamIsCapturing(Handle stream, int *status) {
  std::lock_guard lock(mutex);
  *status = streamOf(stream)->recording != nullptr;
  return success;
}
int cuStreamWaitEvent(Handle stream, Handle handle, unsigned) {
  std::lock_guard lock(mutex);
  Event event = *static_cast<Event *>(handle); // As it is now.
  ++fakeCuda()->streamWaits;
  return perform(stream, [event] { return event.stream->runUntil(event.behind); });
}
int cuStreamBeginCapture_v2(Handle stream, int) {
  if (!stream) // The driver records no default stream.
    return invalidValue;
  streamOf(stream)->recording = new std::vector<Work>;
  return success;
}
int cuStreamEndCapture(Handle stream, Handle *graph) {
  *graph = std::exchange(streamOf(stream)->recording, nullptr);
  return success;
}
int cuGraphInstantiateWithFlags(Handle *runnable, Handle graph, unsigned long long) {
  *runnable = new std::vector<Work>(*static_cast<std::vector<Work> *>(graph));
  return success;
}
int cuGraphLaunch(Handle runnable, Handle stream) {
  {
    std::lock_guard lock(mutex);
    ++fakeCuda()->graphLaunches;
  }
  return perform(stream, [steps = *static_cast<std::vector<Work> *>(runnable)] {
    for (const Work &step : steps)
      if (int error = step())
        return error;
    return success;
  });
}
int cuGraphDestroy(Handle graph) {
  delete static_cast<std::vector<Work> *>(graph);
  return success;
}
int cuGraphExecDestroy(Handle graph) { return cuGraphDestroy(graph); }
// An event is when the device passed it: the clock goes on by a tick with each event and by four
// with each kernel.
int cuEventCreate(Handle *event, unsigned) {
  *event = new Event;
  return success;
}
int cuEventDestroy_v2(Handle event) {
  delete static_cast<Event *>(event);
  return success;
}
int cuEventRecord(Handle handle, Handle stream) {
  std::lock_guard lock(mutex);
  auto *event = static_cast<Event *>(handle);
  event->stream = streamOf(stream);
  int status = perform(stream, [tick = event->tick] {
    *tick = ++fakeCuda()->ticks;
    return success;
  });
  event->behind = event->stream->numAsked();
  return status;
}
int cuEventRecordWithFlags(Handle event, Handle stream, unsigned) {
  return cuEventRecord(event, stream);
}
int cuEventQuery(Handle handle) {
  std::lock_guard lock(mutex);
  auto *event = static_cast<Event *>(handle);
  bool isDone = event->stream->numDone >= event->behind;
  return isDone ? success : kintsugi::devices::cuda::notReady;
}
int cuEventSynchronize(Handle handle) {
  std::lock_guard lock(mutex);
  auto *event = static_cast<Event *>(handle);
  return wait(*event->stream, event->behind);
}
int cuEventElapsedTime(float *milliseconds, Handle start, Handle end) {
  int first = *static_cast<Event *>(start)->tick, last = *static_cast<Event *>(end)->tick;
  *milliseconds = 0.25f * float(last - first);
  return success;
}
int cuModuleLoadDataEx(Handle *module, const void *image, unsigned count, int *, void **values) {
  std::lock_guard lock(mutex);
  FakeCuda &fake = *fakeCuda();
  fake.loadedText = static_cast<const char *>(image);
  if (fake.loadedText.find("nonsense") != std::string::npos) {
    if (count > 0)
      std::strcpy(static_cast<char *>(values[0]), "line 1: a word\nthat is none");
    return invalidValue;
  }
  bool isElf = fake.loadedText.starts_with("\177ELF");
  if (isElf)
    fake.loadedText = "machine code";
  bool isCode = isElf || fake.loadedText.starts_with("code of ");
  if (isCode && fake.refusedCode-- > 0)
    return invalidValue;
  fake.textsLoaded += !isCode;
  *module = dlopen(STAGES_OBJECT, RTLD_NOW | RTLD_LOCAL);
  return *module ? success : invalidValue;
}
// The code of a text says so ahead of it.
int cuLinkCreate_v2(unsigned, int *, void **, Handle *state) {
  *state = new std::string;
  return success;
}
int cuLinkAddData_v2(Handle state, int, void *data, size_t, const char *, unsigned, int *,
                     void **) {
  std::string text = static_cast<const char *>(data);
  *static_cast<std::string *>(state) = "code of " + text;
  return text.find("nonsense") == std::string::npos ? success : invalidValue;
}
int cuLinkComplete(Handle state, void **code, size_t *bytes) {
  auto &text = *static_cast<std::string *>(state);
  *code = text.data();
  *bytes = text.size() + 1;
  std::lock_guard lock(mutex);
  ++fakeCuda()->linked;
  return success;
}
int cuLinkDestroy(Handle state) {
  delete static_cast<std::string *>(state);
  return success;
}
int cuModuleUnload(Handle module) {
  dlclose(module);
  return success;
}
int cuModuleGetFunction(Handle *function, Handle module, const char *name) {
  void *body = dlsym(module, name);
  if (!body)
    return notFound;
  static std::map<std::string, Function> functions;
  std::lock_guard lock(mutex);
  auto &entry = functions[name];
  entry = {name, reinterpret_cast<KinStageFunction>(body)};
  *function = &entry;
  return success;
}
int cuFuncGetAttribute(int *value, int attribute, Handle) {
  constexpr int mostThreads = 0, declared = 1, width = 11;
  *value = attribute == mostThreads ? 256
           : attribute == declared  ? fakeCuda()->declaredBytes
           : attribute == width     ? fakeCuda()->clusterWidth
                                    : 0;
  return success;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Handle, int threads, size_t) {
  *blocks = fakeCuda()->threadsAtOnce / threads;
  return success;
}
int cuFuncSetAttribute(Handle, int, int) { return success; }
// A map is its number among those made.
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, Address start,
                           const uint64_t *extents, const uint64_t *strides, const unsigned *box,
                           const unsigned *steps, int interleave, int swizzle, int promotion,
                           int fill) {
  std::lock_guard lock(mutex);
  std::vector<FakeTensorMap> &all = fakeCuda()->encodedMaps;
  uint64_t number = all.size();
  std::memcpy(map, &number, sizeof number);
  all.push_back({type,
                 start,
                 {extents, extents + rank},
                 {strides, strides + rank - 1},
                 {box, box + rank},
                 {steps, steps + rank},
                 interleave,
                 swizzle,
                 promotion,
                 fill});
  return reinterpret_cast<uintptr_t>(map) % 64 == 0 ? success : invalidValue;
}
int cuLaunchKernelEx(const kintsugi::devices::cuda::LaunchConfig *config, Handle handle,
                     void **parameters, void **) {
  auto *function = static_cast<Function *>(handle);
  std::shared_ptr<Stream> queue = streamOf(config->stream);
  unsigned blocks = config->gridX, sharedBytes = config->sharedBytes;
  std::vector<void *> operands;
  {
    std::lock_guard lock(mutex);
    FakeCuda &fake = *fakeCuda();
    ++(queue->recording ? fake.recorded : fake.launches);
    fake.blocks = blocks;
    fake.threads = config->blockX;
    for (unsigned i = 0; i < config->numAttributes; ++i) {
      fake.early += config->attributes[i].id == kintsugi::devices::cuda::startEarly;
      fake.meeting += config->attributes[i].id == kintsugi::devices::cuda::allAtOnce;
    }
    fake.sharedBytes = sharedBytes;
  }
  // A real driver knows how many parameters a kernel has.
  static const std::map<std::string, int> parametersOf = {
      {"affine", 4},  {"squash", 2}, {"accumulate", 5}, {"reset", 2},  {"negate", 2}, {"locate", 1},
      {"nothing", 0}, {"start", 0},  {"meet", 1},       {"ragged", 3}, {"ticks", 1}};
  int count = parametersOf.at(function->name);
  for (int i = 0; i < count; ++i)
    operands.push_back(*static_cast<void **>(parameters[i]));
  if (function->name == fakeCuda()->mappedKernel)
    fakeCuda()->takenMaps.emplace_back(*static_cast<uint64_t *>(parameters[count]),
                                       reinterpret_cast<uint64_t>(operands[0]));
  if (config->numAttributes && config->attributes[0].id == kintsugi::devices::cuda::allAtOnce)
    fakeCuda()->counters.insert(*static_cast<uint32_t **>(parameters[count++]));
  uint64_t *table = nullptr; // Its last parameter, behind tensor maps.
  if (function->name == fakeCuda()->clockedKernel) {
    table = *static_cast<uint64_t **>(parameters[count + fakeCuda()->mapsOfClocked]);
    fakeCuda()->tables.insert(table);
  }
  return perform(config->stream, [=] {
    if (function->name == fakeCuda()->failingKernel) {
      fakeCuda()->fault = illegalAddress;
      return success;
    }
    bool isMeeting = function->name == "meet"; // Its parameter says how often.
    fakeCuda()->ticks += isMeeting ? 3 * int(reinterpret_cast<intptr_t>(operands[0])) : 4;
    if (table)
      noteTimes(table);
    if (function->name == "ticks")
      *static_cast<uint64_t *>(operands[0]) = fakeCuda()->clockStep;
    std::vector<char> scratch(sharedBytes + 1);
    unsigned tiles = blocks / std::max(1, fakeCuda()->clusterWidth);
    function->body(operands.data(), 0, tiles, scratch.data(), &kinImports);
    return success;
  });
}

} // extern "C"
