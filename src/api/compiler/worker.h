//===- worker.h - A process that serves one request ----------------------------===//
//
// The other side of worker_process.h. What goes wrong here ends this process alone: by a signal
// that it reports on its error stream with a trace of calls, or where memory ran out by an exit
// code of its own.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_WORKER_H
#define KINTSUGI_API_COMPILER_WORKER_H

#include "api/compiler/request.h"
#include "base/diagnostics.h"

namespace kintsugi::api {

/// How a worker ends for which there is not enough memory.
constexpr int outOfMemoryCode = static_cast<int>(ErrorKind::Machine);

/// Serves the request that comes through the channel that the process was started with, and gives
/// the process's exit code. `observer` is told of each phase after the host.
int serveRequest(const Progress &observer = {});

/// The work itself, in this process.
Expected<Answer> serve(const Request &request, const Settings &settings);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_WORKER_H
