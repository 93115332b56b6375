//===- linear_sum.h - A sum over some dimensions of a value -----------------===//
//
// What a sum makes of a value is linear in it: where the value is a linear map of others that
// leaves the summed dimensions alone, the sum of the map is the map of their sums.
//
//     v[p, c] = a[p] * x[m(p), c] + b[p, c],  s[p, o] = sum[c] v[p, c] * w[o, c]
//       =>  s[p, o] = a[p] * t[m(p), o] + u[p, o],  t, u = the same sums of x and b
//
// and where it is itself a sum of products, the two sums can be taken in the other order. Rules say
// of a sum that it is one of these; what is quickest to compute it with is found here, by counting
// arithmetic (EinNet; Zheng et al. 2023: expressions are linear in their tensors, and so operators
// move across products).
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_LINEAR_SUM_H
#define KINTSUGI_DERIVE_LINEAR_SUM_H

#include "te/program.h"

namespace kintsugi::derive {

/// For all positions in the dimensions of the value that are not summed, all positions of windows,
/// and all of `own`:
///     sum[terms] value[..., each * term + step * position + offset, ...] * weight(own, terms)
struct LinearSum {
  /// A dimension of the value, and which of the terms goes along it.
  struct Summed {
    int term = -1; ///< None: the dimension stays.
    int64_t offset = 0;
    int64_t each = 1;      ///< From one term to the next.
    int64_t step = 0;      ///< From one position of a window to the next; 0: there is no window.
    int64_t positions = 1; ///< Of the window.

    bool isWindow() const { return step > 0; }
    /// Whether the sum has the dimension: as it is, or the window's positions.
    bool isInResult() const { return term < 0 || isWindow(); }
    /// Where an iterator over terms, and one over positions, are in the dimension.
    te::Index at(te::Index iterator, te::Index position) const {
      return iterator * each + position * step + offset;
    }
    bool operator==(const Summed &) const = default;
  };

  te::ValueId value;                       ///< None: ones are summed, and there are no dimensions.
  llvm::SmallVector<Summed, 4> dimensions; ///< By dimension of the value; each term has one.
  llvm::SmallVector<te::Iterator, 3> terms, own;
  std::optional<te::Expr> weight; ///< Over `own`, then `terms`; without one it is 1.

  bool operator==(const LinearSum &other) const;
  bool isOfOnes() const { return value == te::ValueId(); }
  /// Of the dimension in the result, which has it.
  te::Extent extentInResult(const te::Program &program, unsigned dimension) const;
  /// Of the result: the dimensions that it has, then `own`.
  te::Shape resultShape(const te::Program &program) const;
};

/// The sum that a definition takes of what it reads as factor `operand` of its body, or as all of
/// it. `point` becomes where in the sum's result each of the definition's elements is.
std::optional<LinearSum> linearSumOf(const te::Program &program, const te::Definition &definition,
                                     unsigned operand, llvm::SmallVectorImpl<te::Index> &point);

/// What a map's sum is made of.
struct SumParts {
  /// The value that is another sum; nullopt: it can't be had.
  llvm::function_ref<std::optional<te::ValueId>(const LinearSum &)> sum;
  /// Told of the weight of terms that are left out, since they are zeros times it.
  llvm::function_ref<void(const std::optional<te::Expr> &weight)> leftOut;
};

/// The body of a definition of a sum's result, where the sum's value is a linear map of others:
/// the map over the sums of what it reads, each of which is asked for where it stands. nullopt
/// where the map is not linear, or does more with a summed dimension than to pass it on or to scale
/// it. `isConstant`: whether an expression reads constants alone.
std::optional<te::Expr> mappedSum(const te::Program &program, const LinearSum &sum,
                                  llvm::function_ref<bool(const te::Expr &)> isConstant,
                                  const SumParts &parts);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_LINEAR_SUM_H
