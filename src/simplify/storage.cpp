#include "simplify/storage.h"

#include "te/constant_nodes.h"
#include "te/product.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::simplify {

using namespace te;

namespace {

int64_t elementsOf(const Program &program, ValueId id) {
  int64_t elements = 1;
  for (Extent extent : program.shape(id))
    elements *= extent.constant();
  return elements;
}

/// Visits the definitions of a scan's body that may read what it captures as `captured[number]`,
/// and those of scans in it, with the name that the value has there.
void forEachInScan(const Scan &scan, size_t number,
                   llvm::function_ref<void(const Definition &, ValueId)> visit) {
  ValueId inner = scan.body->inputs[1 + scan.initial.size() + number];
  for (const Node &node : scan.body->nodes) {
    if (const auto *definition = std::get_if<Definition>(&node))
      visit(*definition, inner);
    else if (const auto *below = std::get_if<Scan>(&node))
      for (auto [k, id] : llvm::enumerate(below->captured))
        if (id == inner)
          forEachInScan(*below, k, visit);
  }
}

void markReads(const Expr &expr, std::vector<bool> &marked) {
  expr.walk([&](const Expr &e) {
    if (e.kind() == ExprKind::Read && e.type() == ElementType::F32)
      marked[e.readValue().number] = true;
  });
}

/// Whether an expression is a step of its operands, or a wave: a little more or less, of a large
/// number, may change it by much.
bool isStepOrWave(const Expr &expr) {
  if (expr.kind() == ExprKind::Cast)
    return !isFloat(expr.type()) && isFloat(expr.operand(0).type());
  if (expr.kind() != ExprKind::Unary)
    return false;
  switch (expr.unaryOp()) {
  case UnaryOp::Bits:
  case UnaryOp::Floor:
  case UnaryOp::Ceil:
  case UnaryOp::Round:
  case UnaryOp::Sin:
  case UnaryOp::Cos:
  case UnaryOp::Tan:
    return true;
  default:
    return false;
  }
}

} // namespace

bool handsOn(const Scan &scan, size_t number) {
  ValueId inner = scan.body->inputs[1 + scan.initial.size() + number];
  if (llvm::any_of(scan.body->outputs, [&](const auto &output) { return output.value == inner; }))
    return true;
  return llvm::any_of(scan.body->nodes, [&](const Node &node) {
    if (const auto *call = std::get_if<Call>(&node))
      return llvm::is_contained(call->operands, inner);
    const auto *below = std::get_if<Scan>(&node);
    if (!below)
      return false;
    if (llvm::is_contained(below->initial, inner))
      return true;
    for (auto [k, id] : llvm::enumerate(below->captured))
      if (id == inner && handsOn(*below, k))
        return true;
    return false;
  });
}

llvm::SmallVector<Expr, 2> bareFactorsOf(const Definition &definition) {
  llvm::SmallVector<Expr, 2> result;
  if (!isContraction(definition) ||
      !multipliesMatrices(definition.bodies[0], definition.parallel.size()))
    return result;
  for (const Expr &side : definition.bodies[0].operands())
    if (side.kind() == ExprKind::Read && side.type() == ElementType::F32)
      result.push_back(side);
  return result;
}

const Expr *copiedReadOf(const Definition &definition) {
  if (definition.reduction || definition.bodies.size() != 1)
    return nullptr;
  const Expr &body = definition.bodies[0];
  bool isRead = body.kind() == ExprKind::Read && body.type() == ElementType::F32;
  return isRead && !body.readFill() ? &body : nullptr;
}

std::optional<Expr> sameLiteral(const Expr &literal, ElementType narrow, int exponent) {
  if (!literal.isLiteral() || !isFloat(literal.type()))
    return std::nullopt;
  double divided = std::ldexp(literal.literalFloat(), -exponent);
  Expr same = Expr::literal(narrow, divided);
  return same.literalFloat() == divided ? std::optional(same) : std::nullopt;
}

