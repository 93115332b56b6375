//===- target.h - What a code generator implements --------------------------===//
//
// A target turns tile programs into a code object. A new one is a folder in targets/ with a class of
// this interface, and a line where targets are listed by name.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_TARGET_H
#define KINTSUGI_TARGETS_TARGET_H

#include "machine/machine.h"
#include "tile/build.h"

#include <cstddef>

namespace kintsugi::targets {

struct CodeObject {
  std::vector<std::byte> bytes;
  std::string section;               ///< A name for it, such as "x86-64-v4".
  std::vector<std::string> features; ///< What it asks of the machine, as in /proc/cpuinfo.
};

struct TargetOptions {
  machine::Machine machine;
  unsigned threads = 0;            ///< That compile at the same time; 0: all cores.
  std::function<bool(uint64_t done, uint64_t all)> progress; ///< Kernels; false stops.
};

class Target {
public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;
  /// Whether schedules for it must be scalar.
  virtual bool wantsScalarSchedules() const = 0;
  /// Compiles kernels into one code object that exports each under its name.
  virtual Expected<CodeObject> compile(llvm::ArrayRef<tile::NamedSchedule> kernels,
                                       const TargetOptions &options) = 0;
  /// LLVM IR before code generation, and assembly.
  virtual Expected<std::string> emitLlvm(llvm::ArrayRef<tile::NamedSchedule> kernels,
                                         const TargetOptions &options) = 0;
  virtual Expected<std::string> emitAssembly(llvm::ArrayRef<tile::NamedSchedule> kernels,
                                             const TargetOptions &options) = 0;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_TARGET_H
