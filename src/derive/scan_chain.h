//===- scan_chain.h - Scans that feed each other step by step ---------------===//
//
// A chain is a list of scans of equally many steps, each of which takes at its step t what the one
// before gave out at step t: as it is, or through definitions that keep the steps apart, such as a
// layer's product with its input. Such scans need not run one after another: once the first is some
// steps ahead, both can go on side by side (merge_scans.h).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_SCAN_CHAIN_H
#define KINTSUGI_DERIVE_SCAN_CHAIN_H

#include "te/program.h"

namespace kintsugi::derive {

struct ChainedScan {
  uint32_t node;
  /// The definitions between the scan before and this one, in program order; none for the first.
  llvm::SmallVector<uint32_t> products;
  /// Stacked results of the scan before that the products or the scan read.
  llvm::SmallVector<te::ValueId> sources;
  /// By captured value: the body reads it at the present step and nowhere else.
  llvm::SmallVector<bool> stepInputs;
  /// The first scan of the chain with which this one can be merged: what else it and its products
  /// read depends on neither that scan nor on those in between.
  unsigned earliest = 0;
};

struct ScanChain {
  int64_t steps = 0;
  std::vector<ChainedScan> scans; ///< Two or more.
};

/// The chains among the nodes of a program; each scan is in one at most.
std::vector<ScanChain> findScanChains(const te::Program &program);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SCAN_CHAIN_H
