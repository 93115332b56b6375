#include "pipeline/target_names.h"

namespace kintsugi::pipeline {

Status checkTarget(const std::string &name) {
#define KINTSUGI_TARGET(NAME, CREATE)                                                              \
  if (name == #NAME)                                                                               \
    return Status::success();
#include "pipeline/targets.inc"
#undef KINTSUGI_TARGET
  return usageError("--target " + name + ": there is no such target; use cpu, cuda or reference");
}

} // namespace kintsugi::pipeline
