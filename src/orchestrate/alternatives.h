//===- alternatives.h - One program made of several equal ones --------------===//
//
// Rules and formats give programs that compute the same. Here one problem is made of all of them:
// its items are the values that definitions and scans of the first make; a kernel or a scan of
// another covers those that it makes in its way, what it makes besides is a derived resource, and
// values that another does without need not be made. A scan is a column at the price of its plan.
// What the solver chooses, part by part, is put together as a program again, of which the plan is
// then made like of any other.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_ALTERNATIVES_H
#define KINTSUGI_ORCHESTRATE_ALTERNATIVES_H

#include "orchestrate/orchestrate.h"

namespace kintsugi::orchestrate {

struct ChosenProgram {
  te::Program program;
  std::vector<llvm::SmallVector<size_t, 4>> sources; ///< By node: the programs that have it.
  /// Predicted seconds with what others than the preferred pay by the margin and what breaks ties,
  /// those of calls left out; 0 where nothing could be mixed with the preferred.
  double objective = 0;
  double gap = 0;                    ///< How far from the optimum that is at most; 0: proven.
  std::vector<std::string> problems; ///< Faults of our own for which a form was left out.
};

/// Equal programs, whose values say what they are equal to (te::Original).
struct Alternatives {
  llvm::ArrayRef<const te::Program *> programs;
  size_t preferred = 0; ///< The one whose kernels those of others have to beat by a margin,
  double margin = 0;    ///< a share of their time;
  llvm::ArrayRef<std::string> names = {}; ///< Of the programs, for the log.
  double scanMargin = 0;                  ///< Scans of the others, likewise.
};

/// Programs that can't be taken apart beside the first, since their calls differ from its, are
/// left out, which the log is told.
Expected<ChosenProgram> chooseAmong(const Alternatives &alternatives,
                                    const OrchestrateOptions &options);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_ALTERNATIVES_H
