#include "random_program.h"

#include "te/constant.h"
#include "te/subprogram.h"
#include "te/syntax.h"
#include "llvm/ADT/STLExtras.h"

namespace kintsugi::te {

Index randomIndex(Chance &chance, llvm::ArrayRef<Interval> ranges, unsigned depth) {
  Index index(chance.oneIn(2) ? 0 : chance.between(-4, 9));
  for (int64_t terms = chance.between(0, 2); terms >= 0; --terms) {
    Index atom;
    if (!ranges.empty())
      atom = Index::iterator(chance.between(0, ranges.size() - 1));
    if (depth > 0 && chance.oneIn(3)) {
      Index inner = randomIndex(chance, ranges, depth - 1);
      int64_t divisor = chance.between(1, 6);
      atom = chance.oneIn(2) ? inner.floorDiv(divisor) : inner.mod(divisor);
    }
    index = index + atom * (chance.oneIn(2) ? 1 : chance.between(-3, 6));
  }
  return index;
}

namespace {

class Generator {
public:
  Generator(uint64_t seed, const RandomOptions &options) : chance(seed), options(options) {}

  Program run() {
    for (int64_t i = chance.between(1, 3); i > 0; --i)
      program.addInput(name("in"), type(), shape());
    if (chance.oneIn(2))
      addConstant();
    for (unsigned i = 0; i < options.definitions; ++i) {
      program.currentOrigin = {"node " + std::to_string(i)};
      if (options.scans && chance.oneIn(8))
        addScan();
      else if (chance.oneIn(3))
        addReduction();
      else
        addMap();
    }
    for (uint32_t value = 0; value < program.numValues(); ++value)
      if (program.values[value].kind == ValueKind::Result &&
          (value + 1 == program.numValues() || chance.oneIn(2)))
        program.addOutput("out " + std::to_string(value), {value});
    return std::move(program);
  }

private:
  std::string name(const char *stem) {
    static const char *const odd[] = {"/layer.0/", "a b:", "sum", "\"", ""};
    std::string prefix = chance.oneIn(4) ? chance.pick(odd) : "";
    return prefix + stem + std::to_string(program.numValues());
  }

  ElementType type() { return options.types[chance.between(0, options.types.size() - 1)]; }

  /// A type that keeps sums of it meaningful.
  ElementType numberType() {
    ElementType chosen = type();
    return chosen == ElementType::Bool ? options.types[0] : chosen;
  }

  Shape shape() {
    Shape result;
    for (int64_t rank = chance.between(0, options.maxRank); rank > 0; --rank)
      result.push_back(chance.between(1, options.maxExtent));
    return result;
  }

  template <typename List> void addIterators(List &list, const Shape &extents, const char *stem) {
    for (Extent extent : extents)
      list.push_back({stem + std::to_string(list.size()), extent});
  }

  void addConstant() {
    ElementType elementType = type();
    Shape extents = shape();
    Expected<Tensor> tensor = Tensor::create(elementType, plainShape(extents));
    for (int64_t i = 0; i < tensor->count(); ++i)
      storeInteger(elementType, tensor->bytes(), i, chance.between(0, 5));
    program.addConstant(name("const"), elementType, extents,
                        std::make_shared<TensorConstant>(std::move(*tensor)));
  }

  void addMap() {
    Definition definition;
    addIterators(definition.parallel, shape(), "i");
    ranges = definition.ranges();
    ElementType resultType = type();
    definition.bodies = {expr(resultType, options.maxDepth)};
    program.define(name("t"), resultType, std::move(definition));
  }

  void addReduction() {
    Definition definition;
    addIterators(definition.parallel, shape(), "i");
    static const Combiner combiners[] = {
        Combiner::Sum, Combiner::Prod,   Combiner::Max,    Combiner::Min,         Combiner::And,
        Combiner::Or,  Combiner::ArgMax, Combiner::ArgMin, Combiner::SoftmaxStats};
    Combiner combiner = chance.pick(combiners);
    bool isArg = bodiesOf(combiner) == 2;
    if ((isArg && !options.jumps) || (combiner == Combiner::SoftmaxStats && !floatType()))
      combiner = Combiner::Sum;
    ElementType accumulator = numberType();
    if (combiner == Combiner::And || combiner == Combiner::Or)
      accumulator = ElementType::Bool;
    if (combiner == Combiner::SoftmaxStats)
      accumulator = *floatType();
    definition.reduction = Reduction{combiner, accumulator, {}};
    Shape extents = shape();
    addIterators(definition.reduction->iterators, extents.empty() ? Shape{2} : extents, "r");
    ranges = definition.ranges();
    definition.bodies = {expr(accumulator, options.maxDepth - 1)};
    if (bodiesOf(combiner) == 2) {
      ElementType payload = numberType();
      definition.bodies.push_back(expr(payload, 1));
      program.define(name("t"), payload, std::move(definition));
    } else if (combiner == Combiner::SoftmaxStats) {
      std::string first = name("max"), second = name("sum");
      program.defineMany({first, second}, {accumulator, accumulator}, std::move(definition));
    } else {
      program.define(name("t"), accumulator, std::move(definition));
    }
  }

