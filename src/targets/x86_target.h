//===- x86_target.h - Targets that make x86-64 code -------------------------===//
//
// What targets/reference and targets/cpu have in common, which is all but what schedules they are
// given: the register tile of a nest decides between scalar and vector code.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_X86_TARGET_H
#define KINTSUGI_TARGETS_X86_TARGET_H

#include "targets/target.h"

namespace kintsugi::targets {

class X86Target : public Target {
public:
  Expected<CodeObject> compile(const std::vector<const tile::TileProgram *> &programs,
                               const CompileOptions &options) const override;
  Expected<std::string> emit(const tile::TileProgram &program, CodeForm form,
                             const CompileOptions &options) const override;
};

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_X86_TARGET_H
