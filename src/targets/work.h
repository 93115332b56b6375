//===- work.h - Programs compiled at the same time --------------------------===//
#ifndef KINTSUGI_TARGETS_WORK_H
#define KINTSUGI_TARGETS_WORK_H

#include "targets/target.h"

namespace kintsugi::targets {

/// What `compile` makes of each program, in their order, with as many threads as the options say.
/// The first failure, or the caller's wish to stop, ends the work.
Expected<std::vector<std::string>>
compileEach(const std::vector<const tile::TileProgram *> &programs, const CompileOptions &options,
            const std::function<Expected<std::string>(const tile::TileProgram &)> &compile);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_WORK_H
