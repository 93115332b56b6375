#include "runner.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::test {

using namespace te;
using loops::LoopNest;
using loops::Schedule;

namespace {

int64_t floorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

class Runner {
public:
  Runner(const Schedule &schedule, Memory &memory) : schedule(schedule), memory(memory) {}

  std::string run() {
    for (int64_t tile = 0; tile < schedule.tiles() && problem.empty(); ++tile) {
      // A worker's tiles come in runs.
      bool isFirst = tile % 7 == 0;
      llvm::SmallVector<int64_t> origins(schedule.space.size()), numbers(origins.size());
      int64_t rest = tile;
      for (size_t d = schedule.space.size(); d-- > 0;) {
        const loops::TileDimension &dimension = schedule.space[d];
        numbers[d] = rest % dimension.count();
        origins[d] = std::min(numbers[d] * dimension.size, dimension.extent - dimension.size);
        rest /= dimension.count();
      }
      llvm::SmallVector<unsigned> poisoned; // Two nests may share a destination.
      for (const LoopNest &nest : schedule.nests) {
        auto sharing = llvm::ArrayRef(numbers).take_back(nest.sharedDimensions);
        if (!isFirst && nest.sharedDimensions &&
            llvm::any_of(sharing, [](int64_t number) { return number != 0; }))
          continue;
        for (unsigned buffer = 0; buffer < schedule.buffers.size(); ++buffer)
          if (nest.writes(buffer) && schedule.buffers[buffer].home == loops::Home::Scratch &&
              !llvm::is_contained(poisoned, buffer)) {
            memory[buffer].assign(schedule.buffers[buffer].elements, NAN);
            poisoned.push_back(buffer);
          }
        runNest(nest, origins);
      }
    }
    return problem;
  }

private:
  void runNest(const LoopNest &nest, llvm::ArrayRef<int64_t> origins) {
    size_t parallel = nest.parallel.size(), reductions = nest.numReductions();
    point.assign(parallel + reductions, 0);
    point.insert(point.end(), origins.begin(), origins.end());
    limits.clear();
    for (unsigned k = 0; k < parallel + reductions; ++k)
      limits.push_back(limitsOf(nest, k));
    forAll(nest.parallel, 0, [&] {
      accumulators.clear();
      if (nest.reduction)
        reduce(nest);
      for (auto [k, destination] : llvm::enumerate(nest.destinations)) {
        double value = evaluate(nest.reduction ? nest.epilogue[k] : nest.bodies[k]);
        if (double *slot = at(destination, indexOf(nest.destinationIndex)))
          *slot = value;
      }
    });
  }

  /// Where an iterator starts and ends, its span cut to its extent.
  std::pair<int64_t, int64_t> limitsOf(const LoopNest &nest, unsigned iterator) {
    int64_t extent = nest.extentOf(iterator);
    const loops::Span *span = nest.spanOf(iterator);
    auto cut = [&](const std::optional<Expr> &bound, int64_t otherwise) {
      return bound ? std::clamp(static_cast<int64_t>(evaluate(*bound)), int64_t(0), extent)
                   : otherwise;
    };
    return span ? std::pair(cut(span->begin, 0), cut(span->end, extent))
                : std::pair(int64_t(0), extent);
  }

  template <typename List>
  void forAll(const List &iterators, size_t first, llvm::function_ref<void()> body,
              size_t depth = 0) {
    if (depth == iterators.size())
      return body();
    auto [begin, end] = limits[first + depth];
    for (int64_t i = begin; i < end; ++i) {
      point[first + depth] = i;
      forAll(iterators, first, body, depth + 1);
    }
  }

  void reduce(const LoopNest &nest) {
    const Reduction &reduction = *nest.reduction;
    bool first = true;
    double a = 0, b = 0;
    switch (reduction.combiner) {
    case Combiner::Prod:
    case Combiner::And:
      a = 1;
      break;
    case Combiner::Max:
    case Combiner::SoftmaxStats:
      a = -INFINITY;
      break;
    case Combiner::Min:
      a = INFINITY;
      break;
    default:
      break;
    }
    forAll(reduction.iterators, nest.parallel.size(), [&] {
      double x = evaluate(nest.bodies[0]);
      switch (reduction.combiner) {
      case Combiner::Sum:
        a += x;
        break;
      case Combiner::Prod:
        a *= x;
        break;
      case Combiner::Max:
        a = std::max(a, x);
        break;
      case Combiner::Min:
        a = std::min(a, x);
        break;
      case Combiner::And:
        a = a && x;
        break;
      case Combiner::Or:
        a = a || x;
        break;
      case Combiner::ArgMax:
      case Combiner::ArgMin:
        if (first || (reduction.combiner == Combiner::ArgMax ? x > b : x < b)) {
          b = x;
          a = evaluate(nest.bodies[1]);
        }
        break;
      case Combiner::SoftmaxStats: {
        double larger = std::max(a, x);
        b = b * std::exp(a - larger) + std::exp(x - larger);
        a = larger;
        break;
      }
      }
      accumulators = {a, b};
      for (const loops::Kept &kept : nest.kept)
        if (double *slot = at(kept.buffer, indexOf(kept.index)))
          *slot = evaluate(kept.value);
      first = false;
    });
    accumulators = {a, b};
  }

