//===- group_values.h - The values that one schedule speaks of --------------===//
//
// The program's values, and those that scheduling adds for itself: copies of operands that a tile
// makes on the way to where they are used.
//
//===----------------------------------------------------------------------===//
#ifndef KINTSUGI_LOOPS_GROUP_VALUES_H
#define KINTSUGI_LOOPS_GROUP_VALUES_H

#include "te/program.h"

namespace kintsugi::loops {

class GroupValues {
public:
  explicit GroupValues(const te::Program &program) : program(program) {}

  te::ValueId add(std::string name, ElementType type, te::Shape shape) {
    te::Value value;
    value.name = std::move(name);
    value.type = type;
    value.shape = std::move(shape);
    added.push_back(std::move(value));
    return {static_cast<uint32_t>(program.numValues() + added.size() - 1)};
  }
  const te::Value &value(te::ValueId id) const {
    return isAdded(id) ? added[id.number - program.numValues()] : program.value(id);
  }
  llvm::ArrayRef<te::Extent> shape(te::ValueId id) const { return value(id).shape; }
  bool isAdded(te::ValueId id) const { return id.number >= program.numValues(); }

private:
  const te::Program &program;
  std::vector<te::Value> added;
};

} // namespace kintsugi::loops

#endif // KINTSUGI_LOOPS_GROUP_VALUES_H
