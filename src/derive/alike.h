//===- alike.h - Definitions that differ in their constants alone ------------===//
//
// Whether what several definitions compute can be rows of one: equal expressions over equal values,
// but for constants that the dimension of the rows picks an element of. The legality of
// stack_products.h.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_ALIKE_H
#define KINTSUGI_DERIVE_ALIKE_H

#include "te/program.h"

#include <map>

namespace kintsugi::derive {

/// Definitions that follow from one, the first: each reads, of what is not constant, only those
/// before it, point by point.
using Chain = llvm::SmallVector<uint32_t, 4>;

/// A constant of a chain and the one that stands in its place in another chain.
struct ConstantPair {
  te::ValueId other;
  unsigned dimension = 0; ///< Of the constant: where it is as long as the stacked dimension.
};

class Alike {
public:
  /// `constant`: by node, whether it is known while compiling. `dimension`: of the definitions'
  /// parallel ones, that which is to be stacked.
  Alike(const te::Program &program, const std::vector<bool> &constant, unsigned dimension)
      : program(program), constant(constant), dimension(dimension) {}

  /// By number of a constant of `leader` that is read along the dimension, what `other` has there;
  /// none where they are not alike. Every chain is like itself, or can't be stacked.
  std::optional<std::map<uint32_t, ConstantPair>> match(const Chain &leader, const Chain &other);

private:
  bool matches(const te::Definition &a, const te::Definition &b);
  bool matches(const te::Expr &a, const te::Expr &b);
  bool matchesRead(const te::Expr &a, const te::Expr &b);
  bool matchesConstant(const te::Expr &a, const te::Expr &b);

  const te::Program &program;
  const std::vector<bool> &constant;
  unsigned dimension;
  int64_t extentA = 0, extentB = 0;       ///< Of the dimension.
  std::map<uint32_t, te::ValueId> locals; ///< Of the other chain, by the leader's.
  std::map<uint32_t, ConstantPair> pairs; ///< By constant of the leader.
};

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_ALIKE_H
