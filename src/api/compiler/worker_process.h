//===- worker_process.h - Compilations in a process of their own ----------------===//
//
// Whatever a model does to the compiler, the caller goes on: a request is served by a process that
// may abort, run out of its stack or its memory, or never end.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_WORKER_PROCESS_H
#define KINTSUGI_API_COMPILER_WORKER_PROCESS_H

#include "api/compiler/request.h"

namespace kintsugi::api {

/// Has a process of its own serve the request, within the settings' limits; the settings' progress
/// is told from the calling thread. An internal error, which names a folder with what reproduces
/// it, where the compiler is at fault; a machine error where a limit is reached.
Expected<Answer> ask(const Request &request, const Settings &settings);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_WORKER_PROCESS_H
