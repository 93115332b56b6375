//===- policy.h - How far a result may be from the right one ----------------===//
//
// The one place that says what "agrees" means; docs/precision.md publishes it. Errors are taken
// of the largest magnitude in an output, and may grow with K, the number of terms that were added
// up along the longest path to it: rounding errors of sums behave like a random walk, hence roots
// (Higham, Accuracy and Stability of Numerical Algorithms, section 2.8).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_VERIFY_POLICY_H
#define KINTSUGI_VERIFY_POLICY_H

#include "base/precision.h"
#include "te/program.h"
#include "verify/compare.h"

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
/// on any path to it (what is read is as it is), or what `precision` lets f32 be rounded to.
std::vector<Exactness> exactnessOf(const te::Program &program,
                                   Precision precision = Precision::F32);

/// How far an output may be off.
struct Limits {
  double whole = 0;    ///< The largest difference over the largest magnitude; 0 means exact.
  double inSlices = 0; ///< The same slice by slice: see Difference::inSlices.

  bool allow(const Difference &found) const {
    return found.relative <= whole && found.inSlices <= inSlices;
  }
};

/// Integers and booleans: 0. f64: 1e-14 sqrt(K), at most 1e-11. f32: 6e-7 K^(1/4), near what right
/// code needs (a convolution by Winograd's F(4, 3) in both dimensions 5e-7, others half of that),
/// at most 1e-3: norms and skipped layers keep the errors of a deep network from adding up.
/// f16: 2e-3 sqrt(1 + log2 K), at most 2e-2. bf16 and narrower: 8 times that. In slices twice as
/// much for f32, 4 times for others.
Limits limitsOf(ElementType output, const Exactness &exactness);
constexpr double shareOfSlices = 4;

/// For the Difference: what slices have at least of the whole's magnitude. Where values are rounded
/// to f16 or bf16 what is left of numbers that cancel is larger, so that small slices say less.
double leastShareOfSlice(ElementType output, const Exactness &exactness);

/// `limits` as far as they widen for an output that a model makes worse than others do: `rounding`
/// is by how much the model as it is written is off when it is computed in f64 and every f32 value
/// is rounded, once and naively, to the type that the output is judged by. In f32 the limits are 15
/// times that, at most 2e-6 sqrt(K) and at most 1e-3. In fewer bits, where the user asked for them,
/// 1.5 times that and at most 0.1: what needs this is inside only by rounding.
Limits widened(Limits limits, const Difference &rounding, ElementType output,
               const Exactness &exactness);

/// What nothing widens beyond.
Limits widestOf(ElementType output, const Exactness &exactness);

/// The float type of fewest bits among an output's own and those that it was computed from.
ElementType judgedBy(ElementType output, const Exactness &exactness);

enum class Verdict : uint8_t {
  Inside,
  Rounding, ///< Inside only by what rounding to the type that the user asked for costs the model.
  Outside,
};
/// "inside", "rounding", "outside".
std::string_view nameOf(Verdict verdict);

/// Another runtime has errors of its own: against one, limits are twice as wide.
constexpr double shareOfOthers = 2;
inline Limits operator*(double share, const Limits &limits) {
  return {share * limits.whole, share * limits.inSlices};
}

} // namespace kintsugi::verify

#endif // KINTSUGI_VERIFY_POLICY_H
