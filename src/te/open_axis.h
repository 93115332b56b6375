//===- open_axis.h - Which elements a run at a smaller size needs --------------===//
//
// A program that was imported with an open dimension at its greatest size, `high`, also computes
// what smaller sizes ask for, where each value keeps what belongs to different steps of that
// dimension apart: then the first `size` steps depend on the first `size` steps of what is read,
// and whatever lies behind them is never looked at. Batches are like that, lengths that are summed
// over are not.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_OPEN_AXIS_H
#define KINTSUGI_TE_OPEN_AXIS_H

#include "base/open_dimension.h"
#include "te/program.h"

namespace kintsugi::te {

/// Which elements of a value hold what they should at a size below the greatest.
struct Validity {
  enum class Kind : uint8_t {
    Whole, ///< All of them.
    Steps, ///< Those whose index along `dimension` is less than size * `step`.
    Mixed, ///< That is not known.
  };
  Kind kind = Kind::Whole;
  unsigned dimension = 0;
  int64_t step = 0;

  static Validity steps(unsigned dimension, int64_t step) { return {Kind::Steps, dimension, step}; }
  static Validity mixed() { return {Kind::Mixed, 0, 0}; }
  bool isWhole() const { return kind == Kind::Whole; }
  bool isSteps() const { return kind == Kind::Steps; }
  bool isMixed() const { return kind == Kind::Mixed; }
  bool operator==(const Validity &) const = default;
};

/// What is open about a model.
struct OpenInputs {
  OpenDimension dimension;
  std::vector<Validity> inputs; ///< Of all.
};

/// Of each value of a program, given that of its inputs. What is read at places that values say is
/// mixed where these values are computed: those of steps that are not valid may be anything.
/// `isBody`: inputs are computed, too.
std::vector<Validity> validityOf(const Program &program, llvm::ArrayRef<Validity> inputs,
                                 const OpenDimension &open, bool isBody = false);

/// Rows of a tensor that are cut into pieces: `each` for a step of an open dimension.
struct CutRows {
  unsigned origin; ///< The iterator that is a piece's first row.
  int64_t each;
  int64_t piece; ///< Rows of one.
};

/// Whether a piece has no element of steps before that of its first row. `position` is row-major,
/// of what is stored in a value of `shape`, and speaks of iterators within `ranges`.
bool startsAtStep(const Index &position, llvm::ArrayRef<Extent> shape, const Validity &validity,
                  const CutRows &cut, llvm::ArrayRef<Interval> ranges, int64_t high);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_OPEN_AXIS_H
