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

namespace kintsugi::machine {

/// `multiplyAdds`: full-width multiply-adds (on V1 and V2, pairs of multiply and add) that a core
/// starts each cycle.
Machine describe(const Host &host, Level level, int multiplyAdds);

} // namespace kintsugi::machine

#endif // KINTSUGI_MACHINE_DESCRIBE_H
