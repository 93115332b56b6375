//===- form.h - One of several equal programs, beside the others ------------===//
//
// A form is a program whose definitions and scans say which of the first program's values they
// make. Those of its values that run are the items. A form may do without some.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_FORM_H
#define KINTSUGI_ORCHESTRATE_FORM_H

#include "space/equal_parts.h"
#include "space/space.h"

namespace kintsugi::orchestrate {

struct Form {
  const te::Program *program = nullptr;
  size_t number = 0;          ///< Among the programs of the EqualParts.
  std::vector<bool> constant; ///< By node.
  /// That run, each of equal ones once: definitions; scans and calls.
  llvm::SmallVector<uint32_t> definitions, scansAndCalls;
  /// By node: the items that it makes, by the number of the first program's value.
  std::vector<llvm::SmallVector<uint32_t, 1>> makes;
  /// By node: items that none makes since this node has what reads them inside.
  std::vector<llvm::SmallVector<uint32_t, 1>> absorbs;
  llvm::SmallVector<uint32_t> without; ///< Other items that no node makes.
  space::Space space;

  /// All that run, in program order.
  llvm::SmallVector<uint32_t> nodes() const;

  /// Whether nothing has to run for a value.
  bool isGiven(te::ValueId id) const;
};

/// Whether a node makes no elements: nothing has to run for it.
bool isEmpty(const te::Program &program, uint32_t node);

/// The form of the first program.
Form firstForm(const te::Program &program, const space::EqualParts &parts);

/// The form of another. Nothing, and why, where it can't be mixed with the first.
std::optional<Form> formBeside(const Form &first, const te::Program &program, size_t number,
                               const space::EqualParts &parts, std::string &reason);

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_FORM_H