StorageChoice::StorageChoice(const Program &program, ElementType narrow,
                             llvm::ArrayRef<Magnitude> inputs, const Tried &tried, bool isScanBody)
    : program(program), narrow(narrow), tried(tried), isScanBody(isScanBody),
      constantNodes(te::constantNodes(program)), magnitudes(program, narrow, constantNodes, inputs),
      chosen(program.numValues()), readers(program.numValues()), exact(program.numValues()),
      fixed(program.numValues()), factor(program.numValues()), repeated(program.numValues()),
      powers(program, narrow), filled(program.numValues()) {
  for (uint32_t node = 0; node < program.nodes.size(); ++node)
    for (ValueId operand : program.operandsOf(node))
      readers[operand.number].push_back(node);
  findExact();
  findFixed();
  findFactors();
  findRepeated();
  if (!tried.greatest.empty())
    powers.find(constantNodes, {findUnread(), keptResults()}, tried.greatest);
  findFills();
  for (uint32_t number = 0; number < program.numValues(); ++number)
    if (program.values[number].type == ElementType::F32)
      choose({number});
}

/// Values that integers, truth values, choices or waves are made from, and what those are made from
/// elementwise.
void StorageChoice::findExact() {
  for (uint32_t node = program.nodes.size(); node-- > 0;) {
    const auto *definition = std::get_if<Definition>(&program.nodes[node]);
    if (!definition)
      continue;
    bool isExact = llvm::any_of(definition->results, [&](ValueId id) {
      return exact[id.number] || !isFloat(program.value(id).type);
    });
    for (const Expr &body : definition->bodies) {
      if (isExact && !isContraction(*definition))
        markReads(body, exact);
      body.walk([&](const Expr &e) {
        if (isStepOrWave(e))
          markReads(e.operand(0), exact);
      });
    }
  }
}

void StorageChoice::findFixed() {
  for (const Program::Output &output : program.outputs)
    fixed[output.value.number] = true;
  auto fix = [&](llvm::ArrayRef<ValueId> values) {
    for (ValueId id : values)
      fixed[id.number] = true;
  };
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    if (const auto *call = std::get_if<Call>(&program.nodes[node]))
      fix(call->operands);
    const auto *scan = std::get_if<Scan>(&program.nodes[node]);
    if (!scan)
      continue;
    fix(scan->initial);
    for (auto [k, id] : llvm::enumerate(scan->captured))
      if (isKept(node) || handsOn(*scan, k)) // A body that is kept stands as it is.
        fix(id);
  }
}

void StorageChoice::findFactors() {
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    if (const auto *definition = std::get_if<Definition>(&program.nodes[node]);
        definition && !constantNodes[node])
      for (const Expr &read : bareFactorsOf(*definition))
        factor[read.readValue().number] = true;
    if (const auto *scan = std::get_if<Scan>(&program.nodes[node]))
      for (auto [k, id] : llvm::enumerate(scan->captured))
        forEachInScan(*scan, k, [&](const Definition &definition, ValueId inner) {
          for (const Expr &read : bareFactorsOf(definition))
            if (read.readValue() == inner)
              factor[id.number] = true;
        });
  }
}

/// A copy of fewer elements, ahead of what repeats them, lets the readers of that read through it.
void StorageChoice::findRepeated() {
  for (const auto [node, constant] : llvm::zip_equal(program.nodes, constantNodes)) {
    const auto *definition = std::get_if<Definition>(&node);
    const Expr *read = definition && !constant ? copiedReadOf(*definition) : nullptr;
    if (read &&
        elementsOf(program, definition->results[0]) > elementsOf(program, read->readValue()))
      repeated[read->readValue().number] = true;
  }
}

void StorageChoice::findFills() {
  auto forEachLost = [&](const Definition &definition, bool isOfProgram,
                         llvm::function_ref<void(ValueId)> visit) {
    for (const Expr &body : definition.bodies)
      body.walk([&](const Expr &e) {
        if (e.kind() != ExprKind::Read || !e.readFill())
          return;
        int exponent = isOfProgram ? powers.of(e.readValue()) : 0;
        if (!sameLiteral(*e.readFill(), narrow, exponent))
          visit(e.readValue());
      });
  };
  for (const Node &node : program.nodes) {
    if (const auto *definition = std::get_if<Definition>(&node))
      forEachLost(*definition, true, [&](ValueId id) { filled[id.number] = true; });
    if (const auto *scan = std::get_if<Scan>(&node))
      for (auto [k, id] : llvm::enumerate(scan->captured))
        forEachInScan(*scan, k, [&](const Definition &definition, ValueId inner) {
          forEachLost(definition, false, [&](ValueId read) {
            if (read == inner)
              filled[id.number] = true;
          });
        });
  }
}

