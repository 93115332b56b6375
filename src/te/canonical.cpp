#include "te/canonical.h"

#include "te/constant.h"
#include "te/hash.h"
#include "te/syntax.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::te {

bool isCommutative(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Mul:
  case BinaryOp::Max:
  case BinaryOp::Min:
  case BinaryOp::And:
  case BinaryOp::Or:
  case BinaryOp::Xor:
  case BinaryOp::Equal:
  case BinaryOp::NotEqual:
    return true;
  default:
    return false;
  }
}

std::string describe(const Value &value) {
  return std::string(nameOf(value.type)) + shapeString(plainShape(value.shape));
}

//===- Hashes ---------------------------------------------------------------===//

Hash128 ColourHasher::hash(const Expr &expr) {
  auto found = known.find(expr.identity());
  if (found != known.end())
    return found->second;
  Hash128 result = compute(expr);
  known[expr.identity()] = result;
  return result;
}

Hash128 ColourHasher::compute(const Expr &expr) {
  Hasher hasher;
  hasher.add(expr.kind()).add(expr.type());
  switch (expr.kind()) {
  case ExprKind::Literal:
    hasher.add(spellLiteral(expr));
    break;
  case ExprKind::Index:
    hasher.add(hash(expr.indexValue()));
    break;
  case ExprKind::Read:
    hasher.add(colour(expr.readValue()));
    for (const Index &index : expr.readIndices())
      hasher.add(hash(index));
    if (const Expr *fill = expr.readFill())
      hasher.add(hash(*fill));
    break;
  case ExprKind::Unary:
    hasher.add(expr.unaryOp());
    break;
  case ExprKind::Binary:
    hasher.add(expr.binaryOp());
    break;
  case ExprKind::Cast:
    hasher.add(expr.isStored());
    break;
  case ExprKind::Select:
    break;
  }
  llvm::SmallVector<Hash128, 3> operands;
  for (const Expr &operand : expr.operands())
    operands.push_back(hash(operand));
  if (expr.kind() == ExprKind::Binary && isCommutative(expr.binaryOp()))
    hasher.addUnordered(operands);
  else
    hasher.addRange(operands);
  return hasher.finish();
}

Hash128 ColourHasher::hash(const Term &term) {
  Hasher hasher;
  hasher.add(term.factor).add(term.atom.kind).add(term.atom.iterator).add(term.atom.divisor);
  if (term.atom.kind == AtomKind::Data)
    hasher.add(hash(*term.atom.data));
  else if (term.atom.kind != AtomKind::Iterator)
    hasher.add(hash(term.atom.operand));
  return hasher.finish();
}

Hash128 ColourHasher::hash(const Index &index) {
  llvm::SmallVector<Hash128> terms;
  for (const Term &term : index.terms())
    terms.push_back(hash(term));
  return Hasher().add(index.constantTerm()).addUnordered(terms).finish();
}

Hash128 ColourHasher::hash(const Program &program, uint32_t node) {
  if (const auto *definition = std::get_if<Definition>(&program.nodes[node]))
    return hash(program, *definition);
  if (const auto *scan = std::get_if<Scan>(&program.nodes[node]))
    return hash(*scan);
  return hash(std::get<Call>(program.nodes[node]));
}

Hash128 ColourHasher::hash(const Program &program, const Definition &definition) {
  Hasher hasher("definition");
  for (ValueId result : definition.results)
    hasher.add(program.value(result).type);
  for (const Iterator &iterator : definition.parallel)
    hasher.add(iterator.extent.constant());
  if (definition.reduction) {
    hasher.add(definition.reduction->combiner).add(definition.reduction->accumulator);
    for (const Iterator &iterator : definition.reduction->iterators)
      hasher.add(iterator.extent.constant());
  }
  for (const Expr &body : definition.bodies)
    hasher.add(hash(body));
  return hasher.finish();
}

Hash128 ColourHasher::hash(const Scan &scan) {
  Hasher hasher("scan");
  hasher.add(scan.trip.constant()).add(hashOf(*scan.body));
  if (scan.goesOnWhile)
    hasher.add(*scan.goesOnWhile);
  for (ValueId value : llvm::concat<const ValueId>(scan.initial, scan.captured))
    hasher.add(colour(value));
  return hasher.finish();
}

Hash128 ColourHasher::hash(const Call &call) {
  Hasher hasher("call");
  hasher.add(call.callee).add(printJson(call.attributes));
  for (ValueId value : call.operands)
    hasher.add(colour(value));
  return hasher.finish();
}

//===- Texts ----------------------------------------------------------------===//

