//===- link_elf.h - From objects to a shared object -------------------------===//
//
// LLVM's linker, in this process. What it makes needs nothing: no library, no undefined symbol.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_LINK_ELF_H
#define KINTSUGI_TARGETS_LINK_ELF_H

#include "base/status.h"

#include <cstddef>
#include <string>
#include <vector>

namespace kintsugi::targets {

/// Links relocatable x86-64 objects, in this order, into the bytes of a shared object. Any thread
/// may call it; calls take turns.
Expected<std::vector<std::byte>> linkElf(const std::vector<std::string> &objects);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_LINK_ELF_H
