//===- scan_segment.h - Some steps of a chained scan ------------------------===//
//
// A scan and the products before it for a part of its steps, as nodes of a program: the program
// that the scan is in, or the body of a loop over blocks of steps.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_SCAN_SEGMENT_H
#define KINTSUGI_DERIVE_SCAN_SEGMENT_H

#include "derive/scan_chain.h"

#include <map>

namespace kintsugi::derive {

/// Where a segment's nodes go, and what stands there for values of the old program.
struct SegmentPlace {
  te::Program &target;
  std::string suffix; ///< Of the new values' names.
  /// What any other value than the sources is here.
  llvm::function_ref<te::ValueId(te::ValueId)> other;
  /// In a loop over blocks: its number, a scalar i64, and how many steps a block has.
  std::optional<te::ValueId> block;
  int64_t blockSize = 0;
};

struct Segment {
  int64_t begin, count; ///< Steps; in a loop over blocks, of block 0.
  /// The carried tensors' first values, in the target.
  llvm::SmallVector<te::ValueId> initial;
  /// For each source what holds its steps, from `sourcesBegin` on, in the target.
  llvm::SmallVector<te::ValueId> sources;
  int64_t sourcesBegin = 0;
};

/// The products ahead of a segment's scan: by old value what stands for it.
using Products = std::map<te::ValueId, te::ValueId>;
Products addProducts(const te::Program &old, const ChainedScan &link, const Segment &segment,
                     const SegmentPlace &place);

/// Adds the products and the scan. The results of the scan: final carried tensors, then the stacked
/// ones, of `count` steps.
llvm::SmallVector<te::ValueId> addSegment(const te::Program &old, const ChainedScan &link,
                                          const Segment &segment, const SegmentPlace &place);

/// The part of `value` (in `target`) from step `begin` on: `count` steps, under a name.
te::ValueId stepsOf(te::Program &target, std::string name, te::ValueId value,
                    const te::Index &begin, int64_t count);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SCAN_SEGMENT_H
