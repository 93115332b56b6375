//===- artifacts.h - From a path of a user's to an artifact -----------------===//
//
// What a user names may be a model or an artifact. Models are compiled once: artifacts are kept
// under a digest of the model, the options, the machine and the compiler itself.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_ARTIFACTS_H
#define KINTSUGI_API_COMPILER_ARTIFACTS_H

#include "api/compiler/settings.h"
#include "api/compiler/tuned_store.h"
#include "base/temporary_path.h"
#include "runtime/device.h"

#include <memory>
#include <optional>

namespace kintsugi::api {

struct Prepared {
  std::string path;
  TemporaryPath temporary; ///< Removes the file, where it is of use only now.
  bool fromCache = false;  ///< Found there, so that nothing had to be compiled.
  Json report;      ///< Of the compilation, with "compile_s" and "phases"; null for an artifact.
  std::string note; ///< What is wrong with the store of tuned schedules; empty where nothing is.
  Json decisions;   ///< Of the compilation now, where they are wanted; null where there was none.
};

/// Whether the file starts like an artifact; false where it can't be read.
bool isArtifact(const std::string &path);

/// A usage error for an artifact where only a model will do.
Status checkIsModel(const std::string &path);

/// The device that runs constant programs and compiled models.
std::shared_ptr<runtime::Device> hostDevice();

/// Compiles into a file, in a process of its own. The report has "compile_s", "phases", "notes" and
/// "tuning" besides the pipeline's.
Expected<Json> compileTo(const std::string &artifact, const std::string &model,
                         const Settings &settings);

/// An error where this processor lacks the instructions that code is asked for.
Status checkRuns(const Settings &settings);

/// An artifact for the path: itself, one from the cache, or one compiled now (with the cache
/// switched off, into a temporary file). With what the compiler decided where that is wanted.
Expected<Prepared> prepare(const std::string &path, const Settings &settings,
                           bool wantsDecisions = false);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_ARTIFACTS_H
