//===- integer_ranges.h - What integers a program can compute ----------------===//
#ifndef KINTSUGI_SIMPLIFY_INTEGER_RANGES_H
#define KINTSUGI_SIMPLIFY_INTEGER_RANGES_H

#include "te/program.h"

namespace kintsugi::simplify {

/// Bounds of the elements of integer and boolean values, from the expressions, whatever the inputs
/// are: positions (of a greatest element, along an iterator), clipped and wrapped numbers, sums,
/// constants. Conservative: never too narrow, and as wide as the type where nothing is known.
class IntegerRanges {
public:
  explicit IntegerRanges(const te::Program &program) : program(program) {}

  te::Interval of(te::ValueId value);

private:
  struct Known {
    te::Expr expr;
    te::Interval range;
  };

  te::Interval ofResult(const te::Value &value);
  te::Interval ofSum(const te::Definition &definition, ElementType type,
                     llvm::ArrayRef<te::Interval> iterators);
  te::Interval ofCall(const te::Call &call, const te::Value &value) const;
  te::Interval ofConstant(const te::Value &value) const;
  te::Interval of(const te::Expr &expr, llvm::ArrayRef<te::Interval> iterators);
  te::Interval within(const te::Expr &expr, llvm::ArrayRef<te::Interval> iterators);
  te::Interval ofBinary(const te::Expr &expr, te::Interval a, te::Interval b) const;
  te::Interval ofSelect(const te::Expr &expr, llvm::ArrayRef<te::Interval> iterators);
  te::Interval ofIndex(const te::Index &index, llvm::ArrayRef<te::Interval> iterators);

  const te::Program &program;
  std::map<uint32_t, te::Interval> known;
  std::vector<Known> assumed; ///< In the branch of a select that is looked at.
  unsigned depth = 0;         ///< Of definitions.
  unsigned fuel = 0;          ///< Expressions left to look at for one value.
};

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_INTEGER_RANGES_H
