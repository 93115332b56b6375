//===- target.h - What turns tile programs into code ------------------------===//
//
// One implementation a folder below. A target compiles kernels in the tile dialect to a code object
// that the runtime's device of the same kind loads; what targets share (the lowering, the linker)
// is in this folder. No MLIR in this header.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_TARGET_H
#define KINTSUGI_TARGETS_TARGET_H

#include "abi/tensor_map.h"
#include "base/status.h"
#include "tile/program.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kintsugi::targets {

struct CompileOptions {
  std::string level = "x86-64-v3"; ///< Instruction set level that the code may use.
  unsigned threads = 1; ///< Programs compiled at the same time; each program is one unit.
  /// A program that makes machine code of the target's text, by its path; "": none is wanted.
  std::string assembler = {};
  /// Called after each program with how many are done; false stops the work.
  std::function<bool(size_t done, size_t all)> progress;
};

struct CodeObject {
  std::vector<std::byte> bytes;
  std::vector<std::string> stages; ///< Its exported symbols, in the order of the programs.
  bool kernelsWait = false;        ///< See abi/launch.h.
  /// By stage, those whose values it takes; empty: no stage takes any.
  std::vector<std::vector<KinTensorMap>> maps;
  std::vector<std::byte> machineCode = {}; ///< Of the same stages; empty where it is not wanted.
};

/// Text forms on the way to code.
enum class CodeForm { LLVM, Assembly };

class Target {
public:
  virtual ~Target() = default;

  virtual std::string_view name() const = 0;
  /// The launches of a call that its rule accepts, whose code compile() makes where a program names
  /// the site; or why the host does it.
  virtual calls::DeviceCall launchesOfCall(const calls::Site &site) const {
    return {"the target has no code for calls", {}, {}, {}};
  }
  /// One code object with a stage for each kernel of all programs; kernels' names differ. The same
  /// programs and options give the same bytes, whatever the number of threads.
  virtual Expected<CodeObject> compile(const std::vector<const tile::TileProgram *> &programs,
                                       const CompileOptions &options) const = 0;
  virtual Expected<std::string> emit(const tile::TileProgram &program, CodeForm form,
                                     const CompileOptions &options) const = 0;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_TARGET_H
