//===- link.h - From plans to an artifact -----------------------------------===//
//
// Compiles plans' kernels with a target, runs their constant programs on the host, and writes code,
// constants and manifests. An artifact has a plan for each level of the instruction set that it is
// made for; what is alike between them it stores once.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LINK_LINK_H
#define KINTSUGI_LINK_LINK_H

#include "link/constant_program.h"
#include "targets/target.h"
#include "tile/build.h"

namespace kintsugi::link {

struct LinkOptions {
  std::string compilerVersion;
  std::string precision = "f32";
  ConstantOptions constants;
  targets::CompileOptions target; ///< Its level is that of the constant program's kernels.
  bool severalVariants = false;   ///< Then what is alike between them is looked for.
  /// Compiles the constant programs, where the target's code does not run on the host.
  const targets::Target *constantsTarget = nullptr;
};

/// Whom a plan is for.
struct Variant {
  std::string level;                 ///< That its kernels are compiled for.
  std::vector<std::string> features; ///< What the code asks of a machine, as in /proc/cpuinfo.
  /// The same kernels compiled for lesser machines as well, best first.
  struct Code {
    std::string level;
    std::vector<std::string> features;
  };
  std::vector<Code> lesser = {};
  /// Its plan is of some sizes of the model's open dimension: "/" and the greatest of them; or "".
  std::string sizes = "";

  std::string name() const { return level + sizes; }
};

struct LinkReport {
  uint64_t constantBytes = 0;
  uint64_t peakBytes = 0;
};

/// The kernels that stages below a node of the plan run, each once.
std::vector<unsigned> kernelsOf(const orchestrate::Plan &plan, const orchestrate::PlanNode &node);

/// Some launches of a plan's kernels.
Expected<tile::TileProgram> programOf(const orchestrate::Plan &plan,
                                      llvm::ArrayRef<tile::Launch> launches);

class Linker {
public:
  /// `device` runs the constant programs. The writer must be fresh.
  Linker(const targets::Target &target, runtime::Device &device, runtime::ArtifactWriter &writer,
         LinkOptions options)
      : target(target), device(device), writer(writer), options(std::move(options)),
        pool(writer, this->options.severalVariants) {}

  /// Variants come best first, each with a name of its own; those of some sizes ahead of all
  /// others.
  Status add(const orchestrate::Plan &plan, const Variant &variant);

  /// Completes the artifact. `provenance` goes into it as it stands.
  Expected<LinkReport> finish(const Json &provenance);

private:
  struct Linked {
    std::string name;
    std::string sizes;
    /// By section; none where no stage is a kernel.
    std::vector<std::pair<std::string, std::vector<std::byte>>> code;
    runtime::Manifest manifest;
  };

  Status addCode(const orchestrate::Plan &plan, const Variant::Code &code, Linked &linked);

  const targets::Target &target;
  runtime::Device &device;
  runtime::ArtifactWriter &writer;
  LinkOptions options;
  ConstantPool pool;
  std::vector<Linked> variants;
  uint64_t peakBytes = 0;
};

} // namespace kintsugi::link

#endif // KINTSUGI_LINK_LINK_H
