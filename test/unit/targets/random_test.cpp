#include "kernel_runner.h"
#include "nests.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <random>

namespace kintsugi::test {

using namespace te;
using loops::LoopNest;

namespace {

/// Random nests whose arithmetic is exact in every type, so that nothing may differ.
class RandomKernel {
public:
  explicit RandomKernel(unsigned seed) : random(seed) {}

  std::string check() {
    type = std::vector{ElementType::F32, ElementType::F32, ElementType::F64, ElementType::I32,
                       ElementType::I64, ElementType::F16, ElementType::I16}[upTo(6)];
    unsigned dimensions = upTo(2);
    for (unsigned d = 0; d < dimensions; ++d) {
      int64_t extent = 1 + upTo(8);
      maker.tile(extent, 1 + upTo(extent - 1));
    }
    for (unsigned buffer = 0; buffer < 3; ++buffer)
      maker.buffer(type, 0);
    maker.buffer(ElementType::I32, 11); // Positions for gathers.
    maker.buffer(type, 0, true);
    makeNest();
    Operands operands;
    for (unsigned buffer = 0; buffer < 3; ++buffer)
      operands.push_back(numbers(maker.schedule.buffers[buffer].elements, -3, 4, true));
    operands.push_back(numbers(11, 0, 7, true));
    return compareKernel(maker.schedule, operands, 0);
  }

private:
  int64_t upTo(int64_t most) { return static_cast<int64_t>(random() % (most + 1)); }
  bool oneIn(int64_t n) { return upTo(n - 1) == 0; }

  void makeNest() {
    std::vector<int64_t> parallel, reduction;
    for (unsigned k = upTo(3); k > 0; --k)
      parallel.push_back(oneIn(3) ? 1 + upTo(40) : 1 + upTo(8));
    if (!oneIn(3))
      for (unsigned k = 1 + upTo(1); k > 0; --k)
        reduction.push_back(oneIn(3) ? 1 + upTo(40) : 1 + upTo(5));
    chooseRegisters(parallel, reduction);
    for (int64_t extent : parallel)
      ranges.push_back({0, extent - 1});
    for (int64_t extent : reduction)
      ranges.push_back({0, extent - 1});
    for (const loops::TileDimension &dimension : maker.schedule.space)
      ranges.push_back({0, dimension.extent - dimension.size});
    // The destination: parallel iterators and origins in some order, with no two points in one.
    Index destination = destinationOf(parallel, reduction.size());
    Expr body = expression(3);
    if (reduction.empty()) {
      maker.map(parallel, output, destination, body).registers = registers;
      return;
    }
    Combiner combiner = std::vector{Combiner::Sum, Combiner::Max, Combiner::Min}[upTo(2)];
    LoopNest &nest = maker.reduce(parallel, reduction, combiner, output, destination, body);
    nest.registers = registers;
    insideEpilogue = true;
    for (size_t k = 0; k < reduction.size(); ++k)
      ranges[parallel.size() + k] = {0, 0};
    reductions = {unsigned(parallel.size()), unsigned(parallel.size() + reduction.size())};
    if (oneIn(2))
      nest.epilogue[0] = Expr::binary(BinaryOp::Max, nest.epilogue[0], expression(1));
  }

  Index destinationOf(const std::vector<int64_t> &parallel, unsigned reductionCount) {
    Index result(0);
    int64_t size = 1;
    std::vector<std::pair<Index, int64_t>> sides;
    const auto &space = maker.schedule.space;
    for (size_t k = 0; k < parallel.size(); ++k)
      sides.push_back({it(k), parallel[k]});
    for (size_t d = 0; d < space.size(); ++d)
      sides.push_back(
          {it(parallel.size() + reductionCount + d), space[d].extent - space[d].size + 1});
    std::shuffle(sides.begin(), sides.end(), random);
    for (auto &[index, extent] : sides) {
      result = result + index * size;
      size *= extent;
    }
    maker.schedule.buffers[output].elements = size;
    return result;
  }

  void chooseRegisters(const std::vector<int64_t> &parallel,
                       const std::vector<int64_t> &reduction) {
    unsigned iterators = parallel.size() + reduction.size();
    if (iterators == 0 || oneIn(5))
      return;
    registers.vectorIterator = upTo(iterators - 1);
    registers.lanes = 1u << upTo(4);
    registers.vectors = 1 + upTo(3);
    if (!parallel.empty() && oneIn(2)) {
      registers.rowIterator = upTo(parallel.size() - 1);
      registers.rows = 1 + upTo(5);
      if (registers.rowIterator == registers.vectorIterator)
        registers.rowIterator = -1, registers.rows = 1;
    }
    registers.unrolledReductions = upTo(reduction.size());
  }

