//===- before_views.h - What finishes a product comes ahead of a view --------===//
//
// Exporters scale keys after transposing them. Element by element it is the same before:
//
//     p[t, c] = sum[r] x[t, r] * w[r, c]
//     k[h, d, t] = f16(p[t, 64 h + d] * s)    =>    k'[t, c] = f16(p[t, c] * s)
//                                                   k[h, d, t] = k'[t, 64 h + d]
//
// A product is then finished where its elements lie, and its readers read it there: attention has
// its keys in rows, as it has its queries and values, whatever the number of keys is.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_BEFORE_VIEWS_H
#define KINTSUGI_DERIVE_BEFORE_VIEWS_H

#include "explain/log.h"
#include "te/program.h"

namespace kintsugi::derive {

/// The program with what finishes products through transposes and reshapes done before them; the
/// views remain, as definitions that only read. nullopt: there is nothing of the kind. `log` is
/// told of each.
std::optional<te::Program> finishBeforeViews(const te::Program &program,
                                             explain::Log *log = nullptr);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_BEFORE_VIEWS_H
