//===- driver.h - NVIDIA's driver, found while the program runs -----------===//
//
// One table of the functions that are used, filled by dlopen: no header and no library of NVIDIA's
// takes part in a build, and where there is no driver the program runs all the same.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_DRIVER_H
#define KINTSUGI_DEVICES_CUDA_DRIVER_H

#include "base/status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace kintsugi::devices::cuda {

using Result = int; ///< 0: success.
using DeviceNumber = int;
using Handle = void *; ///< Of a context, a stream, a module, ...
using Address = unsigned long long;

/// Numbers of the driver's interface.
enum ResultCode : int { outOfMemory = 2, notReady = 600 };
enum DeviceAttribute : int {
  multiprocessors = 16,
  capabilityMajor = 75,
  capabilityMinor = 76,
  mostSharedBytes = 97, ///< Of a block that asks for them.
};
enum PointerAttribute : int { memoryType = 2 };
inline constexpr unsigned deviceMemory = 2; ///< A type of memory; managed memory is of it, too.
enum FunctionAttribute : int {
  mostThreads = 0,
  staticSharedBytes = 1,
  dynamicSharedBytes = 8,
  clusterWidth = 11, ///< 0: the function asks for no clusters.
};
enum JitOption : int { errorLog = 5, errorLogBytes = 6 };
/// How a kernel is launched, and one of the attributes that say more of that: its value begins
/// after 8 bytes of 72.
struct LaunchAttribute {
  int id, padding;
  int value;
  int rest[15];
};
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  Handle stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};
inline constexpr int allAtOnce = 2;  ///< An attribute: refused where blocks would have to wait.
inline constexpr int startEarly = 6; ///< An attribute: before the launch ahead of it has ended.
inline constexpr int recordsEarlyStarts = 12030; ///< The driver's version.
inline constexpr unsigned nonBlockingStream = 1;
inline constexpr unsigned eventWithoutTime = 2;
inline constexpr int inputIsPtx = 1; ///< Of a link.
inline constexpr int relaxedCapture = 2;
inline constexpr unsigned eventOfGraph = 1; ///< Of a recorded stream: the graph's runs pass it.

class Driver {
public:
  /// The driver of this machine; `library` is another one in tests. A machine error says what is
  /// missing.
  static Expected<std::shared_ptr<const Driver>> load(const char *library = "libcuda.so.1");
  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  /// Success, or a machine error: "cannot WHAT: CUDA_ERROR_..., text".
  Status check(Result result, const std::string &what) const;

#define CUDA_SYMBOL(member, symbol, parameters) Result(*member) parameters = nullptr;
#include "devices/cuda/driver_symbols.def"
#undef CUDA_SYMBOL

private:
  explicit Driver(void *library) : library(library) {}

  void *library;
};

} // namespace kintsugi::devices::cuda

#endif // KINTSUGI_DEVICES_CUDA_DRIVER_H
