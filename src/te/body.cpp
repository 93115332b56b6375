#include "te/body.h"

#include "base/half.h"
#include "te/scalar.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

/// An index: a constant, multiples of iterators, and multiples of anything else.
struct Body::Position {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<int64_t, unsigned>, 4> iterators;
  std::vector<PositionTerm> others;
};

struct Body::PositionTerm {
  int64_t factor;
  AtomKind kind;
  int64_t divisor;
  std::unique_ptr<Position> operand; ///< FloorDiv, Mod
  BodyNode *data;                    ///< Data
};

struct BodyNode {
  ExprKind kind;
  ElementType type;
  ElementType operandType = ElementType::Invalid; ///< Of the last operand.
  double floatLiteral = 0;
  int64_t integerLiteral = 0;
  UnaryOp unary = UnaryOp::Neg;
  BinaryOp binary = BinaryOp::Add;
  BodyNode *operands[3] = {}; ///< Of a read: its fill, or null.

  /// Index: its one position. Read: one for each dimension, or only the place in the tensor where
  /// the read is known to stay inside.
  std::vector<std::unique_ptr<Body::Position>> positions;
  const ExactTensor *tensor = nullptr;
  bool inside = false;
  std::string name;

  unsigned uses = 0;
  uint64_t epoch = 0; ///< Of the value below, which is kept where there are several uses.
  double floatValue = 0;
  int64_t integerValue = 0;
};

Body::Body(const Program &program, const Definition &definition,
           llvm::function_ref<const ExactTensor *(ValueId)> tensors)
    : program(program), tensors(tensors), ranges(definition.ranges()),
      iterators(definition.numIterators()) {
  for (const Expr &expr : definition.bodies) {
    roots.push_back(compile(expr));
    types.push_back(expr.type());
  }
}

Body::~Body() = default;

Status Body::status() const { return failure ? Status(*failure) : Status::success(); }

//===- Compilation ----------------------------------------------------------===//

BodyNode *Body::compile(const Expr &expr) {
  auto [entry, isNew] = compiled.try_emplace(expr.identity(), nullptr);
  if (!isNew) {
    ++entry->second->uses;
    return entry->second;
  }
  BodyNode *node;
  if (expr.kind() == ExprKind::Read) {
    node = compileRead(expr);
  } else {
    nodes.push_back({expr.kind(), expr.type()});
    node = &nodes.back();
    for (auto [number, operand] : llvm::enumerate(expr.operands())) {
      node->operands[number] = compile(operand);
      node->operandType = operand.type();
    }
  }
  if (expr.isLiteral() && isFloat(expr.type()))
    node->floatLiteral = expr.literalFloat();
  else if (expr.isLiteral())
    node->integerLiteral = wrapInteger(expr.type(), expr.literalInteger());
  if (expr.kind() == ExprKind::Index)
    node->positions.push_back(compile(expr.indexValue()));
  if (expr.kind() == ExprKind::Unary)
    node->unary = expr.unaryOp();
  if (expr.kind() == ExprKind::Binary)
    node->binary = expr.binaryOp();
  node->uses = 1;
  compiled[expr.identity()] = node;
  return node;
}

BodyNode *Body::compileRead(const Expr &expr) {
  nodes.push_back({ExprKind::Read, expr.type()});
  BodyNode *node = &nodes.back();
  node->tensor = tensors(expr.readValue());
  node->name = program.value(expr.readValue()).name;
  llvm::ArrayRef<Extent> shape = program.shape(expr.readValue());
  if (const Expr *fill = expr.readFill())
    node->operands[0] = compile(*fill);
  node->inside = llvm::all_of(llvm::zip(expr.readIndices(), shape), [&](auto pair) {
    auto [index, extent] = pair;
    return index.isStatic() && rangeOf(index, ranges).within(Interval::of(extent));
  });
  if (node->inside) {
    node->positions.push_back(compile(linearize(expr.readIndices(), shape)));
    return node;
  }
  for (const Index &index : expr.readIndices())
    node->positions.push_back(compile(index));
  return node;
}

std::unique_ptr<Body::Position> Body::compile(const Index &index) {
  auto position = std::make_unique<Position>();
  position->constant = index.constantTerm();
  for (const Term &term : index.terms()) {
    const Atom &atom = term.atom;
    if (atom.kind == AtomKind::Iterator)
      position->iterators.push_back({term.factor, atom.iterator});
    else
      position->others.push_back({term.factor, atom.kind, atom.divisor,
                                  atom.kind == AtomKind::Data ? nullptr : compile(atom.operand),
                                  atom.kind == AtomKind::Data ? compile(*atom.data) : nullptr});
  }
  return position;
}

//===- Evaluation -----------------------------------------------------------===//

/// Wraps around, so that an index computed from wild data stays defined; its reader checks it.
static int64_t multiplyAdd(int64_t sum, int64_t factor, int64_t value) {
  return static_cast<int64_t>(static_cast<uint64_t>(sum) +
                              static_cast<uint64_t>(factor) * static_cast<uint64_t>(value));
}

