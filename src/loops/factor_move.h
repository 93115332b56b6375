//===- factor_move.h - How a product's factor comes to the units ------------===//
//
// A block's threads stage the factors of a product in scratch, eight elements of two bytes at a
// time. Where eight lie side by side, from a multiple of eight on, that is one copy; all else is
// read element by element, and computed on the way.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_FACTOR_MOVE_H
#define KINTSUGI_LOOPS_FACTOR_MOVE_H

#include "loops/schedule.h"

namespace kintsugi::loops {

struct FactorMove {
  static constexpr int64_t elements = 8;
  static constexpr double direct = 9;  ///< Instructions of a thread for a copy.
  static constexpr double border = 20; ///< For one that may be outside of its factor.

  double instructions; ///< Of a thread that stages eight elements.
  bool isAlone;        ///< Whether they come one by one.
  /// So many elements lie side by side in memory: of the nest's points, or of its sum's terms.
  int64_t run = 1;
  bool isAlongSum = false;
};

/// Of a nest's body, a product, one factor, whose parallel iterators are these, for units that
/// multiply elements of a type.
FactorMove factorMoveOf(const te::Expr &factor, const LoopNest &nest, ElementType element,
                        llvm::ArrayRef<unsigned> iterators, const Schedule &schedule);

/// A factor as the units may read it: without the cast that widens it.
const te::Expr &unwidened(const te::Expr &factor);

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_FACTOR_MOVE_H
