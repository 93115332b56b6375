//===- constant_folder.h - Values that are known while importing -------------===//
//
// ONNX passes shapes, axes and tables as tensors, often computed from other constants. Instead of a
// folding rule for each operator, the small constant part of the program that was built so far is
// evaluated by the interpreter when someone asks for a value. Fuel bounds the work.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_IMPORT_CONSTANT_FOLDER_H
#define KINTSUGI_IMPORT_CONSTANT_FOLDER_H

#include "base/tensor.h"
#include "te/program.h"

#include <map>
#include <vector>

namespace kintsugi::import {

class ConstantFolder {
public:
  explicit ConstantFolder(const te::Program &program) : program(program) {}

  /// The elements of a value that depends on constants alone, or null where it depends on an input
  /// or is too large (or too much work) to be evaluated here. Remembers what it evaluated.
  const Tensor *value(te::ValueId id);

  /// Whether a value depends on constants alone, whatever its size.
  bool isConstant(te::ValueId id);

  /// The names of the program's inputs that a value depends on.
  std::vector<std::string> inputsBehind(te::ValueId id) const;

  /// The integers among what was evaluated, of small tensors, and how far a node's operands are
  /// apart: what a model that knows a number can decide by changes where one of these is 0. In an
  /// order that imports of the same nodes have in common.
  std::vector<int64_t> numbers() const;

private:
  bool sizeWithin(te::ValueId id, int64_t limit) const;
  bool evaluate(uint32_t node);
  const Tensor *load(te::ValueId id);

  const te::Program &program;
  std::vector<bool> constancy;             ///< By value, as far as asked.
  std::map<te::ValueId, Tensor> evaluated; ///< Addresses stay valid.
  uint64_t fuel = 50'000'000;              ///< Points of iteration spaces.
};

} // namespace kintsugi::import

#endif // KINTSUGI_IMPORT_CONSTANT_FOLDER_H
