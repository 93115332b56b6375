//===- host.h - What the operating system tells about the machine -----------===//
//
// Reads Linux's /proc and /sys: processor name, frequency, caches, memory, and how many cores this
// process may use (affinity, control groups versions 1 and 2). The files live under a root folder
// that tests replace. Whatever is missing or unreadable stays at its default: inside containers
// most of these files can be absent.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_MACHINE_HOST_H
#define KINTSUGI_MACHINE_HOST_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi::machine {

inline constexpr std::string_view vendorAmd = "AuthenticAMD";

struct HostCache {
  int level = 0; ///< 1 to 4.
  int64_t bytes = 0;
  int sharedBy = 1; ///< Physical cores, whether this process may use them or not.
};

struct Host {
  std::string processor;         ///< "" where unknown.
  std::string vendor;            ///< Of it, in the words of cpuid; "" where unknown.
  double hertz = 0;              ///< Of a core at work; 0 where unknown. Never a momentary value.
  int64_t memoryBytes = 0;       ///< 0 where unknown.
  int cores = 1;                 ///< Physical cores that this process may keep busy.
  std::vector<HostCache> caches; ///< Data and unified caches of one core, by level.
};

/// `allowedCpus` are the logical processors of the affinity mask; at least one.
Host readHost(const std::string &root, std::span<const int> allowedCpus);

/// The numbers in the kernel's list format: "0-3,8" is 0 1 2 3 8. Nothing for anything else, and
/// for more than 65,536 of them.
std::optional<std::vector<int>> parseCpuList(std::string_view text);

/// "36608K", "1M", "512": bytes.
std::optional<int64_t> parseCacheSize(std::string_view text);

} // namespace kintsugi::machine

#endif // KINTSUGI_MACHINE_HOST_H