int64_t Body::evalPosition(const Position &position) {
  int64_t result = position.constant;
  for (auto [factor, iterator] : position.iterators)
    result = multiplyAdd(result, factor, iterators[iterator]);
  for (const PositionTerm &term : position.others) {
    int64_t value = term.data ? evalInteger(*term.data) : evalPosition(*term.operand);
    if (term.operand) {
      int64_t remainder = value % term.divisor;
      remainder += remainder < 0 ? term.divisor : 0;
      bool isMod = term.kind == AtomKind::Mod;
      value = isMod ? remainder : value / term.divisor - (value % term.divisor < 0 ? 1 : 0);
    }
    result = multiplyAdd(result, term.factor, value);
  }
  return result;
}

void Body::leave(const BodyNode &node, size_t dimension, int64_t position) {
  if (!failure)
    failure = inputError("index " + std::to_string(position) + " is outside dimension " +
                         std::to_string(dimension) + " of '" + node.name + "' of shape " +
                         shapeString(node.tensor->shape));
}

int64_t Body::place(BodyNode &node) {
  if (node.inside)
    return evalPosition(*node.positions[0]);
  int64_t result = 0;
  for (size_t dimension = 0; dimension < node.positions.size(); ++dimension) {
    int64_t position = evalPosition(*node.positions[dimension]);
    int64_t extent = node.tensor->shape[dimension];
    if (position < 0 || position >= extent) {
      if (!node.operands[0])
        leave(node, dimension, position);
      return -1;
    }
    result = result * extent + position;
  }
  return result;
}

double Body::evalFloat(BodyNode &node) {
  if (node.uses == 1)
    return computeFloat(node);
  if (node.epoch != epoch) {
    node.floatValue = computeFloat(node);
    node.epoch = epoch;
  }
  return node.floatValue;
}

int64_t Body::evalInteger(BodyNode &node) {
  if (node.uses == 1)
    return computeInteger(node);
  if (node.epoch != epoch) {
    node.integerValue = computeInteger(node);
    node.epoch = epoch;
  }
  return node.integerValue;
}

double Body::computeFloat(BodyNode &node) {
  BodyNode **operands = node.operands;
  switch (node.kind) {
  case ExprKind::Literal:
    return node.floatLiteral;
  case ExprKind::Index:
    return static_cast<double>(evalPosition(*node.positions[0]));
  case ExprKind::Read: {
    int64_t where = place(node);
    if (where >= 0)
      return node.tensor->floats[where];
    return operands[0] ? evalFloat(*operands[0]) : 0;
  }
  case ExprKind::Unary:
    if (node.unary == UnaryOp::FromBits)
      return decodeFloat(node.type, static_cast<uint64_t>(evalInteger(*operands[0])));
    return applyUnary(node.unary, evalFloat(*operands[0]));
  case ExprKind::Binary: {
    double left = evalFloat(*operands[0]);
    return applyBinary(node.binary, left, evalFloat(*operands[1]));
  }
  case ExprKind::Select:
    return evalFloat(*operands[evalInteger(*operands[0]) ? 1 : 2]);
  case ExprKind::Cast: {
    double value = isFloat(node.operandType)
                       ? evalFloat(*operands[0])
                       : castToFloat(node.operandType, evalInteger(*operands[0]));
    return isStorageOnly(node.type) ? roundedTo(node.type, value) : value;
  }
  }
  return 0;
}

int64_t Body::computeInteger(BodyNode &node) {
  BodyNode **operands = node.operands;
  bool ofFloats = isFloat(node.operandType);
  switch (node.kind) {
  case ExprKind::Literal:
    return node.integerLiteral;
  case ExprKind::Index:
    return wrapInteger(node.type, evalPosition(*node.positions[0]));
  case ExprKind::Read: {
    int64_t where = place(node);
    if (where >= 0)
      return node.tensor->integers[where];
    return operands[0] ? evalInteger(*operands[0]) : 0;
  }
  case ExprKind::Unary:
    if (node.unary == UnaryOp::Bits)
      return static_cast<int64_t>(encodeFloat(node.operandType, evalFloat(*operands[0])));
    if (ofFloats)
      return applyTest(node.unary, evalFloat(*operands[0]));
    return applyUnary(node.unary, node.type, evalInteger(*operands[0]));
  case ExprKind::Binary: {
    if (ofFloats) {
      double left = evalFloat(*operands[0]);
      return applyComparison(node.binary, left, evalFloat(*operands[1]));
    }
    int64_t left = evalInteger(*operands[0]);
    return applyBinary(node.binary, node.operandType, left, evalInteger(*operands[1]));
  }
  case ExprKind::Select:
    return evalInteger(*operands[evalInteger(*operands[0]) ? 1 : 2]);
  case ExprKind::Cast:
    return ofFloats ? castToInteger(node.type, evalFloat(*operands[0]))
                    : wrapInteger(node.type, evalInteger(*operands[0]));
  }
  return 0;
}

} // namespace kintsugi::te
