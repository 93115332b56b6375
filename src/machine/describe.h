//===- describe.h - From what is known of a processor to a Machine ----------===//
//
// Fills what the operating system does not tell (bandwidths, missing caches) with what processors
// of the level sustain. Pure, so that a description can be tested without the machine.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_MACHINE_DESCRIBE_H
#define KINTSUGI_MACHINE_DESCRIBE_H

#include "machine/host.h"
#include "machine/machine.h"

#include <optional>

namespace kintsugi::machine {

/// The levels of the x86-64 psABI supplement, each with all before it.
enum class Level : uint8_t {
  V1, ///< SSE2.
  V2, ///< SSE4.2.
  V3, ///< AVX2, FMA.
  V4, ///< AVX-512 F, BW, CD, DQ, VL.
};

const char *nameOf(Level level);
/// nullopt for another word.
std::optional<Level> levelOf(std::string_view name);

/// `multiplyAdds`: full-width multiply-adds (on V1 and V2, pairs of multiply and add) that a core
/// starts each cycle.
Machine describe(const Host &host, Level level, int multiplyAdds);

} // namespace kintsugi::machine

#endif // KINTSUGI_MACHINE_DESCRIBE_H
