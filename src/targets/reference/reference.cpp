//===- reference.cpp - The reference target
//===----------------------------------------------------------------------===//

#include "targets/reference/reference.h"

#include "targets/x86_target.h"

namespace kintsugi::targets {

namespace {

class ReferenceTarget final : public X86Target {
public:
  std::string_view name() const override { return "reference"; }
};

} // namespace

std::unique_ptr<Target> createReferenceTarget() { return std::make_unique<ReferenceTarget>(); }

} // namespace kintsugi::targets
