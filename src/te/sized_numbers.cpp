#include "te/sized_numbers.h"

#include "te/constant.h"
#include "te/exact_tensor.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

namespace {

/// What is shared is looked at wherever it stands.
constexpr unsigned mostExpressions = 1000;

class Likeness {
public:
  Likeness(NumberPlace place, int64_t size, SizedNumbers &numbers)
      : place(place), size(size), numbers(numbers) {}

  bool of(const Expr &a, const Expr &b) {
    if (a.kind() != b.kind() || a.type() != b.type())
      return false;
    if (a.kind() == ExprKind::Literal && isFloat(a.type())) {
      if (!(a == b)) {
        numbers[place].greatest = a.literalFloat();
        numbers[place].others[size] = b.literalFloat();
      }
      ++place.literal;
      return true;
    }
    if (a.operands().empty())
      return a == b;
    bool isSame = a.kind() == ExprKind::Unary    ? a.unaryOp() == b.unaryOp()
                  : a.kind() == ExprKind::Binary ? a.binaryOp() == b.binaryOp()
                  : a.kind() == ExprKind::Cast   ? a.isStored() == b.isStored()
                                                 : a.kind() == ExprKind::Select;
    return isSame &&
           llvm::equal(a.operands(), b.operands(),
                       [&](const Expr &left, const Expr &right) { return of(left, right); });
  }

private:
  NumberPlace place;
  int64_t size;
  SizedNumbers &numbers;
};

class LookUp {
public:
  LookUp(NumberPlace place, const SizedNumbers &numbers, Program &program, ValueId size,
         const OpenDimension &open)
      : place(place), numbers(numbers), program(program), size(size), open(open) {}

  Expr in(const Expr &expr) {
    if (expr.kind() == ExprKind::Literal && isFloat(expr.type())) {
      auto found = numbers.find(place);
      ++place.literal;
      return found == numbers.end() ? expr : pick(expr.type(), found->second);
    }
    llvm::SmallVector<Expr, 3> operands;
    for (const Expr &operand : expr.operands())
      operands.push_back(in(operand));
    switch (expr.kind()) {
    case ExprKind::Unary:
      return Expr::unary(expr.unaryOp(), operands[0]);
    case ExprKind::Binary:
      return Expr::binary(expr.binaryOp(), operands[0], operands[1]);
    case ExprKind::Select:
      return Expr::select(operands[0], operands[1], operands[2]);
    case ExprKind::Cast:
      return expr.isStored() ? Expr::stored(expr.type(), operands[0])
                             : Expr::cast(expr.type(), operands[0]);
    default:
      return expr;
    }
  }

private:
  Expr pick(ElementType type, const SizedNumber &number) {
    int64_t count = open.high - open.low + 1;
    ExactTensor elements{type, {count}, std::vector<double>(count, number.greatest), {}};
    for (auto [other, itsNumber] : number.others)
      if (other >= open.low && other <= open.high)
        elements.floats[other - open.low] = itsNumber;
    Expected<Tensor> rounded = elements.rounded();
    assert(rounded.ok() && "literals are of types that tensors have");
    ValueId table = program.addConstant(open.name + ".numbers", type, {Extent(count)},
                                        std::make_shared<TensorConstant>(std::move(*rounded)));
    Index place = Index::data(Expr::read(size, ElementType::I64, {})) - open.low;
    return Expr::read(table, type, {place});
  }

  NumberPlace place;
  const SizedNumbers &numbers;
  Program &program;
  ValueId size;
  const OpenDimension &open;
};

} // namespace

bool areAlike(const Expr &greatest, const Expr &smaller, NumberPlace first, int64_t size,
              SizedNumbers &numbers) {
  if (greatest == smaller)
    return true;
  return greatest.sizeUpTo(mostExpressions) <= mostExpressions &&
         Likeness(first, size, numbers).of(greatest, smaller);
}

bool haveOneBody(const SizedNumbers &a, const SizedNumbers &b) {
  return llvm::any_of(a, [&](const auto &one) {
    return llvm::any_of(b, [&](const auto &other) {
      return one.first.node == other.first.node && one.first.body == other.first.body;
    });
  });
}

void lookUp(Definition &definition, uint32_t node, const SizedNumbers &numbers, Program &program,
            ValueId size, const OpenDimension &open) {
  auto first = numbers.lower_bound({node, 0, 0});
  if (first == numbers.end() || first->first.node != node)
    return;
  for (auto [number, body] : llvm::enumerate(definition.bodies))
    body = LookUp({node, unsigned(number), 0}, numbers, program, size, open).in(body);
}

} // namespace kintsugi::te
