//===- link.h - From a plan to an artifact ----------------------------------===//
//
// Compiles the plan's kernels with a target, runs the constant program on the host, and writes
// code, constants and manifest.
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
  targets::CompileOptions target;
  std::vector<std::string> features; ///< What the code asks of a machine, as in /proc/cpuinfo.
};

struct LinkReport {
  uint64_t constantBytes = 0;
  uint64_t peakBytes = 0;
};

/// The kernels that stages below a node of the plan run, each once.
std::vector<unsigned> kernelsOf(const orchestrate::Plan &plan, const orchestrate::PlanNode &node);

/// `provenance` goes into the artifact as it stands. The writer must be fresh; it is finished.
Expected<LinkReport> link(const orchestrate::Plan &plan, targets::Target &target,
                          runtime::Device &device, runtime::ArtifactWriter &writer,
                          const Json &provenance, const LinkOptions &options);

} // namespace kintsugi::link

#endif // KINTSUGI_LINK_LINK_H