  std::optional<ElementType> floatType() {
    auto found = llvm::find_if(options.types, [](ElementType t) { return isFloat(t); });
    return found == options.types.end() ? std::nullopt : std::optional(*found);
  }

  /// h' = half of h plus a captured element; the new h is stacked as well.
  void addScan() {
    ValueId initial{static_cast<uint32_t>(chance.between(0, program.numValues() - 1))};
    const Value &first = program.value(initial);
    if (!isFloat(first.type))
      return;
    auto body = std::make_shared<Program>();
    ValueId step = body->addInput("step", ElementType::I64, {});
    ValueId carried = body->addInput("h", first.type, first.shape);
    ValueId captured = body->addInput("x", first.type, first.shape);
    Definition next;
    addIterators(next.parallel, first.shape, "i");
    llvm::SmallVector<Index> point;
    for (unsigned i = 0; i < next.parallel.size(); ++i)
      point.push_back(Index::iterator(i));
    Expr number = Expr::cast(first.type, Expr::read(step, ElementType::I64, {}));
    next.bodies = {Expr::read(carried, first.type, point) * Expr::literal(first.type, 0.5) +
                   Expr::read(captured, first.type, point) + number};
    ValueId result = body->define("next", first.type, std::move(next));
    if (chance.oneIn(3))
      return addEnded(*body, initial, result);
    body->addOutput("next", result);
    body->addOutput("stacked", result);
    std::string last = name("last"), stacked = name("all");
    program.addScan({last, stacked},
                    Scan{Extent(chance.between(1, 3)), body, {initial}, {initial}, {}});
  }

  /// The same, ended by the number of a step. What its stack holds behind that is not said.
  void addEnded(const Program &cell, ValueId initial, ValueId result) {
    auto body = std::make_shared<Program>();
    ValueId number = body->addInput("step", ElementType::I64, {});
    body->addInput("goes", ElementType::Bool, {});
    llvm::SmallVector<ValueId> standsFor{number}; ///< By the cell's value: its inputs.
    for (ValueId input : llvm::ArrayRef(cell.inputs).drop_front()) {
      const Value &value = cell.value(input);
      standsFor.push_back(body->addInput(value.name, value.type, value.shape));
    }
    llvm::SmallVector<ValueId> made = copyNode(cell, cell.value(result).node, *body,
                                               [&](ValueId id) { return standsFor[id.number]; });
    bool isBranch = chance.oneIn(2), wanted = !isBranch || chance.oneIn(2);
    Definition on;
    on.bodies = {isBranch ? Expr::boolean(!wanted)
                          : Expr::binary(BinaryOp::Less, Expr::read(number, ElementType::I64, {}),
                                         Expr::literal(ElementType::I64, chance.between(0, 2)))};
    ValueId next = body->define("on", ElementType::Bool, std::move(on));
    body->addOutput("on", next);
    body->addOutput("next", made[0]);
    Definition start;
    start.bodies = {Expr::boolean(chance.oneIn(2))};
    ValueId first = program.define(name("start"), ElementType::Bool, std::move(start));
    Scan scan{Extent(isBranch ? 1 : 4), body, {first, initial}, {initial}, {}};
    scan.goesOnWhile = wanted;
    program.addScan({name("went"), name("last")}, std::move(scan));
  }

  //===- Expressions ----------------------------------------------------------===//

  Expr literal(ElementType elementType) {
    if (elementType == ElementType::Bool)
      return Expr::boolean(chance.oneIn(2));
    if (isFloat(elementType))
      return Expr::literal(elementType, static_cast<double>(chance.between(-8, 8)) / 4);
    return Expr::literal(elementType, chance.between(isSigned(elementType) ? -5 : 0, 5));
  }

  Expr leaf(ElementType elementType) {
    if (elementType != ElementType::Bool && chance.oneIn(5))
      return Expr::index(randomIndex(chance, ranges, 1), elementType);
    llvm::SmallVector<ValueId> candidates;
    for (uint32_t i = 0; i < program.numValues(); ++i)
      if (program.values[i].type == elementType)
        candidates.push_back({i});
    if (candidates.empty() || chance.oneIn(5))
      return literal(elementType);
    return read(chance.pick(candidates), 1);
  }

