//===- reference.h - The reference target: each definition alone, in doubles
//
// What `compare` measures others against: its schedules are scalar and its programs promoted to
// f64, so that the code is simple and rounding is negligible.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_REFERENCE_REFERENCE_H
#define KINTSUGI_TARGETS_REFERENCE_REFERENCE_H

#include "targets/target.h"

#include <memory>

namespace kintsugi::targets {

std::unique_ptr<Target> createReferenceTarget();

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_REFERENCE_REFERENCE_H
