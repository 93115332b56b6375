//===- features.cpp - What this processor can do --------------------------===//

#include "devices/cpu/features.h"

#include <algorithm>
#include <cpuid.h>
#include <cstdint>
#include <initializer_list>

using namespace kintsugi;

namespace {

enum Register { eax, ebx, ecx, edx };

/// Register state that the operating system must save for the feature (bits of XCR0).
enum State : uint64_t { plain = 0, avx = 0x6, avx512 = 0xe6, amx = 0x60000 };

/// Where CPUID reports a feature (Intel's manual, volume 2, CPUID).
struct Feature {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  State state;
};

constexpr Feature features[] = {
    {"sse", 1, 0, edx, 25, plain},
    {"sse2", 1, 0, edx, 26, plain},
    {"sse3", 1, 0, ecx, 0, plain},
    {"ssse3", 1, 0, ecx, 9, plain},
    {"fma", 1, 0, ecx, 12, avx},
    {"cx16", 1, 0, ecx, 13, plain},
    {"sse4.1", 1, 0, ecx, 19, plain},
    {"sse4.2", 1, 0, ecx, 20, plain},
    {"movbe", 1, 0, ecx, 22, plain},
    {"popcnt", 1, 0, ecx, 23, plain},
    {"avx", 1, 0, ecx, 28, avx},
    {"f16c", 1, 0, ecx, 29, avx},
    {"bmi", 7, 0, ebx, 3, plain},
    {"avx2", 7, 0, ebx, 5, avx},
    {"bmi2", 7, 0, ebx, 8, plain},
    {"avx512f", 7, 0, ebx, 16, avx512},
    {"avx512dq", 7, 0, ebx, 17, avx512},
    {"avx512cd", 7, 0, ebx, 28, avx512},
    {"avx512bw", 7, 0, ebx, 30, avx512},
    {"avx512vl", 7, 0, ebx, 31, avx512},
    {"avx512vbmi", 7, 0, ecx, 1, avx512},
    {"avx512vbmi2", 7, 0, ecx, 6, avx512},
    {"avx512vnni", 7, 0, ecx, 11, avx512},
    {"avx512fp16", 7, 0, edx, 23, avx512},
    {"amx-bf16", 7, 0, edx, 22, amx},
    {"amx-tile", 7, 0, edx, 24, amx},
    {"amx-int8", 7, 0, edx, 25, amx},
    {"avxvnni", 7, 1, eax, 4, avx},
    {"avx512bf16", 7, 1, eax, 5, avx512},
    {"sahf", 0x80000001, 0, ecx, 0, plain},
    {"lzcnt", 0x80000001, 0, ecx, 5, plain},
};

uint64_t savedState() {
  uint32_t regs[4];
  if (!__get_cpuid(1, &regs[eax], &regs[ebx], &regs[ecx], &regs[edx]) ||
      !(regs[ecx] >> 27 & 1)) // OSXSAVE
    return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

bool supportsAll(std::initializer_list<std::string_view> names) {
  return std::all_of(names.begin(), names.end(), devices::cpuSupports);
}

} // namespace

bool devices::cpuSupports(std::string_view name) {
  if (name == "x86-64")
    return true;
  if (name == "x86-64-v2")
    return supportsAll({"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"});
  if (name == "x86-64-v3")
    return supportsAll(
        {"x86-64-v2", "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"});
  if (name == "x86-64-v4")
    return supportsAll({"x86-64-v3", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  for (const Feature &feature : features) {
    if (feature.name != name)
      continue;
    uint32_t regs[4];
    bool reported = __get_cpuid_count(feature.leaf, feature.subleaf, &regs[eax], &regs[ebx],
                                      &regs[ecx], &regs[edx]) &&
                    regs[feature.reg] >> feature.bit & 1;
    return reported && (feature.state == plain ||
                        (savedState() & feature.state) == static_cast<uint64_t>(feature.state));
  }
  return false;
}
