//===- constant_program.h - Computing constants once ------------------------===//
//
// Runs the plan's constant program (folded arithmetic, packed weights) on the host while linking
// and streams what the main program needs into the artifact. Sources are loaded when a stage first
// needs them and dropped after the last, so memory holds what is in flight, not the whole model.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LINK_CONSTANT_PROGRAM_H
#define KINTSUGI_LINK_CONSTANT_PROGRAM_H

#include "orchestrate/plan.h"
#include "runtime/artifact_writer.h"
#include "runtime/device.h"

#include <map>

namespace kintsugi::link {

/// The constants of an artifact. Where it has several variants each is stored once: those that need
/// the same share it.
class ConstantPool {
public:
  ConstantPool(runtime::ArtifactWriter &writer, bool shared) : writer(writer), shared(shared) {}

  /// Where it is among the artifact's constants.
  Expected<uint64_t> add(std::span<const std::byte> bytes);

private:
  runtime::ArtifactWriter &writer;
  bool shared;
  std::map<Digest, uint64_t> offsets;
};

struct ConstantOptions {
  uint64_t memoryBudget = uint64_t(8) << 30; ///< Bytes in flight; more is a machine error.
  unsigned threads = 0;
  std::string model; ///< The file, which errors name; "" for a program that came from none.
};

struct ConstantResult {
  std::map<unsigned, uint64_t> offsets; ///< Of each constant buffer that the main program needs.
  uint64_t peakBytes = 0;
};

/// `code` is a code object with the kernels of the constant program; empty if it has none.
Expected<ConstantResult> runConstantProgram(const orchestrate::Plan &plan,
                                            std::span<const std::byte> code,
                                            std::string_view targetName, runtime::Device &device,
                                            ConstantPool &pool, const ConstantOptions &options);

} // namespace kintsugi::link

#endif // KINTSUGI_LINK_CONSTANT_PROGRAM_H