  int64_t indexOf(const Index &index) {
    int64_t result = index.constantTerm();
    for (const Term &term : index.terms()) {
      const Atom &atom = term.atom;
      int64_t value = 0;
      if (atom.kind == AtomKind::Iterator)
        value = point[atom.iterator];
      else if (atom.kind == AtomKind::Data)
        value = static_cast<int64_t>(evaluate(*atom.data));
      else {
        int64_t operand = indexOf(atom.operand);
        value = floorDivide(operand, atom.divisor);
        if (atom.kind == AtomKind::Mod)
          value = operand - value * atom.divisor;
      }
      result += term.factor * value;
    }
    return result;
  }

  double *at(unsigned buffer, int64_t position) {
    if (position < 0 || position >= static_cast<int64_t>(memory[buffer].size())) {
      problem = "buffer " + std::to_string(buffer) + " has no element " + std::to_string(position);
      return nullptr;
    }
    return &memory[buffer][position];
  }

  double evaluate(const Expr &e) {
    switch (e.kind()) {
    case ExprKind::Literal:
      return e.literalFloat();
    case ExprKind::Index:
      return static_cast<double>(indexOf(e.indexValue()));
    case ExprKind::Read: {
      if (LoopNest::isAccumulator(e.readValue()))
        return accumulators[e.readValue().number - LoopNest::accumulator(0).number];
      double *slot = at(e.readValue().number, indexOf(e.readIndices()[0]));
      return slot ? *slot : NAN;
    }
    case ExprKind::Cast:
      return isFloat(e.type()) ? evaluate(e.operand(0)) : std::trunc(evaluate(e.operand(0)));
    case ExprKind::Select:
      return evaluate(e.operand(0)) != 0 ? evaluate(e.operand(1)) : evaluate(e.operand(2));
    case ExprKind::Unary:
      return unary(e.unaryOp(), evaluate(e.operand(0)));
    case ExprKind::Binary:
      return binary(e.binaryOp(), evaluate(e.operand(0)), evaluate(e.operand(1)));
    }
    return NAN;
  }

  double unary(UnaryOp op, double x) {
    switch (op) {
    case UnaryOp::Neg:
      return -x;
    case UnaryOp::Exp:
      return std::exp(x);
    case UnaryOp::Sqrt:
      return std::sqrt(x);
    case UnaryOp::Tanh:
      return std::tanh(x);
    case UnaryOp::Erf:
      return std::erf(x);
    default:
      problem = "the runner has no " + std::string(nameOf(op));
      return NAN;
    }
  }

  double binary(BinaryOp op, double x, double y) {
    switch (op) {
    case BinaryOp::Add:
      return x + y;
    case BinaryOp::Sub:
      return x - y;
    case BinaryOp::Mul:
      return x * y;
    case BinaryOp::Div:
      return x / y;
    case BinaryOp::Max:
      return std::max(x, y);
    case BinaryOp::Min:
      return std::min(x, y);
    case BinaryOp::And:
      return x != 0 && y != 0;
    case BinaryOp::Or:
      return x != 0 || y != 0;
    case BinaryOp::Less:
      return x < y;
    case BinaryOp::LessEqual:
      return x <= y;
    case BinaryOp::Equal:
      return x == y;
    default:
      problem = "the runner has no " + std::string(nameOf(op));
      return NAN;
    }
  }

  const Schedule &schedule;
  Memory &memory;
  llvm::SmallVector<int64_t> point;
  llvm::SmallVector<std::pair<int64_t, int64_t>> limits; ///< By iterator of the nest at hand.
  llvm::SmallVector<double> accumulators;
  std::string problem;
};

} // namespace

std::string runSchedule(const Schedule &schedule, Memory &memory) {
  return Runner(schedule, memory).run();
}

} // namespace kintsugi::test
