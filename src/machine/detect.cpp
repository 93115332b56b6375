//===- detect.cpp - The machine that this runs on ---------------------------===//
//
// Nothing is measured: the description is the same in every run on a machine, so that compiles are
// reproducible. Bandwidths follow from the frequency by what x86-64 processors of the last ten
// years sustain; the store of measured kernels corrects what they get wrong.
//
//===----------------------------------------------------------------------===//
#include "base/processors.h"
#include "machine/describe.h"
#include "machine/host.h"
#include "machine/machine.h"

#include <cpuid.h>

namespace kintsugi::machine {

namespace {

Level detectLevel() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4"))
    return Level::V4;
  if (__builtin_cpu_supports("x86-64-v3"))
    return Level::V3;
  return __builtin_cpu_supports("x86-64-v2") ? Level::V2 : Level::V1;
}

/// Zen 4 passes a 512-bit operation through its 256-bit units in two halves.
bool halvesWideVectors() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_AMD_ebx || !__get_cpuid(1, &a, &b, &c, &d))
    return false;
  unsigned family = (a >> 8 & 0xf) + (a >> 20 & 0xff);
  return family <= 0x19;
}

/// The maximum frequency of leaf 16h; 0 where the processor does not state it.
double statedHertz() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x16, &a, &b, &c, &d) ? (b & 0xffff) * 1e6 : 0;
}

Host detectHost() {
  Host host = readHost("", allowedProcessors());
  if (double hertz = statedHertz(); hertz > 0)
    host.hertz = hertz;
  return host;
}

Machine describeAt(const Host &host, Level level) {
  return describe(host, level, level == Level::V4 && halvesWideVectors() ? 1 : 2);
}

} // namespace

Machine Machine::detect() { return describeAt(detectHost(), detectLevel()); }

Machine Machine::detectAt(Level level) { return describeAt(detectHost(), level); }

std::vector<Machine> Machine::detectLevels() {
  Host host = detectHost();
  std::vector<Machine> machines;
  for (Level level : {Level::V4, Level::V3})
    if (level <= detectLevel())
      machines.push_back(describeAt(host, level));
  return machines;
}

/// Hypervisors give many processors one name, so it has their signature too.
std::string Machine::identity() {
  unsigned signature = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &signature, &b, &c, &d);
  Machine machine = detect();
  std::string text = machine.name + " " + std::to_string(signature) + " " + machine.level + " " +
                     std::to_string(machine.cores);
  for (const MemoryLevel &level : machine.levels)
    if (&level != &machine.memory())
      text += " " + level.name + " " + std::to_string(level.bytes) + " " +
              std::to_string(level.sharedBy);
  return text;
}

} // namespace kintsugi::machine
