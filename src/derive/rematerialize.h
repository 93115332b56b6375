//===- rematerialize.h - Cheap values computed again where they are read ----===//
//
// A value that several kernels read is stored and comes from memory for each of them. Where it is
// made point by point of what is stored anyway, or of much smaller values, each reader may compute
// it itself, and nothing is stored:
//
//     r[i, j] = max(x[i, j], 0)                 a[i] = sum[j] max(x[i, j], 0)
//     a[i] = sum[j] r[i, j]             =>      b[j] = max[i] max(x[i, j], 0)
//     b[j] = max[i] r[i, j]
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_REMATERIALIZE_H
#define KINTSUGI_DERIVE_REMATERIALIZE_H

#include "explain/log.h"
#include "te/program.h"

namespace kintsugi::derive {

/// The program with all such values computed where they are read; nothing where there is none.
std::optional<te::Program> rematerialize(const te::Program &program, explain::Log *log = nullptr);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_REMATERIALIZE_H
