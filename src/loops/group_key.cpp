#include "loops/group_key.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::loops {

using namespace te;

static void addWord(std::string &text, llvm::StringRef word) {
  text += word;
  text += ' ';
}

class GroupKeys::Writer {
public:
  Writer(const Program &program, Text &result) : program(program), result(result) {}

  void definition(const Definition &definition) {
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
  }

private:
  void text(llvm::StringRef word) { addWord(result.end, word); }
  void number(int64_t n) { text(std::to_string(n)); }

  void value(ValueId id) {
    result.pieces.push_back({std::move(result.end), id});
    result.end.clear();
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
  Text &result;
};

const GroupKeys::Text &GroupKeys::textOf(uint32_t node) {
  auto [entry, isNew] = texts.try_emplace(node);
  if (isNew)
    Writer(program, entry->second).definition(std::get<Definition>(program.nodes[node]));
  return entry->second;
}

void GroupKeys::addValue(ValueId id, GroupKey &key) {
  auto [entry, isNew] = numbers.try_emplace(id.number, key.values.size());
  addWord(key.text, std::to_string(entry->second));
  if (!isNew)
    return;
  key.values.push_back(id);
  addWord(key.text, "is");
  addWord(key.text, std::to_string(static_cast<int>(program.value(id).type)));
  for (Extent extent : program.shape(id))
    addWord(key.text, std::to_string(extent.constant()));
  addWord(key.text, ".");
}

GroupKey GroupKeys::of(const Group &group) {
  GroupKey key;
  numbers.clear();
  for (uint32_t node : group.nodes) {
    const Text &text = textOf(node);
    for (const Text::Piece &piece : text.pieces) {
      key.text += piece.before;
      addValue(piece.value, key);
    }
    key.text += text.end;
    for (ValueId result : program.resultsOf(node)) {
      addValue(result, key);
      addWord(key.text, llvm::is_contained(group.outputs, result) ? "stored" : "local");
    }
  }
  if (!group.constants.empty()) {
    addWord(key.text, "constants");
    for (ValueId id : group.constants)
      addValue(id, key);
  }
  for (const OpenRows &open : group.open) {
    addWord(key.text, "open");
    for (int64_t number : {int64_t(open.dimension), open.each, open.low, open.high})
      addWord(key.text, std::to_string(number));
  }
  return key;
}

GroupKey keyOf(const Program &program, const Group &group) { return GroupKeys(program).of(group); }

} // namespace kintsugi::loops
