//===- read_boxes.h - What of a program's values is read --------------------===//
//
// Where all that read a value read one box of it, a copy of the value need not have the rest: the
// middle of a convolution's kernel, say, which is all that meets an image smaller than it.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_SIMPLIFY_READ_BOXES_H
#define KINTSUGI_SIMPLIFY_READ_BOXES_H

#include "te/program.h"

namespace kintsugi::simplify {

class ReadBoxes {
public:
  explicit ReadBoxes(const te::Program &program);

  using Box = llvm::SmallVector<te::Interval>;

  /// The elements of a value that are read, by dimension; all where they are more than half of it,
  /// or which ones they are depends on data.
  Box of(te::ValueId id) const;

private:
  void note(const te::Expr &read, llvm::ArrayRef<te::Interval> ranges);

  const te::Program &program;
  std::vector<bool> isWhole; ///< By value.
  std::vector<Box> boxes;    ///< By value; empty where nothing reads it.
};

} // namespace kintsugi::simplify

#endif // KINTSUGI_SIMPLIFY_READ_BOXES_H
