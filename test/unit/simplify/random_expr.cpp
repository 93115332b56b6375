#include "random_expr.h"

#include "te/printer.h"
#include "te/scalar.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace kintsugi::simplify {

using namespace te;

static constexpr ElementType types[] = {ElementType::F32, ElementType::F64, ElementType::F16,
                                        ElementType::I64, ElementType::I32, ElementType::U8,
                                        ElementType::Bool};

ExprMaker::ExprMaker(uint64_t seed) : chance(seed) {
  for (ElementType type : types)
    for (const char *stem : {"x", "y", "tame"}) {
      if (stem[0] == 't' && !isFloat(type))
        continue;
      ValueId id =
          program.addInput(std::string(stem) + "." + std::string(nameOf(type)), type, {points});
      if (stem[0] == 't')
        program.value(id).facts = {-2.0, 3.0, true, true};
    }
}

ElementType ExprMaker::type() { return chance.pick(types); }

Expr ExprMaker::literal(ElementType type) {
  if (type == ElementType::Bool)
    return Expr::boolean(chance.oneIn(2));
  static const double floats[] = {0, -0.0, 1, 2, 3, 4, 0.5, 256, -1, -2, 0.1};
  static const int64_t integers[] = {0, 1, 2, -1, 3};
  return isFloat(type) ? Expr::literal(type, chance.pick(floats))
                       : Expr::literal(type, chance.pick(integers));
}

Expr ExprMaker::leaf(ElementType type) {
  if (chance.oneIn(3))
    return literal(type);
  llvm::SmallVector<ValueId> candidates;
  for (ValueId input : program.inputs)
    if (program.value(input).type == type)
      candidates.push_back(input);
  return Expr::read(chance.pick(candidates), type, {Index::iterator(0)});
}

Expr ExprMaker::expr(ElementType type, unsigned depth) {
  if (depth == 0 || chance.oneIn(5))
    return leaf(type);
  switch (chance.between(0, 5)) {
  case 0: {
    Expr onTrue = expr(type, depth - 1);
    Expr onFalse = chance.oneIn(3) ? onTrue : expr(type, depth - 1);
    return Expr::select(expr(ElementType::Bool, depth - 1), onTrue, onFalse);
  }
  case 1:
    return cast(type, depth);
  case 2:
    return type == ElementType::Bool ? boolean(depth) : unary(type, depth);
  default:
    return type == ElementType::Bool ? boolean(depth) : binary(type, depth);
  }
}

/// As the importer writes it.
static Expr softplusOf(const Expr &x) {
  Expr zero = Expr::literal(x.type(), 0.0), one = Expr::literal(x.type(), 1.0);
  Expr tail = Expr::unary(UnaryOp::Exp, -Expr::unary(UnaryOp::Abs, x));
  return Expr::binary(BinaryOp::Max, x, zero) + Expr::unary(UnaryOp::Log, one + tail);
}

Expr ExprMaker::unary(ElementType type, unsigned depth) {
  static const UnaryOp ofFloats[] = {UnaryOp::Neg,  UnaryOp::Neg,   UnaryOp::Abs,   UnaryOp::Sign,
                                     UnaryOp::Ceil, UnaryOp::Floor, UnaryOp::Round, UnaryOp::Sqrt,
                                     UnaryOp::Exp,  UnaryOp::Log,   UnaryOp::Tanh,  UnaryOp::Erf};
  static const UnaryOp ofIntegers[] = {UnaryOp::Neg, UnaryOp::Not, UnaryOp::Abs};
  UnaryOp op = isFloat(type) ? chance.pick(ofFloats) : chance.pick(ofIntegers);
  if (!supports(op, type))
    op = UnaryOp::Not;
  Expr operand = expr(type, depth - 1);
  if (op == UnaryOp::Tanh)
    operand = chance.oneIn(2) ? softplusOf(operand) : operand;
  bool twice = (op == UnaryOp::Neg || op == UnaryOp::Not) && chance.oneIn(2);
  return Expr::unary(op, twice ? Expr::unary(op, operand) : operand);
}

