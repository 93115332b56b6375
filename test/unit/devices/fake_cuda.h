//===- fake_cuda.h - What a test tells the driver that isn't one ----------===//
//
// fake_cuda.cpp is a library with the functions of NVIDIA's driver that the runtime uses, over the
// host's memory and processor: the "text" of a module names stages of the runtime's fixtures, and a
// launch runs their tiles. What a stream is asked for happens as late as it may: when it is waited
// for, or when another stream that waits for it is. So memory that is read or written too early
// shows.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_DEVICES_FAKE_CUDA_H
#define KINTSUGI_TEST_DEVICES_FAKE_CUDA_H

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// What a tensor map was made from, as it was told: numbers have the driver's meaning.
struct FakeTensorMap {
  int type;
  uint64_t start;
  std::vector<uint64_t> extents, strides; ///< Of all dimensions; of all but the first.
  std::vector<unsigned> box, steps;
  int interleave, swizzle, promotion, fill;

  bool operator==(const FakeTensorMap &) const = default;
};

struct FakeCuda {
  int devices = 2;
  int major = 9, minor = 0;
  uint64_t memoryBytes = uint64_t(1) << 33;
  int version = 13000;
  std::string failingKernel; ///< Faults when it is run, which whoever waits for it learns.
  int clusterWidth = 0;      ///< That all kernels ask for.
  int declaredBytes = 0;     ///< Of shared memory, by all kernels.
  int sharedBytesOfBlocks = 64 << 10;
  std::string mappedKernel; ///< Takes a tensor map behind its operands.
  int refusedCode = 0;      ///< So many modules of code, made by it or not, are not taken.
  int fault = 0;            ///< What waiting gives.
  /// A kernel that notes when its parts are under way, and when they begin and end.
  std::string clockedKernel;
  std::vector<std::pair<uint64_t, uint64_t>> partTimes;
  uint64_t clockStep = 32;
  int mapsOfClocked = 0; ///< Tensor maps that it takes.
  // What was asked for.
  int launches = 0; ///< One by one.
  int recorded = 0;
  int recordedMoves = 0; ///< Copies and fills.
  int graphLaunches = 0;
  int copies = 0;          ///< On the device.
  int uploads = 0;         ///< From the host.
  int waits = 0;           ///< For a stream, or an event.
  int streamWaits = 0;     ///< Of streams for events.
  int pointerQueries = 0;  ///< Whose memory an address is.
  bool isUnderWay = false; ///< Something was asked for since a stream was waited for.
  std::vector<FakeTensorMap> encodedMaps;
  /// Of each launch of that kernel, which of them it was given, and its first operand.
  std::vector<std::pair<uint64_t, uint64_t>> takenMaps;
  std::string loadedText;                            ///< "machine code" for what begins like that.
  int linked = 0;                                    ///< Texts made code of.
  int textsLoaded = 0;                               ///< Texts loaded without that.
  int64_t memoryInUse = 0;                           ///< Blocks.
  int contexts = 0;                                  ///< Retained and not released.
  unsigned blocks = 0, threads = 0, sharedBytes = 0; ///< Of the last launch.
  int ticks = 0;                 ///< The device's clock, in quarters of a millisecond.
  unsigned early = 0;            ///< Launches that may start before the one ahead has ended.
  unsigned meeting = 0;          ///< Launches whose blocks are all under way at once.
  std::set<uint32_t *> counters; ///< That those were given.
  std::set<uint64_t *> tables;   ///< That the clocked kernel was given, null as well.
  int threadsAtOnce = 512;       ///< Of each of the four multiprocessors.
};

/// The library's one state; found under this name.
extern "C" FakeCuda *fakeCuda();

#endif // KINTSUGI_TEST_DEVICES_FAKE_CUDA_H
