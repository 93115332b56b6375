//===- program_of_parts.h - A program from nodes of several -----------------===//
//
// What was chosen of equal programs as a program of its own: its nodes are nodes of theirs, which
// read the values of other nodes chosen.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_ORCHESTRATE_PROGRAM_OF_PARTS_H
#define KINTSUGI_ORCHESTRATE_PROGRAM_OF_PARTS_H

#include "orchestrate/form.h"

#include <map>
#include <set>

namespace kintsugi::orchestrate {

class ProgramOfParts {
public:
  /// Starts with the inputs of the first of the forms' programs.
  ProgramOfParts(const Form &first, const space::EqualParts &parts);

  /// Adds a node, unless an equal one is there. What it reads is there, or nothing runs for it (as
  /// for constants) and it is added. What makes no elements reads nothing here.
  void add(const Form &form, uint32_t node);
  /// Declares the first program's outputs and gives the program away.
  te::Program finish();
  /// By node: its number among all programs' nodes.
  llvm::ArrayRef<unsigned> numbers() const { return nodeNumbers; }

private:
  te::ValueId valueOf(const Form &form, te::ValueId id);
  llvm::SmallVector<te::ValueId, 4> valuesOf(const Form &form, llvm::ArrayRef<te::ValueId> ids);
  llvm::SmallVector<te::ValueId> copy(const Form &form, uint32_t node);
  te::ValueId empty(const te::Value &value);

  const Form &first;
  const space::EqualParts &parts;
  te::Program fresh;
  std::vector<unsigned> nodeNumbers;
  std::map<unsigned, te::ValueId> made; ///< By value of the programs together.
  std::set<unsigned> added;             ///< Nodes of the programs together.
};

} // namespace kintsugi::orchestrate

#endif // KINTSUGI_ORCHESTRATE_PROGRAM_OF_PARTS_H
