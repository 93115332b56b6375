//===- masked_region.h - Where a mask makes elements not matter -------------===//
//
// A mask hides an element of a score [.., row, .., column, ..] by making it so low that its
// exponential is zero, or by putting an infinity in its place. The region of a mask is what is then
// computed element by element, up to the reductions over columns (the softmax's maximum and sum,
// the sum over columns of weight times value), to each of which a hidden element is neutral. No
// operator is known here: what is true of a hidden element is followed through the expressions.
//
// What "neutral" takes for granted, besides the expressions: a hidden score is not so large that
// adding the lowest numbers of its type leaves something (less than half of the greatest number),
// it is not NaN, and what a weight of zero is multiplied with is finite. `proved` says whether
// facts give all that; where they don't, it is the rule of docs/precision.md, Numerics.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_DERIVE_MASKED_REGION_H
#define KINTSUGI_DERIVE_MASKED_REGION_H

#include "te/program.h"

#include <map>
#include <optional>

namespace kintsugi::derive {

/// Where a value of the region has the mask's rows and columns.
struct MaskedDimensions {
  unsigned row;
  int column; ///< -1: a value of each row.
};

/// How the mask stands in the body of the definition that applies it.
struct MaskedScore {
  enum class Kind : uint8_t { Added, Selected } kind;
  te::Expr score; ///< What an open element is.
  te::Expr mask;  ///< Added to the score, or the condition that chooses.
  /// Selected: what a hidden element is, its number, and whether it is hidden where the mask is
  /// true.
  std::optional<te::Expr> low;
  double lowNumber = 0;
  bool hiddenWhereTrue = false;
  unsigned row = 0, column = 0; ///< Iterators of the definition.
};

struct MaskedRegion {
  uint32_t maskNode; ///< The definition that applies the mask.
  MaskedScore masked;
  /// By node, its first result's dimensions; definitions in program order.
  std::map<uint32_t, MaskedDimensions> nodes;
  /// By node that reduces over columns, which of its iterators they are.
  std::map<uint32_t, unsigned> reduces;
  bool proved = true;
};

/// Half of a type's greatest number, and whether a number is at most its opposite: added to a score
/// of less it leaves nothing that has a weight.
double halfGreatest(ElementType type);
bool isLowNumber(double value, ElementType type);

/// Such a number, if an expression over so many iterators is a constant that is one everywhere.
/// `constantNodes`: see te/constant_nodes.h.
std::optional<double> lowNumberOf(const te::Expr &expr, unsigned numIterators,
                                  const te::Program &program,
                                  const std::vector<bool> &constantNodes);

/// The regions of a program's constant masks; they share no definition.
std::vector<MaskedRegion> findMaskedRegions(const te::Program &program);

} // namespace kintsugi::derive

#endif // KINTSUGI_DERIVE_MASKED_REGION_H
