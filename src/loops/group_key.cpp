#include "loops/group_key.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace kintsugi::loops {

using namespace te;

namespace {

class KeyWriter {
public:
  KeyWriter(const Program &program, GroupKey &key) : program(program), key(key) {}

  void constants(llvm::ArrayRef<ValueId> values) {
    if (values.empty())
      return;
    text("constants");
    for (ValueId id : values)
      value(id);
  }

  void definition(const Definition &definition, llvm::ArrayRef<ValueId> outputs) {
    text("def");
    for (const Iterator &iterator : definition.parallel)
      number(iterator.extent.constant());
    if (definition.reduction) {
      text(nameOf(definition.reduction->combiner));
      number(static_cast<int>(definition.reduction->accumulator));
      for (const Iterator &iterator : definition.reduction->iterators)
        number(iterator.extent.constant());
    }
    for (const Expr &body : definition.bodies)
      expression(body);
    for (ValueId result : definition.results) {
      value(result);
      text(llvm::is_contained(outputs, result) ? "stored" : "local");
    }
  }

private:
  void text(llvm::StringRef word) {
    key.text += word;
    key.text += ' ';
  }
  void number(int64_t n) { text(std::to_string(n)); }

  void value(ValueId id) {
    auto [entry, fresh] = numbers.try_emplace(id.number, key.values.size());
    number(entry->second);
    if (!fresh)
      return;
    key.values.push_back(id);
    text("is");
    number(static_cast<int>(program.value(id).type));
    for (Extent extent : program.shape(id))
      number(extent.constant());
    text(".");
  }

  void index(const Index &index) {
    text("(");
    number(index.constantTerm());
    for (const Term &term : index.terms()) {
      number(term.factor);
      switch (term.atom.kind) {
      case AtomKind::Iterator:
        text("i" + std::to_string(term.atom.iterator));
        break;
      case AtomKind::FloorDiv:
      case AtomKind::Mod:
        text(term.atom.kind == AtomKind::Mod ? "mod" : "div");
        number(term.atom.divisor);
        this->index(term.atom.operand);
        break;
      case AtomKind::Data:
        expression(*term.atom.data);
        break;
      }
    }
    text(")");
  }

  /// What a table says decides how far loops run, and so what a schedule costs.
  void bound(const Expr &comparison) {
    const Expr &table = comparison.operand(1);
    if (comparison.binaryOp() != BinaryOp::Less ||
        comparison.operand(0).kind() != ExprKind::Index || table.kind() != ExprKind::Read)
      return;
    if (const Value &value = program.value(table.readValue()); value.kind == ValueKind::Constant)
      text("from " + value.constant->identity());
  }

  void expression(const Expr &expr) {
    number(static_cast<int>(expr.kind()));
    number(static_cast<int>(expr.type()));
    switch (expr.kind()) {
    case ExprKind::Literal:
      number(isFloat(expr.type()) ? std::bit_cast<int64_t>(expr.literalFloat())
                                  : expr.literalInteger());
      break;
    case ExprKind::Index:
      index(expr.indexValue());
      break;
    case ExprKind::Read:
      value(expr.readValue());
      for (const Index &i : expr.readIndices())
        index(i);
      if (const Expr *fill = expr.readFill()) {
        text("fill");
        expression(*fill);
      }
      break;
    case ExprKind::Unary:
      text(nameOf(expr.unaryOp()));
      break;
    case ExprKind::Binary:
      text(nameOf(expr.binaryOp()));
      bound(expr);
      break;
    case ExprKind::Cast:
      if (expr.isStored())
        text("stored");
      break;
    case ExprKind::Select:
      break;
    }
    for (const Expr &operand : expr.operands())
      expression(operand);
  }

  const Program &program;
  GroupKey &key;
  std::map<uint32_t, size_t> numbers;
};

} // namespace

GroupKey keyOf(const Program &program, const Group &group) {
  GroupKey key;
  KeyWriter writer(program, key);
  for (uint32_t node : group.nodes)
    writer.definition(std::get<Definition>(program.nodes[node]), group.outputs);
  writer.constants(group.constants);
  return key;
}

} // namespace kintsugi::loops
