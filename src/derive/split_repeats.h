//===- split_repeats.h - Contractions over what is repeated -----------------===//
//
// Attention whose heads share keys and values in groups is written with each of them repeated for
// every head of a group:
//
//     k[h:32, j, r] = cached[h//4, j, r]
//     s[h:32, j] = sum[r] q[h, r] * k[h, j, r]
//
// Where the iterator becomes two, the group and the place in it, all that follows reads the values
// themselves, and the places in a group are rows of a product that share them:
//
//     s[g:8, p:4, j] = sum[r] q[4*g + p, r] * cached[g, j, r]
//
// The bytes of results lie as before.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_SPLIT_REPEATS_H
#define KINTSUGI_DERIVE_SPLIT_REPEATS_H

#include "explain/log.h"
#include "te/program.h"

namespace kintsugi::derive {

/// An equal program; views that repeat elements for contractions are simple ones there, which
/// simplify::simplify composes away. Nothing: there is no such view. `log` is told of each.
std::optional<te::Program> splitRepeats(const te::Program &program, explain::Log *log = nullptr);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SPLIT_REPEATS_H
