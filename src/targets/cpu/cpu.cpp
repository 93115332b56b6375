//===- cpu.cpp - The cpu target
//===----------------------------------------------------------------------===//

#include "targets/cpu/cpu.h"

#include "targets/x86_target.h"

namespace kintsugi::targets {

namespace {

class CpuTarget final : public X86Target {
public:
  std::string_view name() const override { return "cpu"; }
};

} // namespace

std::unique_ptr<Target> createCpuTarget() { return std::make_unique<CpuTarget>(); }

} // namespace kintsugi::targets
