#include "space/lone_group.h"

#include "te/rename.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::space {

using namespace te;

namespace {

class Extractor {
public:
  Extractor(const Program &program, const GroupKey &key) : program(program) {
    result.key.text = key.text;
    for (auto [number, id] : llvm::enumerate(key.values)) {
      numbers[id.number] = {uint32_t(number)};
      result.key.values.push_back(numbers[id.number]);
    }
  }

  LoneGroup extract(const schedule::Group &group) {
    for (uint32_t node : group.nodes) {
      llvm::SmallVector<ValueId> operands = program.operandsOf(node);
      llvm::sort(operands, [&](ValueId a, ValueId b) { return numberOf(a) < numberOf(b); });
      llvm::for_each(operands, [&](ValueId operand) { addOperand(operand); });
      addDefinition(std::get<Definition>(program.nodes[node]));
      result.group.nodes.push_back(result.program.nodes.size() - 1);
    }
    for (ValueId id : group.outputs)
      result.group.outputs.push_back(numberOf(id));
    for (ValueId id : group.constants)
      result.group.constants.push_back(numberOf(id));
    return std::move(result);
  }

private:
  ValueId numberOf(ValueId id) const { return numbers.lookup(id.number); }

  void addOperand(ValueId id) {
    ValueId own = numberOf(id);
    if (own.number < result.program.numValues())
      return;
    const Value &value = program.value(id);
    ValueId added =
        value.kind == ValueKind::Constant
            ? result.program.addConstant(value.name, value.type, value.shape, value.constant)
            : result.program.addInput(value.name, value.type, value.shape);
    assert(added == own && "operands are numbered in their order");
    (void)added;
  }

  void addDefinition(Definition definition) {
    for (Expr &body : definition.bodies)
      body = renameReads(body, [&](ValueId id) { return numberOf(id); });
    llvm::SmallVector<std::string> names;
    llvm::SmallVector<ElementType> types;
    for (ValueId id : definition.results) {
      names.push_back(program.value(id).name);
      types.push_back(program.value(id).type);
    }
    [[maybe_unused]] ValueId first = numberOf(definition.results[0]);
    [[maybe_unused]] auto results = result.program.defineMany(names, types, std::move(definition));
    assert(results[0] == first && "results are numbered after what is read");
  }

  const Program &program;
  llvm::DenseMap<uint32_t, ValueId> numbers; ///< By value of the program.
  LoneGroup result;
};

} // namespace

LoneGroup loneGroupOf(const Program &program, const schedule::Group &group, const GroupKey &key) {
  return Extractor(program, key).extract(group);
}

} // namespace kintsugi::space