  Expr read(ValueId value, unsigned gathers) {
    Shape extents = program.value(value).shape;
    ElementType elementType = program.value(value).type;
    bool filled = chance.oneIn(4);
    llvm::SmallVector<Index> indices;
    for (Extent extent : extents) {
      Index index = randomIndex(chance, ranges, 1);
      if (gathers > 0 && chance.oneIn(6))
        index = index + gathered();
      bool inside = index.isStatic() && rangeOf(index, ranges).within(Interval::of(extent));
      indices.push_back(inside || filled ? index : index.mod(extent.constant()));
    }
    std::optional<Expr> fill;
    if (filled)
      fill = literal(elementType);
    return Expr::read(value, elementType, indices, fill);
  }

  Index gathered() {
    for (uint32_t i = 0; i < program.numValues(); ++i)
      if (program.values[i].type == ElementType::I64 || program.values[i].type == ElementType::I32)
        return Index::data(read({i}, 0));
    return Index(0);
  }

  Expr expr(ElementType elementType, unsigned depth) {
    if (depth == 0 || chance.oneIn(5))
      return leaf(elementType);
    switch (chance.between(0, 6)) {
    case 0:
      return Expr::select(expr(ElementType::Bool, depth - 1), expr(elementType, depth - 1),
                          expr(elementType, depth - 1));
    case 1:
      return cast(elementType, depth);
    case 2:
    case 3:
      return unary(elementType, depth);
    default:
      return binary(elementType, depth);
    }
  }

  Expr cast(ElementType to, unsigned depth) {
    ElementType from = type();
    if (!options.jumps && isFloat(from) && !isFloat(to))
      from = ElementType::Bool;
    return Expr::cast(to, expr(from, depth - 1));
  }

  Expr unary(ElementType elementType, unsigned depth) {
    Expr operand = expr(elementType, depth - 1);
    static const UnaryOp smooth[] = {UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Tanh, UnaryOp::Erf,
                                     UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Atan};
    static const UnaryOp jumping[] = {UnaryOp::Sign, UnaryOp::Ceil, UnaryOp::Floor, UnaryOp::Round};
    if (elementType == ElementType::Bool)
      return Expr::unary(UnaryOp::Not, operand);
    if (!isFloat(elementType))
      return Expr::unary(chance.oneIn(2) ? UnaryOp::Neg : UnaryOp::Not, operand);
    bool jump = options.jumps && chance.oneIn(3);
    return Expr::unary(jump ? chance.pick(jumping) : chance.pick(smooth), operand);
  }

  Expr binary(ElementType elementType, unsigned depth) {
    if (elementType == ElementType::Bool)
      return booleanBinary(depth);
    static const BinaryOp ofFloats[] = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max,
                                        BinaryOp::Min};
    static const BinaryOp ofIntegers[] = {
        BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max, BinaryOp::Min, BinaryOp::Div,
        BinaryOp::Rem, BinaryOp::Mod, BinaryOp::And, BinaryOp::Or,  BinaryOp::Xor};
    BinaryOp op = isFloat(elementType) ? chance.pick(ofFloats) : chance.pick(ofIntegers);
    Expr left = expr(elementType, depth - 1);
    return Expr::binary(op, left, expr(elementType, depth - 1));
  }

  Expr booleanBinary(unsigned depth) {
    static const BinaryOp logical[] = {BinaryOp::And, BinaryOp::Or, BinaryOp::Xor, BinaryOp::Equal};
    static const BinaryOp comparing[] = {BinaryOp::Less, BinaryOp::LessEqual, BinaryOp::Equal,
                                         BinaryOp::NotEqual};
    bool compare = chance.oneIn(2);
    ElementType operands = compare ? numberType() : ElementType::Bool;
    if (!options.jumps && isFloat(operands))
      operands = ElementType::Bool;
    Expr left = expr(operands, depth - 1);
    return Expr::binary(compare ? chance.pick(comparing) : chance.pick(logical), left,
                        expr(operands, depth - 1));
  }

  Chance chance;
  RandomOptions options;
  Program program;
  llvm::SmallVector<Interval> ranges; ///< Of the definition at hand.
};

} // namespace

Program randomProgram(uint64_t seed, const RandomOptions &options) {
  return Generator(seed, options).run();
}

std::vector<ExactTensor> randomInputs(const Program &program, uint64_t seed) {
  Chance chance(seed);
  std::vector<ExactTensor> inputs;
  for (ValueId id : program.inputs) {
    const Value &value = program.value(id);
    Expected<ExactTensor> tensor = ExactTensor::create(value.type, plainShape(value.shape));
    for (double &element : tensor->floats)
      element = static_cast<double>(chance.between(-16, 16)) / 8;
    for (int64_t &element : tensor->integers)
      element =
          chance.between(isSigned(value.type) ? -5 : 0, value.type == ElementType::Bool ? 1 : 7);
    inputs.push_back(std::move(*tensor));
  }
  return inputs;
}

} // namespace kintsugi::te