  Index iterator() {
    for (;;) {
      unsigned number = upTo(ranges.size() - 1);
      if (!insideEpilogue || number < reductions.first || number >= reductions.second)
        return it(number);
    }
  }

  /// Any index; the caller moves it into a buffer.
  Index someIndex(unsigned depth) {
    Index result(upTo(6) - 3);
    if (ranges.empty() || (insideEpilogue && ranges.size() == reductions.second - reductions.first))
      return result;
    for (unsigned terms = 1 + upTo(2); terms > 0; --terms) {
      int64_t factor = oneIn(2) ? 1 : upTo(12) - 4;
      Index atom = iterator();
      if (depth > 0 && oneIn(4))
        atom = someIndex(depth - 1).floorDiv(1 + upTo(16));
      else if (depth > 0 && oneIn(4))
        atom = someIndex(depth - 1).mod(1 + upTo(16));
      else if (depth > 0 && oneIn(8))
        atom = Index::data(readAt(gatherTable, someIndex(0).mod(11), ElementType::I32));
      result = result + atom * factor;
    }
    return result;
  }

  Expr readAt(unsigned buffer, Index index, ElementType elementType) {
    return Expr::read({buffer}, elementType, index);
  }

  /// A read inside its buffer, which grows to what is needed.
  Expr read() {
    unsigned buffer = upTo(2);
    Index index = someIndex(2);
    Interval range = rangeOf(index, ranges);
    if (range.size() > 5000) { // A gather: its values are 0 to 6.
      index = Index::data(readAt(gatherTable, someIndex(0).mod(11), ElementType::I32)) * 5 +
              iterator().mod(5);
      range = {0, 34};
    }
    int64_t &elements = maker.schedule.buffers[buffer].elements;
    if (elements > 0 && oneIn(3)) { // Partly outside, under a condition.
      int64_t shift = upTo(elements);
      Expr position = Expr::index(index - shift + 2, ElementType::I64);
      Expr inside = Expr::binary(
          BinaryOp::And,
          Expr::binary(BinaryOp::LessEqual, Expr::literal(ElementType::I64, int64_t(0)), position),
          Expr::binary(BinaryOp::Less, position, Expr::literal(ElementType::I64, elements)));
      return Expr::select(inside, readAt(buffer, index - shift + 2, type),
                          Expr::literal(type, int64_t(upTo(1))));
    }
    index = index - range.low;
    elements = std::max(elements, range.size());
    return readAt(buffer, index, type);
  }

  Expr expression(unsigned depth) {
    if (depth == 0 || oneIn(4))
      return oneIn(8) && !ranges.empty() ? Expr::index(someIndex(0).mod(5), type) : read();
    Expr left = expression(depth - 1), right = expression(depth - 1);
    switch (upTo(4)) {
    case 0:
      return left + right;
    case 1: // Kept small, so that products stay exact in halves.
      return Expr::binary(BinaryOp::Min,
                          Expr::binary(BinaryOp::Max, left, Expr::literal(type, int64_t(-2))),
                          Expr::literal(type, int64_t(2))) *
             Expr::binary(BinaryOp::Min, Expr::unary(UnaryOp::Abs, right),
                          Expr::literal(type, int64_t(2)));
    case 2:
      return Expr::binary(BinaryOp::Max, left, right);
    case 3:
      return Expr::select(Expr::binary(BinaryOp::Less, left, right), right, left);
    default:
      return left - right;
    }
  }

  static constexpr unsigned gatherTable = 3, output = 4;
  std::mt19937 random;
  ScheduleMaker maker;
  ElementType type = ElementType::F32;
  loops::RegisterTile registers;
  llvm::SmallVector<Interval> ranges;
  bool insideEpilogue = false;
  std::pair<unsigned, unsigned> reductions = {0, 0};
};

} // namespace

TEST(Random, NestsAgreeWithThePlainRunner) {
  // For longer runs by hand.
  const char *first = std::getenv("KINTSUGI_SEED"), *number = std::getenv("KINTSUGI_SEEDS");
  unsigned start = first ? std::atoi(first) : 0, count = number ? std::atoi(number) : 150;
  for (unsigned seed = start; seed < start + count; ++seed)
    EXPECT_EQ(RandomKernel(seed).check(), "") << "seed " << seed;
}

} // namespace kintsugi::test
