//===- counts.h - What becomes of results whose size data decide ---------------===//
//
// A call like NonZero gives as many elements as there can be at most, and their count. Where what
// is made of them keeps each element apart, the model means the first so many of it: its outputs
// get counts (te/count.h). Whether that is all that the model means of the number is not taken for
// granted: it is imported again, with inputs in the place of what the call gives and of other
// sizes, and compared node by node.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_COUNTS_H
#define KINTSUGI_IMPORT_COUNTS_H

#include "calls/call.h"
#include "te/program.h"

namespace kintsugi::import {

/// A call of the model's one of whose results is how large others are.
struct CountedCall {
  te::Call call; ///< Its results are values of the program, as inputs are that stand for them.
  std::vector<calls::ResultType> types;
  std::string node; ///< Of the model.

  /// What the counted dimensions have at most.
  int64_t bound() const;
  te::ValueId count() const;
};

struct CountedProgram {
  te::Program program;
  std::vector<CountedCall> calls;
  std::vector<int64_t> numbers; ///< As ConstantFolder's.
};

/// The model, with inputs of the given sizes in the place of the calls' results, call by call.
using ImportAtSizes = llvm::function_ref<Expected<CountedProgram>(llvm::ArrayRef<int64_t> sizes)>;

/// Gives the model's outputs their counts, and has checks look at what there is alone. An input
/// error names the node that mixes elements or depends on their number.
Expected<te::Program> withCounts(CountedProgram imported, ImportAtSizes importAt);

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_COUNTS_H
