//===- settings.h - The compiler's options, from JSON ---------------------===//
//
// What a caller of the C interface asks for, checked and turned into the pipeline's own values.
// Messages speak in the command line's words, where most options come from.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_API_COMPILER_SETTINGS_H
#define KINTSUGI_API_COMPILER_SETTINGS_H

#include "base/hash.h"
#include "kintsugi/compiler.h"
#include "pipeline/pipeline.h"

namespace kintsugi::api {

/// What an artifact is compiled for.
enum class Purpose : uint8_t { ThisMachine, AllMachines, Reference, RoundedReference };

struct Settings {
  pipeline::CompileOptions compile;
  int device = 0; ///< Of the target cuda: the number of the device that runs models.
  /// The level of the instruction set asked for; nothing for what suits the purpose.
  std::optional<machine::Level> level;
  std::string calibrationDigest; ///< Of the content of compile.calibration.
  bool cache = true;
  std::vector<std::string> compileFlags; ///< Those given that decide what an artifact holds.
  double timeoutSeconds = 0;             ///< That a compilation may take; 0 for no limit.
  uint64_t maxMemory = 0; ///< Bytes that a compilation may take: by default all of the machine's.
  std::string given;      ///< The options as JSON, from which readSettings() makes the same.
  Purpose purpose = Purpose::ThisMachine;

  Settings as(Purpose wanted) const;

  /// To compile a model for other machines as well: the artifact gets code for each level, unless
  /// one was asked for.
  Settings forAllMachines() const;

  /// The same for the reference, against which others are compared.
  Settings forReference() const;

  /// The reference with every f32 value rounded to the precision's digits: what these alone cost
  /// the model as it is written.
  Settings forRoundedReference() const;

  /// Tells the caller what goes on besides the phases of a compilation; a usage error where it asks
  /// to stop.
  Status tell(std::string_view phase) const;

  /// Everything in the options that decides what an artifact holds, the machine included.
  void addTo(Blake3 &key) const;

private:
  friend Expected<Settings> readSettings(const KinCompilerOptions *options);
  std::string identity;
};

/// The command line's word for an option.
std::string flagOf(const std::string &key);

/// A usage error for an unknown key or value; an input error for a file to bind that is wrong.
Expected<Settings> readSettings(const KinCompilerOptions *options);

} // namespace kintsugi::api

#endif // KINTSUGI_API_COMPILER_SETTINGS_H
