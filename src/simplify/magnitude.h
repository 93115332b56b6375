//===- magnitude.h - Which values may not fit a narrower float --------------===//
//
// Where the user lets values be stored in fewer bits, most of a model's values may be: what matters
// is their size next to their neighbours. Some are not of that kind, and the expressions tell
// which: statistics that everything else is scaled by, squares and powers, integers in floats,
// masks with the greatest numbers there are. No model's or node's name has a part in it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_MAGNITUDE_H
#define KINTSUGI_SIMPLIFY_MAGNITUDE_H

#include "te/program.h"

namespace kintsugi::simplify {

/// Without either a value fits, and may lose digits.
struct Magnitude {
  /// A number that many others are computed with: a sum, a maximum, or a function of such.
  bool statistic = false;
  /// May leave the range, and what is computed from it may, too.
  bool large = false;
};

/// The magnitudes of all values of a program for storing them as `narrow`. Loads the program's f32
/// constants, one at a time.
class Magnitudes {
public:
  Magnitudes(const te::Program &program, ElementType narrow, const std::vector<bool> &constantNodes,
             llvm::ArrayRef<Magnitude> inputs);

  Magnitude of(te::ValueId id) const { return known[id.number]; }

private:
  Magnitude ofConstant(const te::Value &value) const;
  Magnitude ofDefinition(uint32_t node, const te::Definition &definition);
  void findMaximized();
  bool maskedByInput(const te::Definition &definition) const;
  bool isLongProduct(const te::Definition &definition);
  bool leavesStatistics(const te::Definition &definition) const;
  bool isConstant(te::ValueId id) const;
  bool readsOnlyStatistics(const te::Definition &definition) const;

  void findDegrees(uint32_t node);
  double degreeOf(const te::Expr &expr);
  double computeDegree(const te::Expr &expr);

  bool fits(double value) const;
  double greatestInteger() const;
  bool mayBeLarge(const te::Expr &expr);
  bool computeLarge(const te::Expr &expr);
  bool largeUnary(const te::Expr &expr);
  bool largeBinary(const te::Expr &expr);
  bool subtractsMaximum(const te::Expr &expr) const;

  const te::Program &program;
  ElementType narrow;
  const std::vector<bool> &constantNodes;
  std::vector<Magnitude> known;
  std::vector<bool> maximized;                 ///< Values of which a softmax takes the maximum.
  std::vector<double> degrees;                 ///< Of values; see degreeOf.
  llvm::SmallVector<te::Interval> ranges;      ///< Of the definition that is looked at.
  std::map<const void *, bool> large;          ///< By identity of one of its expressions.
  std::map<const void *, double> degreesBelow; ///< The same.
};

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_MAGNITUDE_H
