//===- kernel.h - A scheduled group, whichever program it is from -----------===//
#ifndef KINTSUGI_LOOPS_KERNEL_H
#define KINTSUGI_LOOPS_KERNEL_H

#include "loops/group_key.h"
#include "loops/point.h"
#include "loops/schedule.h"

#include <memory>

namespace kintsugi::loops {

/// A kernel's program-independent part, shared by all equal candidates, and what prices are of.
struct KernelShape {
  GroupKey key; ///< Of the group that was scheduled, by itself in space's candidates.
  Schedule schedule;
  double computeSeconds = 0;
  Point point; ///< Of the schedule; empty where it was read from text.
  /// With a tuned schedule: what the machine description would have, and which share of its time
  /// the tuned one was measured to take. Its cost is that share of the other's, so that measured
  /// kernels and those that were not compare.
  std::shared_ptr<const KernelShape> untuned;
  double gain = 1;
  double measuredSeconds = 0; ///< That it was measured to take in a run of a model; 0: it was not.
  double bias = 1;            ///< What other kernels were measured to take of what was predicted.
};

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_KERNEL_H
