//===- fixture.h - Small artifacts for tests of the runtime ---------------===//
//
// Artifacts as the linker writes them, with kernels compiled from stages.c.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TEST_RUNTIME_FIXTURE_H
#define KINTSUGI_TEST_RUNTIME_FIXTURE_H

#include "runtime/artifact_writer.h"
#include "runtime/manifest.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace kintsugi::runtime {

/// The bytes of stages.c and needy.c as shared objects.
std::vector<std::byte> stagesObject();
std::vector<std::byte> needyObject();

/// A manifest and all that goes into an artifact with it; tests change it before they write it.
struct Parts {
  Manifest manifest;
  std::vector<std::vector<std::byte>> constants;
  std::vector<std::byte> code = stagesObject();
  std::vector<std::byte> machineCode = {}; ///< The section "cubin", where it is not empty.

  std::vector<std::byte> bytes() const;
  /// Writes a file in the test's temporary folder and returns its path.
  std::string file(const std::string &name) const;
};

/// x f32[1000] -> t = x * w + b; y f32[1000] = tanh(t); best f32[5], where i64[5] = TopK(t).
/// w[i] = i / 500, b = -1. Two kernels and a call.
Parts affineParts();
std::vector<float> affineInput();
std::vector<float> affineWeights();
std::vector<float> affineExpected();

/// limit i64 -> total i64, trace i64[8], the running sums of 0, 1, 2, ... for as long as they are
/// below the limit, at most 8 of them; a total above 10 is negated at the end.
Parts loopParts();

/// count i64 -> rows f32[3, count <= 4].
Parts raggedParts();

/// Lanes 0 to `count` - 1, each of which sums up 0 to 7 with trace<lane>[8] (inputs as in
/// loopParts(), but it never ends early) and calls "locate" with places<lane>[3] in each step.
Parts lanesParts(uint32_t count);

/// -> places i64[tiles], by `locate`.
Parts locateParts(uint64_t tiles);

} // namespace kintsugi::runtime

#endif // KINTSUGI_TEST_RUNTIME_FIXTURE_H
