//===- compile_here.h - Compiling in this process ---------------------------===//
//
// The worker's part of artifacts.h. What hosts link has no compiler in it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_COMPILE_HERE_H
#define KINTSUGI_API_COMPILER_COMPILE_HERE_H

#include "api/compiler/settings.h"
#include "api/compiler/tuned_store.h"

namespace kintsugi::api {

/// What compileTo() does, in this process. Adds to the records under --tune.
Expected<Json> compileHere(TunedRecords &tuned, const std::string &artifact,
                           const std::string &model, const Settings &settings);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_COMPILE_HERE_H
