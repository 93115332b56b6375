//===- block_emulator.h - Blocks of threads on a processor ------------------===//
//
// Runs the entries of a module for NVIDIA's devices on this machine: threads of a block are
// contexts that take turns and change at the block's waits, in an order that differs from wait to
// wait, so that code which needs one that is not there shows it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_TARGETS_BLOCK_EMULATOR_H
#define KINTSUGI_TEST_TARGETS_BLOCK_EMULATOR_H

#include "calls/device_call.h"

#include <string>
#include <vector>

namespace kintsugi::test {

/// Runs the launches that a call becomes, on operands, then results, then what is between them,
/// which is made here. Returns what is wrong, or "".
std::string emulateCall(const calls::Site &site, const std::vector<std::byte *> &operands,
                        std::vector<std::byte> *report = nullptr);

} // namespace kintsugi::test

#endif // KINTSUGI_TEST_TARGETS_BLOCK_EMULATOR_H
