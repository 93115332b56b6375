//===- margins.h - How far predictions are believed --------------------------===//
//
// Predictions err, and not all alike: a form replaces another only where it is predicted to be
// quicker by more than predictions of its kind err. All such margins stand here, to be compared
// with what `./dev bench cost` measures.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_COST_MARGINS_H
#define KINTSUGI_COST_MARGINS_H

namespace kintsugi::cost {

/// Shares of the time of what is replaced, where not said otherwise.
struct Margins {
  double sideBySideScans = 0.18; ///< Barriers are estimated worst of all.
  double lanes = 0.1;            ///< Of scans in lanes of a plan.
  double maskedBlocks = 0.05;
  double winograd = 0.12;
  double windowProducts = 0.2;
  double separateWindows = 0.05;
  double bandProducts = 0.2;
  double splitReduction = 0.2;
  double splitReductionSeconds = 2e-6; ///< Another launch, beside the share.
  double splitKeys = 0;                ///< What joins the parts is priced with them.
  /// What is merged can't share kernels with different readers.
  double mergedProducts = 0.03;
  double mergedLaunches = 0.5; ///< Of what a launch costs.
  double commutedSums = 1;     ///< Of what a launch costs, for each definition that sums become.
  /// Of what a launch costs, for each further kernel that the solver puts into one: so that nothing
  /// is taken apart for next to nothing.
  double sharedLaunches = 0.05;
  double alternatives = 0.03; ///< Of kernels that are not of the form that rules choose alone.

  /// Whatever is possible is taken: for tests of what is equal.
  static Margins none();
};

} // namespace kintsugi::cost

#endif // KINTSUGI_COST_MARGINS_H
