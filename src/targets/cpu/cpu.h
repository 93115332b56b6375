//===- cpu.h - The cpu target: vector code for x86-64
//
// Schedules for it use register tiles of the machine's vector width.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_CPU_CPU_H
#define KINTSUGI_TARGETS_CPU_CPU_H

#include "targets/target.h"

#include <memory>

namespace kintsugi::targets {

std::unique_ptr<Target> createCpuTarget();

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_CPU_CPU_H
