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
  case ExprKind::Select:
  case ExprKind::Cast:
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

void CanonicalWriter::write(const Expr &expr) {
  switch (expr.kind()) {
  case ExprKind::Literal:
    text += std::string(nameOf(expr.type())) + ":" + spellLiteral(expr);
    return;
  case ExprKind::Index:
    text += std::string(nameOf(expr.type())) + "{";
    write(expr.indexValue());
    text += "}";
    return;
  case ExprKind::Read:
    text += nameOfValue(expr.readValue()) + "[";
    for (const Index &index : expr.readIndices()) {
      write(index);
      text += ",";
    }
    text += "]";
    if (const Expr *fill = expr.readFill()) {
      text += "|";
      write(*fill);
    }
    return;
  case ExprKind::Unary:
    text += nameOf(expr.unaryOp());
    break;
  case ExprKind::Binary:
    text += nameOf(expr.binaryOp());
    break;
  case ExprKind::Select:
    text += "select";
    break;
  case ExprKind::Cast:
    text += nameOf(expr.type());
    break;
  }
  llvm::SmallVector<const Expr *, 3> operands;
  for (const Expr &operand : expr.operands())
    operands.push_back(&operand);
  if (expr.kind() == ExprKind::Binary && isCommutative(expr.binaryOp()) &&
      hasher.hash(*operands[1]) < hasher.hash(*operands[0]))
    std::swap(operands[0], operands[1]);
  text += "(";
  for (const Expr *operand : operands) {
    write(*operand);
    text += ",";
  }
  text += ")";
}

void CanonicalWriter::write(const Atom &atom) {
  switch (atom.kind) {
  case AtomKind::Iterator:
    text += "i" + std::to_string(atom.iterator);
    return;
  case AtomKind::FloorDiv:
  case AtomKind::Mod:
    text += "(";
    write(atom.operand);
    text += (atom.kind == AtomKind::FloorDiv ? ")//" : ")%") + std::to_string(atom.divisor);
    return;
  case AtomKind::Data:
    text += "{";
    write(*atom.data);
    text += "}";
    return;
  }
}

void CanonicalWriter::write(const Index &index) {
  llvm::SmallVector<std::pair<Hash128, size_t>> order;
  for (auto [place, term] : llvm::enumerate(index.terms()))
    order.push_back({hasher.hash(term), place});
  llvm::sort(order);
  for (auto [hash, place] : order) {
    const Term &term = index.terms()[place];
    text += std::to_string(term.factor) + "*";
    write(term.atom);
    text += "+";
  }
  text += std::to_string(index.constantTerm());
}

void CanonicalWriter::write(const Program &program, uint32_t node) {
  if (const auto *definition = std::get_if<Definition>(&program.nodes[node]))
    return write(program, *definition);
  if (const auto *scan = std::get_if<Scan>(&program.nodes[node]))
    return write(*scan);
  write(std::get<Call>(program.nodes[node]));
}

void CanonicalWriter::writeExtents(llvm::ArrayRef<Iterator> iterators) {
  text += "[";
  for (const Iterator &iterator : iterators)
    text += std::to_string(iterator.extent.constant()) + ",";
  text += "]";
}

void CanonicalWriter::write(const Program &program, const Definition &definition) {
  for (ValueId result : definition.results)
    text += std::string(nameOf(program.value(result).type)) + " ";
  writeExtents(definition.parallel);
  if (definition.reduction) {
    text += std::string(nameOf(definition.reduction->combiner)) + "<" +
            std::string(nameOf(definition.reduction->accumulator)) + ">";
    writeExtents(definition.reduction->iterators);
  }
  for (const Expr &body : definition.bodies) {
    text += " ";
    write(body);
  }
}

void CanonicalWriter::writeValues(llvm::ArrayRef<ValueId> values) {
  text += "(";
  for (ValueId value : values)
    text += nameOfValue(value) + ",";
  text += ")";
}

void CanonicalWriter::write(const Scan &scan) {
  text += "scan[" + std::to_string(scan.trip.constant()) + "]";
  writeValues(scan.initial);
  writeValues(scan.captured);
  text += "{\n" + canonicalText(*scan.body) + "}";
}

void CanonicalWriter::write(const Call &call) {
  text += "call " + quote(call.callee) + printJson(call.attributes);
  writeValues(call.operands);
}

} // namespace kintsugi::te
