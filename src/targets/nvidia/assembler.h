//===- assembler.h - From PTX to machine code, by ptxas ---------------------===//
//
// NVIDIA's assembler, a program of its toolkit for CUDA, where it is installed. Nothing needs it:
// drivers make machine code of PTX themselves.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_NVIDIA_ASSEMBLER_H
#define KINTSUGI_TARGETS_NVIDIA_ASSEMBLER_H

#include "base/status.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi::targets {

/// The path of ptxas. A machine error that says what to do where there is none.
Expected<std::string> findAssembler();

/// Machine code for devices of exactly that level ("sm_90a"), with the text's entries. A machine
/// error has what the assembler says.
Expected<std::vector<std::byte>> assemble(const std::string &assembler, std::string_view text,
                                          const std::string &level);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_NVIDIA_ASSEMBLER_H
