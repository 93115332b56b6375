//===- masks.h - Attention computes only what a constant mask leaves --------===//
//
// A derivation on expressions. The regions of constant masks (masked_region.h) are cut into blocks
// of rows and columns; blocks that are hidden as a whole are never computed, and blocks that are
// open as a whole don't test the mask (walk_blocks.h). What is true and what pays are apart: each
// block size gives an equal program, and one is taken only if the price of its kernels is below the
// dense ones'.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_MASKS_H
#define KINTSUGI_DERIVE_MASKS_H

#include "cost/margins.h"
#include "derive/assumptions.h"
#include "explain/log.h"
#include "space/space.h"

namespace kintsugi::derive {

struct MaskOptions {
  space::SpaceOptions space;
  double margin = cost::Margins().maskedBlocks;
  /// Told of each masked region what became of it, and why.
  explain::Log *log = nullptr;
  Assumptions *assumed = nullptr; ///< Told what facts don't prove.
};

Expected<te::Program> skipMaskedBlocks(const te::Program &program, const MaskOptions &options);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_MASKS_H
