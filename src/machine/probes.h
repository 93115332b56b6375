//===- probes.h - Work for one core that shows what it can do ---------------===//
//
// The loops that a measurement times: each keeps one unit busy and does nothing else. They run at a
// level of the instruction set that the processor has, which the caller has checked.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_MACHINE_PROBES_H
#define KINTSUGI_MACHINE_PROBES_H

#include "machine/machine.h"

#include <cstddef>
#include <span>

namespace kintsugi::machine {

/// Sizes of what is read or copied are multiples of this, and its addresses too.
inline constexpr uint64_t probeBlock = 1024;

/// Reads all bytes, from first to last, so many times.
void probeRead(Level level, std::span<const std::byte> bytes, uint64_t passes);

/// Copies the first half over the second, so many times.
void probeCopy(Level level, std::span<std::byte> bytes, uint64_t passes);

/// Independent multiply-adds on full vectors of f32 or f64. Returns how many operations on numbers
/// that were; a multiply-add is two.
double probeMultiplyAdds32(Level level, uint64_t steps);
double probeMultiplyAdds64(Level level, uint64_t steps);

} // namespace kintsugi::machine

#endif // KINTSUGI_MACHINE_PROBES_H
