//===- near_misses.h - Sums that are some steps from what a rule finds --------===//
//
// A rule looks for one way in which expressions are written. Where they are written otherwise, a
// step that costs more, or nothing, can lead there. Such steps are not tried wherever they are
// possible: here sums are found of which a step brings another rule's pattern nearer, and how many
// steps it is away (EinNet, Zheng et al. 2023: guided derivation by the distance to a target).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_NEAR_MISSES_H
#define KINTSUGI_DERIVE_NEAR_MISSES_H

#include "derive/rule.h"

namespace kintsugi::derive {

/// A sum of products that is added to one with which it would have a factor in common, if the sum
/// that its factor `operand` reads were the outer one:
///     x W + (x A) B  =>  x W + x (A B)
struct NearMiss {
  uint32_t node;
  unsigned operand;
  unsigned distance; ///< Sums that have to change their order until then.
};

/// By node; of a node the nearest.
std::vector<NearMiss> nearMisses(const te::Program &program);

/// The next step of each, whatever it costs: by commute-sums. nullopt where none can be taken.
std::optional<te::Program> repaired(const te::Program &program, llvm::ArrayRef<NearMiss> misses,
                                    const RuleContext &context);

/// What sums take by their arithmetic, by what they leave in memory and as kernels of their own, at
/// the machine's peaks: by which programs are compared before any kernel is known.
double estimatedSeconds(const te::Program &program, const RuleContext &context);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_NEAR_MISSES_H
