#include "pipeline/targets.h"

#include "pipeline/target_names.h"
#include "targets/cpu/cpu.h"
#include "targets/nvidia/assembler.h"
#include "targets/nvidia/nvidia.h"
#include "targets/reference/reference.h"

namespace kintsugi::pipeline {

Expected<std::unique_ptr<targets::Target>> makeTarget(const std::string &name) {
#define KINTSUGI_TARGET(NAME, CREATE)                                                              \
  if (name == #NAME)                                                                               \
    return targets::CREATE();
#include "pipeline/targets.inc"
#undef KINTSUGI_TARGET
  return checkTarget(name).takeError();
}

bool runsOnHost(const targets::Target &target) { return target.name() != "cuda"; }

bool isReference(const targets::Target &target) { return target.name() == "reference"; }

std::vector<std::string> featuresOf(const std::string &level) {
  std::vector<std::string> features;
  if (level == "x86-64-v3" || level == "x86-64-v4")
    features = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "movbe"};
  if (level == "x86-64-v4")
    features.insert(features.end(), {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  if (level.starts_with("sm_"))
    features = {level};
  return features;
}

std::vector<std::string> lesserCodeOf(const std::string &level) {
  return level == "sm_90a" ? std::vector<std::string>{"sm_80"} : std::vector<std::string>();
}

Expected<std::string> findAssembler() {
  auto path = targets::findAssembler();
  if (!path.ok())
    return at("--cubins", path.takeError());
  return path;
}

} // namespace kintsugi::pipeline
