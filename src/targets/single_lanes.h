//===- single_lanes.h - Masked stores of one lane ---------------------------===//
//
// LLVM 22 makes a masked store with a constant mask of one lane a store of that element, but of the
// bytes that it had before it was truncated, where vectors are truncated on the way (AVX-512): it
// writes over the element's neighbour, which another worker may own. Said as a store of one
// element, it stays one.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TARGETS_SINGLE_LANES_H
#define KINTSUGI_TARGETS_SINGLE_LANES_H

#include "llvm/IR/Module.h"

namespace kintsugi::targets {

void storeSingleLanes(llvm::Module &module);

} // namespace kintsugi::targets

#endif // KINTSUGI_TARGETS_SINGLE_LANES_H
