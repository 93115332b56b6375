#include "verify/isolate.h"

#include "te/constant_nodes.h"
#include "te/subprogram.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::verify {

using namespace te;

namespace {

class Isolator {
public:
  explicit Isolator(const Level &level) : level(level) {}

  Isolated run() {
    const Program &program = *level.program;
    result.program.name = program.name + ".kernels";
    for (uint32_t number = 0; number < program.numValues(); ++number)
      if (level.stored.count(program.values[number].name))
        addOutput({number});
    return std::move(result);
  }

private:
  void addOutput(ValueId id) {
    const Value &value = level.program->value(id);
    if (!level.program->definitionOf(id))
      return;
    result.program.addOutput(value.name, define(level, value.node)[value.result]);
  }

  /// The new program's value for one that a definition reads.
  ValueId read(const Level &where, ValueId id) {
    auto [entry, fresh] = known.try_emplace({&where, id.number});
    if (fresh) {
      ValueId made = make(where, id);
      known[{&where, id.number}] = made;
      return made;
    }
    return entry->second;
  }

  ValueId make(const Level &where, ValueId id) {
    const Value &value = where.program->value(id);
    if (value.kind == ValueKind::Constant)
      return result.program.addConstant(value.name, value.type, value.shape, value.constant);
    if (std::optional<ValueId> captured = capturedConstant(where, id))
      return read(*where.outer, *captured);
    if (where.program->definitionOf(id) && !(&where == &level && level.stored.count(value.name)))
      return define(where, value.node)[value.result];
    ValueId input = result.program.addInput(value.name, value.type, value.shape);
    result.program.value(input).facts = value.facts;
    result.inputs.push_back(id);
    return input;
  }

  llvm::SmallVector<ValueId> define(const Level &where, uint32_t node) {
    return te::copyNode(*where.program, node, result.program,
                        [&](ValueId id) { return read(where, id); });
  }

  /// The outer value that an input of a scan's body stands for, where that is a constant. What
  /// loops carry is none behind the first step.
  static std::optional<ValueId> capturedConstant(const Level &where, ValueId id) {
    const Program &body = *where.program;
    if (!where.outer || body.value(id).kind != ValueKind::Input)
      return std::nullopt;
    size_t place = llvm::find(body.inputs, id) - body.inputs.begin();
    size_t carried = where.scan->initial.size();
    if (place == 0 || (place <= carried && !where.scan->isBranch()))
      return std::nullopt;
    ValueId outer = place <= carried ? where.scan->initial[place - 1]
                                     : where.scan->captured[place - 1 - carried];
    return isConstant(*where.outer, outer) ? std::optional(outer) : std::nullopt;
  }

  static bool isConstant(const Level &where, ValueId id) {
    if (where.program->value(id).kind == ValueKind::Input)
      return capturedConstant(where, id).has_value();
    return te::isConstant(*where.program, te::constantNodes(*where.program), id);
  }

  const Level &level;
  Isolated result;
  std::map<std::pair<const Level *, unsigned>, ValueId> known;
};

} // namespace

Expected<Isolated> isolate(const Level &level) {
  Isolated isolated = Isolator(level).run();
  KINTSUGI_RETURN_IF_ERROR(isolated.program.verify());
  return isolated;
}

} // namespace kintsugi::verify
