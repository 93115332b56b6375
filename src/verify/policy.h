//===- policy.h - How far a result may be from the right one ----------------===//
//
// The one place that says what "agrees" means; docs/architecture.md publishes it. Errors are taken
// of the largest magnitude in an output, and may grow with K, the number of terms that were added
// up along the longest path to it: rounding errors of sums behave like a random walk, hence the
// square root (Higham, Accuracy and Stability of Numerical Algorithms, section 2.8).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_VERIFY_POLICY_H
#define KINTSUGI_VERIFY_POLICY_H

#include "base/precision.h"
#include "te/program.h"

#include <vector>

namespace kintsugi::verify {

/// What decides how exact an output can be.
struct Exactness {
  double depth = 1;                        ///< K, at least 1.
  ElementType coarsest = ElementType::F64; ///< Of the floats that it was computed from.

  bool operator==(const Exactness &) const = default;
};

/// For each output of a program: lengths of reductions (sums, products, softmax) added up along the
/// longest path, loops times their trips; and the float type of fewest bits among computed values
/// on any path to it, or what `precision` lets f32 be rounded to.
std::vector<Exactness> exactnessOf(const te::Program &program,
                                   Precision precision = Precision::F32);

/// The largest allowed difference over the largest magnitude in the output; 0 means exact. f32 and
/// f64: 2e-6 sqrt(K), at most 1e-3. f16: 2e-3 sqrt(1 + log2 K), at most 2e-2. bf16 and narrower: 8
/// times that. Integers and booleans: 0.
double tolerance(ElementType output, const Exactness &exactness);

/// Some networks amplify what rounding their weights alone changes beyond any fixed tolerance.
/// Where f32 values are stored in fewer bits at the user's word, a difference is therefore also
/// allowed that is at most this many times that of the model as it is written, computed in f64 and
/// rounded only where a value is stored: half of it again, for another order of roundings.
constexpr double shareOfRounding = 1.5;

/// Whatever rounding alone costs: an output of nothing but zeros is off by 1.
constexpr double mostOfRounding = 0.5;

} // namespace kintsugi::verify

#endif // KINTSUGI_VERIFY_POLICY_H
