//===- trim.h - Which tiles a run of a smaller size needs -------------------===//
#ifndef KINTSUGI_LINK_TRIM_H
#define KINTSUGI_LINK_TRIM_H

#include "orchestrate/plan.h"
#include "runtime/open_dimension.h"

namespace kintsugi::link {

/// Whether a run of a smaller size may leave tiles out: what it needs is known of all buffers. What
/// it does not need holds anything then, where otherwise all inputs' elements are ones that a model
/// may have, and so are those of what is made of them.
bool mayTrim(const orchestrate::Plan &plan);

/// Of a kernel of a plan that may be trimmed; nullopt where all tiles are needed.
std::optional<runtime::Trim> trimOf(const orchestrate::Plan &plan, const orchestrate::Stage &stage);

} // namespace kintsugi::link

#endif // KINTSUGI_LINK_TRIM_H
