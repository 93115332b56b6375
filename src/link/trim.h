//===- trim.h - Which tiles a run of a smaller size needs -------------------===//
#ifndef KINTSUGI_LINK_TRIM_H
#define KINTSUGI_LINK_TRIM_H

#include "orchestrate/plan.h"
#include "runtime/open_dimension.h"

namespace kintsugi::link {

/// Of a kernel of a plan that may be trimmed, the outermost first; none where all tiles are needed.
std::vector<runtime::Trim> trimsOf(const orchestrate::Plan &plan, const orchestrate::Stage &stage);

} // namespace kintsugi::link

#endif // KINTSUGI_LINK_TRIM_H
