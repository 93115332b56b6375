//===- processors.h - The processors that this process may run on -----------===//
//
// A machine may have more: an affinity mask keeps a process on some of them, and threads for the
// others would only wait for each other.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_BASE_PROCESSORS_H
#define KINTSUGI_BASE_PROCESSORS_H

#include <vector>

namespace kintsugi {

/// The numbers of the logical processors in the affinity mask, ascending; at least one.
std::vector<int> allowedProcessors();

} // namespace kintsugi

#endif // KINTSUGI_BASE_PROCESSORS_H