unsigned CanonicalWriter::write(const Expr &expr) {
  if (auto found = numbers.find(expr.identity()); found != numbers.end())
    return found->second;
  std::string line = spell(expr);
  auto [entry, isNew] = lines.try_emplace(line, lines.size());
  if (isNew)
    text += line + "\n";
  numbers[expr.identity()] = entry->second;
  return entry->second;
}

std::string CanonicalWriter::spell(const Expr &expr) {
  std::string type(nameOf(expr.type()));
  switch (expr.kind()) {
  case ExprKind::Literal:
    return type + ":" + spellLiteral(expr);
  case ExprKind::Index:
    return type + "{" + spell(expr.indexValue()) + "}";
  case ExprKind::Read: {
    std::string line = nameOfValue(expr.readValue()) + "[";
    for (const Index &index : expr.readIndices())
      line += spell(index) + ",";
    line += "]";
    if (const Expr *fill = expr.readFill())
      line += "|" + std::to_string(write(*fill));
    return line;
  }
  default:
    return spellOperation(expr);
  }
}

std::string CanonicalWriter::spellOperation(const Expr &expr) {
  std::string line = "select";
  if (expr.kind() == ExprKind::Unary)
    line = nameOf(expr.unaryOp());
  else if (expr.kind() == ExprKind::Binary)
    line = nameOf(expr.binaryOp());
  else if (expr.kind() == ExprKind::Cast)
    line = (expr.isStored() ? "stored " : "") + std::string(nameOf(expr.type()));
  llvm::SmallVector<const Expr *, 3> operands;
  for (const Expr &operand : expr.operands())
    operands.push_back(&operand);
  if (expr.kind() == ExprKind::Binary && isCommutative(expr.binaryOp()) &&
      hasher.hash(*operands[1]) < hasher.hash(*operands[0]))
    std::swap(operands[0], operands[1]);
  for (const Expr *operand : operands)
    line += " " + std::to_string(write(*operand));
  return line;
}

std::string CanonicalWriter::spell(const Atom &atom) {
  switch (atom.kind) {
  case AtomKind::Iterator:
    return "i" + std::to_string(atom.iterator);
  case AtomKind::FloorDiv:
    return "(" + spell(atom.operand) + ")//" + std::to_string(atom.divisor);
  case AtomKind::Mod:
    return "(" + spell(atom.operand) + ")%" + std::to_string(atom.divisor);
  case AtomKind::Data:
    return "@" + std::to_string(write(*atom.data));
  }
  return "";
}

std::string CanonicalWriter::spell(const Index &index) {
  llvm::SmallVector<std::pair<Hash128, size_t>> order;
  for (auto [place, term] : llvm::enumerate(index.terms()))
    order.push_back({hasher.hash(term), place});
  llvm::sort(order);
  std::string sum;
  for (auto [hash, place] : order) {
    const Term &term = index.terms()[place];
    sum += std::to_string(term.factor) + "*" + spell(term.atom) + "+";
  }
  return sum + std::to_string(index.constantTerm());
}

void CanonicalWriter::write(const Program &program, uint32_t node) {
  if (const auto *definition = std::get_if<Definition>(&program.nodes[node]))
    return write(program, *definition);
  if (const auto *scan = std::get_if<Scan>(&program.nodes[node]))
    return write(*scan);
  write(std::get<Call>(program.nodes[node]));
}

static std::string spellExtents(llvm::ArrayRef<Iterator> iterators) {
  std::string list = "[";
  for (const Iterator &iterator : iterators)
    list += std::to_string(iterator.extent.constant()) + ",";
  return list + "]";
}

void CanonicalWriter::write(const Program &program, const Definition &definition) {
  std::string line = "define";
  for (ValueId result : definition.results)
    line += " " + std::string(nameOf(program.value(result).type));
  line += spellExtents(definition.parallel);
  if (definition.reduction)
    line += std::string(nameOf(definition.reduction->combiner)) + "<" +
            std::string(nameOf(definition.reduction->accumulator)) + ">" +
            spellExtents(definition.reduction->iterators);
  for (const Expr &body : definition.bodies)
    line += " " + std::to_string(write(body));
  text += line;
}

std::string CanonicalWriter::spellValues(llvm::ArrayRef<ValueId> values) {
  std::string list = "(";
  for (ValueId value : values)
    list += nameOfValue(value) + ",";
  return list + ")";
}

void CanonicalWriter::write(const Scan &scan) {
  text += "scan[" + std::to_string(scan.trip.constant()) + "]" + spellWhile(scan) +
          spellValues(scan.initial) + spellValues(scan.captured) + "{\n" +
          canonicalText(*scan.body) + "}";
}

void CanonicalWriter::write(const Call &call) {
  text += "call " + quote(call.callee) + printJson(call.attributes) + spellValues(call.operands);
}

} // namespace kintsugi::te
