//===- open_axis.h - Which elements a run at a smaller size needs --------------===//
//
// A program that was imported with an open dimension at its greatest size, `high`, also computes
// what smaller sizes ask for, where each value keeps what belongs to different steps of that
// dimension apart: then the first `size` steps depend on the first `size` steps of what is read,
// and whatever lies behind them is never looked at. Batches are like that; lengths are where what
// sums over them asks for the size: see open_sums.h.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_OPEN_AXIS_H
#define KINTSUGI_TE_OPEN_AXIS_H

#include "base/open_dimension.h"
#include "te/program.h"

#include <algorithm>

namespace kintsugi::te {

/// A dimension that has `step` elements for each step of the open one.
struct OpenSteps {
  unsigned dimension = 0;
  int64_t step = 0;
  bool operator==(const OpenSteps &) const = default;
};

/// Which elements of a value hold what they should at a size below the greatest.
struct Validity {
  enum class Kind : uint8_t {
    Whole, ///< All of them.
    Steps, ///< Those whose index is less than size * `step` along each dimension of `axes`.
    Mixed, ///< That is not known.
  };
  Kind kind = Kind::Whole;
  llvm::SmallVector<OpenSteps, 2> axes; ///< By dimension.

  static Validity steps(unsigned dimension, int64_t step) {
    return {Kind::Steps, {{dimension, step}}};
  }
  static Validity steps(llvm::ArrayRef<OpenSteps> axes) {
    return {axes.empty() ? Kind::Whole : Kind::Steps, {axes.begin(), axes.end()}};
  }
  static Validity mixed() { return {Kind::Mixed, {}}; }
  bool isWhole() const { return kind == Kind::Whole; }
  bool isSteps() const { return kind == Kind::Steps; }
  bool isMixed() const { return kind == Kind::Mixed; }
  /// The step along a dimension; 0: all of it is valid.
  int64_t stepOf(unsigned dimension) const;
  bool operator==(const Validity &) const = default;
};

/// What is open about a model.
struct OpenInputs {
  OpenDimension dimension;
  std::vector<Validity> inputs; ///< Of all.
  unsigned number = 0;          ///< Of the dimension, among those of the model that are open.
  /// The input that is no caller's: a scalar i64, the size itself.
  std::optional<unsigned> size = std::nullopt;
  /// Places that are computed may lie anywhere behind the size: nothing fails of it.
  bool takesAnyPlace = false;
  /// The same program imported at smaller sizes, where these are known: a dimension that is shorter
  /// there has steps, too, if nothing but the size made it so.
  std::vector<const Program *> smaller;
  /// Runs of sizes before this one have other plans; 0: none have.
  int64_t servedFrom = 0;

  /// Of the sizes that runs of this plan have.
  OpenDimension served() const {
    return {dimension.name, std::max(dimension.low, servedFrom), dimension.high};
  }
};

/// The condition that `index` is less than the size, which is an input.
Expr isBelowSize(const Index &index, ValueId size);

/// One of a definition's iterators, a reduction's, whose extent is a multiple of the size.
struct OpenSum {
  uint32_t node;
  unsigned iterator;
  bool operator==(const OpenSum &) const = default;
};

/// Of each value of a program, given that of its inputs. What is read at places that values say is
/// mixed where these values are computed: those of steps that are not valid may be anything. What
/// is read only where a condition says that an index is below the size is valid if that is.
/// `sums`: these end at the size. `isBody`: inputs are computed, too.
std::vector<Validity> validityOf(const Program &program, const OpenInputs &open,
                                 llvm::ArrayRef<OpenSum> sums = {}, bool isBody = false);

/// Whether an index is of no step before the size in the elements of `iterator` that are behind it;
/// index and iterator, whose extent is a multiple of `high`, have steps of the open dimension.
bool isBehind(const Index &index, int64_t step, unsigned iterator, llvm::ArrayRef<Interval> ranges,
              int64_t high);

/// Rows of a tensor that are cut into pieces: `each` for a step of an open dimension.
struct CutRows {
  unsigned origin; ///< The iterator that is a piece's first row.
  int64_t each;
  int64_t piece; ///< Rows of one.
};

/// Whether all elements of a piece are, along one of the axes, of no step before that of its first
/// row. `position` is row-major, of what is stored in a value of `shape`, and speaks of iterators
/// within `ranges`.
bool startsAtStep(const Index &position, llvm::ArrayRef<Extent> shape, const Validity &validity,
                  const CutRows &cut, llvm::ArrayRef<Interval> ranges, int64_t high);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_OPEN_AXIS_H
