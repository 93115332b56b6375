//===- machine_code.h - Code of a GPU that is compiled already --------------===//
//
// An artifact may have machine code beside PTX. It is an ELF file of which the driver is told only
// where it begins, so whether its parts lie in it is looked at here.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DEVICES_CUDA_MACHINE_CODE_H
#define KINTSUGI_DEVICES_CUDA_MACHINE_CODE_H

#include "base/status.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace kintsugi::devices::cuda {

/// Whether machine code of an architecture ("sm_80") runs on devices of a compute capability.
bool runsMachineCode(std::string_view architecture, int major, int minor);

/// An input error where the bytes are no machine code, or its parts lie elsewhere.
Status checkMachineCode(std::span<const std::byte> bytes);

} // namespace kintsugi::devices::cuda

#endif // KINTSUGI_DEVICES_CUDA_MACHINE_CODE_H
