//===- check.h - What a program's data have to keep to -----------------------===//
//
// An index that is data may lie outside of the tensor that it goes into; what is read then is not
// said (kernels take the nearest element). A check says of an integer value that every element lies
// in a range, and whoever runs the program reports an element that does not as an error. It is an
// output of the program under a name of a form of its own, so that whatever keeps the program's
// outputs keeps its checks.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_TE_CHECK_H
#define KINTSUGI_TE_CHECK_H

#include "te/program.h"

namespace kintsugi::te {

/// Every element lies in [low, high), and 0 does.
struct Check {
  int64_t low = 0, high = 1;
  std::string what; ///< Of the node's: "index".
  std::string node; ///< Of the model; may be empty.

  bool contains(int64_t value) const { return low <= value && value < high; }
  /// "its index {} is outside of -3 to 2", for fillNumbers().
  std::string message() const;
  /// The same of an element, with the node.
  Error error(int64_t element) const;
};

/// Adds a check of an integer value; one that is there already is not added again.
void addCheck(Program &program, ValueId value, const Check &check);

/// The check that an output is, or nothing for an output of the model.
std::optional<Check> checkOf(const Program::Output &output);

/// Whether an output of the model's can't have a name, since it has the form of a check's or a
/// count's (te/count.h).
bool isReservedName(llvm::StringRef name);

/// The first element of a tensor of integers that does not keep to a check.
std::optional<int64_t> findOutside(const Check &check, int64_t count,
                                   llvm::function_ref<int64_t(int64_t)> element);

/// The model's outputs: those that are neither checks nor counts.
std::vector<Program::Output> modelOutputs(const Program &program);
/// Those that are checks.
std::vector<Program::Output> checkOutputs(const Program &program);

} // namespace kintsugi::te

#endif // KINTSUGI_TE_CHECK_H
