#include "plain_runner.h"

#include "te/scalar.h"

#include <cmath>

namespace kintsugi::test {

using namespace te;
using loops::LoopNest;
using loops::Schedule;

namespace {

class Runner {
public:
  Runner(const Schedule &schedule, Memory &memory) : schedule(schedule), memory(memory) {}

  std::string run() {
    for (int64_t tile = 0; tile < schedule.tiles(); ++tile) {
      llvm::SmallVector<int64_t> origins(schedule.space.size());
      int64_t rest = tile;
      for (size_t d = schedule.space.size(); d-- > 0;) {
        const loops::TileDimension &dimension = schedule.space[d];
        origins[d] =
            std::min(rest % dimension.count() * dimension.size, dimension.extent - dimension.size);
        rest /= dimension.count();
      }
      for (const LoopNest &nest : schedule.nests)
        runNest(nest, origins);
    }
    return problem;
  }

private:
  template <typename List>
  void forAll(const List &iterators, size_t first, llvm::function_ref<void()> body,
              size_t depth = 0) {
    if (depth == iterators.size())
      return body();
    for (int64_t i = 0; i < iterators[depth].extent.constant(); ++i) {
      point[first + depth] = i;
      forAll(iterators, first, body, depth + 1);
    }
  }

  void runNest(const LoopNest &nest, llvm::ArrayRef<int64_t> origins) {
    point.assign(nest.parallel.size() + nest.numReductions(), 0);
    point.insert(point.end(), origins.begin(), origins.end());
    forAll(nest.parallel, 0, [&] {
      if (nest.reduction)
        reduce(nest);
      for (size_t k = 0; k < nest.destinations.size(); ++k) {
        const Expr &expr = nest.reduction ? nest.epilogue[k] : nest.bodies[k];
        const loops::Buffer &buffer = schedule.buffers[nest.destinations[k]];
        Number value = converted(evaluate(expr), expr.type(), buffer.type);
        if (Number *slot = at(nest.destinations[k], position(nest.destinationIndex)))
          *slot = value;
      }
    });
  }

  void reduce(const LoopNest &nest) {
    const Reduction &reduction = *nest.reduction;
    ElementType type = reduction.accumulator;
    bool isFirst = true;
    Number a, b;
    if (reduction.combiner == Combiner::Prod || reduction.combiner == Combiner::And)
      a = {1, wrapInteger(type, isFloat(type) ? 1 : -1)};
    if (reduction.combiner == Combiner::Prod)
      a.integer = 1;
    forAll(reduction.iterators, nest.parallel.size(), [&] {
      Number x = converted(evaluate(nest.bodies[0]), nest.bodies[0].type(), type);
      switch (reduction.combiner) {
      case Combiner::Sum:
        a = binary(BinaryOp::Add, type, a, x);
        break;
      case Combiner::Prod:
        a = binary(BinaryOp::Mul, type, a, x);
        break;
      case Combiner::And:
        a = binary(BinaryOp::And, type, a, x);
        break;
      case Combiner::Or:
        a = binary(BinaryOp::Or, type, a, x);
        break;
      case Combiner::Max:
      case Combiner::Min:
        a = isFirst ? x
                    : binary(reduction.combiner == Combiner::Max ? BinaryOp::Max : BinaryOp::Min,
                             type, a, x);
        break;
      case Combiner::ArgMax:
      case Combiner::ArgMin: {
        Number low = reduction.combiner == Combiner::ArgMax ? b : x;
        Number high = reduction.combiner == Combiner::ArgMax ? x : b;
        if (isFirst || binary(BinaryOp::Less, type, low, high).integer) {
          b = x;
          a = evaluate(nest.bodies[1]);
        }
        break;
      }
      case Combiner::SoftmaxStats: {
        double larger = isFirst ? x.real : std::max(a.real, x.real);
        bool vanishes = isFirst || (std::isinf(a.real) && larger > a.real); // exp(-inf) is 0.
        b.real = (vanishes ? 0 : b.real * std::exp(a.real - larger)) + std::exp(x.real - larger);
        a.real = larger;
        break;
      }
      }
      accumulators = {a, b};
      for (const loops::Kept &kept : nest.kept)
        if (Number *slot = at(kept.buffer, position(kept.index)))
          *slot = converted(evaluate(kept.value), kept.value.type(),
                            schedule.buffers[kept.buffer].type);
      isFirst = false;
    });
    accumulators = {a, b};
  }