/// A table of so few numbers costs nothing as it is.
bool StorageChoice::isSmall(ValueId id) const {
  constexpr int64_t fewElements = 4096;
  return elementsOf(program, id) <= fewElements ||
         llvm::count_if(program.shape(id), [](Extent e) { return e.constant() > 1; }) <= 1;
}

/// Whether a sum is all that one elementwise definition needs of it, which then rounds the result.
bool StorageChoice::isFinishedByReader(ValueId id) const {
  const Definition *sum = program.definitionOf(id);
  if (!sum->reduction || readers[id.number].size() != 1)
    return false;
  const auto *reader = std::get_if<Definition>(&program.nodes[readers[id.number][0]]);
  if (!reader || reader->reduction ||
      elementsOf(program, reader->results[0]) != elementsOf(program, id))
    return false;
  const Expr *read = nullptr;
  bool once = true;
  reader->bodies[0].walk([&](const Expr &e) {
    if (e.kind() != ExprKind::Read || e.readValue() != id)
      return;
    once &= !e.readFill() && (!read || *read == e);
    read = &e;
  });
  return once;
}

/// Values that are f32 whatever their range is, and that no product of matrices reads.
std::vector<bool> StorageChoice::findUnread() const {
  std::vector<bool> unread(program.numValues());
  for (uint32_t number = 0; number < program.numValues(); ++number) {
    ValueId id{number};
    bool isDefined = program.value(id).kind == ValueKind::Result && program.definitionOf(id);
    unread[number] = !factor[number] &&
                     (elementsOf(program, id) <= 1 || exact[number] || magnitudes.of(id).large ||
                      magnitudes.of(id).statistic || (isDefined && isFinishedByReader(id)));
  }
  return unread;
}

/// What a node makes that stays f32 whatever its range is, since rounding it was seen to be worse.
bool StorageChoice::isKeptResult(ValueId id) const {
  const Value &value = program.value(id);
  return value.kind == ValueKind::Result && isKept(value.node);
}

std::vector<bool> StorageChoice::keptResults() const {
  std::vector<bool> kept(program.numValues());
  for (uint32_t number = 0; number < kept.size(); ++number)
    kept[number] = isKeptResult({number});
  return kept;
}

void StorageChoice::choose(ValueId id) {
  const Value &value = program.value(id);
  Storage &storage = chosen[id.number];
  bool isConstant = value.kind == ValueKind::Constant ||
                    (value.kind == ValueKind::Result && constantNodes[value.node]);
  auto stays = [&](const char *reason) { storage.reason = reason; };
  if (elementsOf(program, id) <= 1)
    return stays("it is one number");
  if (magnitudes.of(id).large || powers.isBeyond(id)) {
    storage.copied = factor[id.number] && powers.ofFactor(id) != powers.of(id);
    return stays("it may leave the type's range");
  }
  if (magnitudes.of(id).statistic)
    return stays("it is a statistic of other values");
  if (exact[id.number])
    return stays("integers, choices or waves are made from it");
  if (filled[id.number])
    return stays("the type lacks the number that stands outside of it");
  if (isKeptResult(id)) {
    storage.copied = !isScanBody && factor[id.number];
    return stays(movesTooFar);
  }
  if (isConstant && isSmall(id) && !factor[id.number])
    return stays("it is a small constant");
  bool isDefined = value.kind == ValueKind::Result && program.definitionOf(id);
  storage.narrow = isDefined && !fixed[id.number] && !isFinishedByReader(id);
  if (storage.narrow)
    return;
  storage.copied = !isScanBody && (factor[id.number] || repeated[id.number] ||
                                   (value.kind == ValueKind::Constant && !fixed[id.number]));
  if (isDefined && !fixed[id.number])
    return stays("one definition finishes the sum");
  if (!storage.copied)
    stays("an input, an output, a scan or a call tells its type");
}

} // namespace kintsugi::simplify