Expr ExprMaker::binary(ElementType type, unsigned depth) {
  static const BinaryOp ofFloats[] = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div,
                                      BinaryOp::Pow, BinaryOp::Max, BinaryOp::Min, BinaryOp::Rem};
  static const BinaryOp ofIntegers[] = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div,
                                        BinaryOp::Rem, BinaryOp::Mod, BinaryOp::Max, BinaryOp::Min,
                                        BinaryOp::And, BinaryOp::Or,  BinaryOp::Xor};
  BinaryOp op = isFloat(type) ? chance.pick(ofFloats) : chance.pick(ofIntegers);
  Expr left = chance.oneIn(4) ? literal(type) : expr(type, depth - 1);
  Expr right = expr(type, depth - 1);
  if (chance.oneIn(2))
    right = chance.oneIn(4) ? left : literal(type);
  return Expr::binary(op, left, right);
}

Expr ExprMaker::boolean(unsigned depth) {
  static const ElementType floats[] = {ElementType::F32, ElementType::F64, ElementType::F16};
  static const BinaryOp logical[] = {BinaryOp::And, BinaryOp::Or, BinaryOp::Xor};
  static const BinaryOp comparing[] = {BinaryOp::Less, BinaryOp::LessEqual, BinaryOp::Equal,
                                       BinaryOp::NotEqual};
  switch (chance.between(0, 4)) {
  case 0:
    return Expr::unary(UnaryOp::IsNaN, expr(chance.pick(floats), depth - 1));
  case 1:
    return Expr::unary(UnaryOp::IsInf, expr(chance.pick(floats), depth - 1));
  case 2: {
    Expr operand = expr(ElementType::Bool, depth - 1);
    return Expr::unary(UnaryOp::Not,
                       chance.oneIn(3) ? Expr::unary(UnaryOp::Not, operand) : operand);
  }
  case 3: {
    ElementType operands = isFloat(type()) ? chance.pick(floats) : ElementType::I64;
    Expr left = expr(operands, depth - 1);
    return Expr::binary(chance.pick(comparing), left, expr(operands, depth - 1));
  }
  default: {
    Expr left = expr(ElementType::Bool, depth - 1);
    return Expr::binary(chance.pick(logical), left, expr(ElementType::Bool, depth - 1));
  }
  }
}

Expr ExprMaker::cast(ElementType to, unsigned depth) {
  ElementType through = type();
  Expr operand =
      chance.oneIn(2) ? Expr::cast(through, expr(to, depth - 1)) : expr(through, depth - 1);
  return Expr::cast(to, operand);
}

void ExprMaker::addOutput(Expr body) {
  Definition definition;
  definition.parallel.push_back({"i", points});
  ElementType type = body.type();
  definition.bodies = {std::move(body)};
  std::string name = "out" + std::to_string(program.outputs.size());
  program.addOutput(name, program.define(name, type, std::move(definition)));
}

std::string ExprMaker::show(size_t output) const {
  return printNode(program, program.value(program.outputs[output].value).node);
}

double ExprMaker::extremeFloat(ElementType type) {
  using Limits = std::numeric_limits<double>;
  static const double pool[] = {Limits::quiet_NaN(),
                                Limits::infinity(),
                                -Limits::infinity(),
                                -0.0,
                                0.0,
                                1,
                                -1,
                                0.5,
                                -3.7,
                                1e30,
                                -1e30,
                                65504,
                                -65504,
                                6e-8,
                                1e-40,
                                Limits::max(),
                                Limits::lowest(),
                                Limits::denorm_min()};
  double value =
      chance.oneIn(3) ? static_cast<double>(chance.between(-400, 400)) / 64 : chance.pick(pool);
  return Expr::literal(type, value).literalFloat();
}

int64_t ExprMaker::extremeInteger(ElementType type) {
  const int64_t pool[] = {
      0, 1, 2, -1, lowestInteger(type), highestInteger(type), highestInteger(type) - 1};
  return wrapInteger(type, chance.oneIn(3) ? chance.between(-100, 100) : chance.pick(pool));
}

std::vector<ExactTensor> ExprMaker::inputs() {
  std::vector<ExactTensor> result;
  for (ValueId input : program.inputs) {
    const Value &value = program.value(input);
    Expected<ExactTensor> tensor = ExactTensor::create(value.type, {points});
    for (double &x : tensor->floats)
      x = value.facts.finite
              ? Expr::literal(value.type, static_cast<double>(chance.between(-200, 300)) / 100)
                    .literalFloat()
              : extremeFloat(value.type);
    for (int64_t &x : tensor->integers)
      x = extremeInteger(value.type);
    result.push_back(std::move(*tensor));
  }
  return result;
}

} // namespace kintsugi::simplify