  Number evaluate(const Expr &expr) {
    switch (expr.kind()) {
    case ExprKind::Literal:
      return isFloat(expr.type()) ? Number{expr.literalFloat(), 0}
                                  : Number{0, expr.literalInteger()};
    case ExprKind::Index: {
      int64_t value = position(expr.indexValue());
      return {static_cast<double>(value), wrapInteger(expr.type(), value)};
    }
    case ExprKind::Read: {
      if (LoopNest::isAccumulator(expr.readValue()))
        return accumulators[expr.readValue().number - LoopNest::accumulator(0).number];
      const Number *slot = at(expr.readValue().number, position(expr.readIndices()[0]));
      return slot ? *slot : Number();
    }
    case ExprKind::Unary: {
      ElementType type = expr.operand(0).type();
      Number x = evaluate(expr.operand(0));
      if (!isFloat(type))
        return {0, applyUnary(expr.unaryOp(), type, x.integer)};
      if (!isFloat(expr.type()))
        return {0, applyTest(expr.unaryOp(), x.real)};
      return {applyUnary(expr.unaryOp(), x.real), 0};
    }
    case ExprKind::Binary:
      return binary(expr.binaryOp(), expr.operand(0).type(), evaluate(expr.operand(0)),
                    evaluate(expr.operand(1)));
    case ExprKind::Select:
      return evaluate(expr.operand(evaluate(expr.operand(0)).integer ? 1 : 2));
    case ExprKind::Cast:
      return converted(evaluate(expr.operand(0)), expr.operand(0).type(), expr.type());
    }
    return {};
  }

  static Number binary(BinaryOp op, ElementType type, Number a, Number b) {
    if (!isFloat(type))
      return {0, applyBinary(op, type, a.integer, b.integer)};
    if (isComparison(op))
      return {0, applyComparison(op, a.real, b.real)};
    return {applyBinary(op, a.real, b.real), 0};
  }

  static Number converted(Number value, ElementType from, ElementType to) {
    if (isFloat(from))
      return isFloat(to) ? value : Number{0, castToInteger(to, value.real)};
    return isFloat(to) ? Number{castToFloat(from, value.integer), 0}
                       : Number{0, wrapInteger(to, value.integer)};
  }

  int64_t position(const Index &index) {
    int64_t result = index.constantTerm();
    for (const Term &term : index.terms()) {
      int64_t value = 0;
      if (term.atom.kind == AtomKind::Iterator) {
        value = point[term.atom.iterator];
      } else if (term.atom.kind == AtomKind::Data) {
        value = evaluate(*term.atom.data).integer;
      } else {
        int64_t operand = position(term.atom.operand), divisor = term.atom.divisor;
        int64_t remainder = (operand % divisor + divisor) % divisor;
        value = term.atom.kind == AtomKind::Mod ? remainder : (operand - remainder) / divisor;
      }
      result += term.factor * value;
    }
    return result;
  }

  Number *at(unsigned buffer, int64_t place) {
    if (place >= 0 && place < schedule.buffers[buffer].elements)
      return &memory[buffer][place];
    problem = "element " + std::to_string(place) + " of buffer " + std::to_string(buffer);
    return nullptr;
  }

  const Schedule &schedule;
  Memory &memory;
  llvm::SmallVector<int64_t> point;
  std::array<Number, 2> accumulators;
  std::string problem;
};

} // namespace

std::string runPlainly(const Schedule &schedule, Memory &memory) {
  memory.resize(schedule.buffers.size());
  for (size_t buffer = 0; buffer < schedule.buffers.size(); ++buffer)
    memory[buffer].resize(schedule.buffers[buffer].elements);
  return Runner(schedule, memory).run();
}

} // namespace kintsugi::test
