//===- sum_price.h - When fewer terms of a sum pay --------------------------===//
//
// What rules leave of a sum of products is counted as multiply-adds: no more is known of what
// kernels there will be, and the solver chooses between what is made and what was there.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_SUM_PRICE_H
#define KINTSUGI_DERIVE_SUM_PRICE_H

#include "derive/rule.h"

namespace kintsugi::derive {

/// A sum of products of two factors, in floats; null: the node is something else.
const te::Definition *sumOfProducts(const te::Node &node);

/// What is left of a sum.
struct LessOfSum {
  double terms;         ///< Of each result, as many as it is multiply-adds,
  double times = 1;     ///< and how many multiply-adds each takes in truth.
  unsigned kernels = 1; ///< At most.
};

/// Whether less saves what a launch costs for each kernel, by the rule's margin; or, where
/// `isDominant`, whether the sum as it is takes longer by its arithmetic alone.
bool pays(const LessOfSum &less, const te::Program &program, const te::Definition &sum,
          const RuleContext &context, bool isDominant);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_SUM_PRICE_H
