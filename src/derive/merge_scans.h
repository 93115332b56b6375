//===- merge_scans.h - Scans of a chain side by side, some steps apart ------===//
//
// Runs neighbouring scans of a chain (scan_chain.h) as one loop over blocks of steps. In iteration
// i the scan number l of L does its steps
//
//     (L - 1 - l) * block + i * block  ...  and `block` - 1 more,
//
// so that what it takes from the scan before was given out one iteration ago: the loop's body holds
// L scans of `block` steps each that don't wait for each other, and the products between them for a
// block of steps at once. The steps that are missing at either end run as scans of their own before
// and after the loop, so that no scan ever computes a step that is not one of its own, and every
// number is computed as before.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_MERGE_SCANS_H
#define KINTSUGI_DERIVE_MERGE_SCANS_H

#include "derive/scan_chain.h"

namespace kintsugi::derive {

struct WaveScan;

/// Scans `first` to `first + count` - 1 of a chain, each of which can be merged with the first.
struct MergedScans {
  const ScanChain *chain;
  unsigned first, count;
  int64_t block; ///< At most steps / count.
  /// In place of blocks: the scans as one scan over waves (wave_scans.h).
  std::shared_ptr<const WaveScan> wave;

  int64_t iterations() const { return chain->steps / block - (count - 1); }
  /// The ONNX nodes that any of the scans comes from.
  std::vector<std::string> origins(const te::Program &program) const;
  /// Steps of scan `number` (from 0) ahead of the loop, and those after it.
  int64_t lead(unsigned number) const { return (count - 1 - number) * block; }
  int64_t rest(unsigned number) const { return number * block + chain->steps % block; }
  llvm::ArrayRef<ChainedScan> scans() const {
    return llvm::ArrayRef(chain->scans).slice(first, count);
  }
};

/// Whether no two groups wait for each other's results. No two share a scan.
bool canMergeAll(const te::Program &program, llvm::ArrayRef<MergedScans> merged);

/// An equal program, where they can all be merged.
te::Program mergeScans(const te::Program &program, llvm::ArrayRef<MergedScans> merged);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_MERGE_SCANS_H
