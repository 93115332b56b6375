#include "loops/softmax_nests.h"

#include "loops/scratch.h"
#include "loops/streamed_softmax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <numeric>

namespace kintsugi::loops {

using namespace te;

namespace {

bool isNarrow(ElementType type) { return isFloat(type) && bitsOf(type) == 16; }

class SoftmaxMatch {
public:
  SoftmaxMatch(llvm::ArrayRef<LoopNest> nests, const Schedule &schedule)
      : scores(nests[0]), stats(nests[1]), powers(nests[2]), weighted(nests[3]),
        schedule(schedule) {}

  std::optional<SoftmaxNests> match() {
    bool matches =
        findProducts() && areStats() && arePowers() && areWeights() && serveNothingElse();
    return matches ? std::optional(SoftmaxNests{scoresProduct, weightedProduct, uniformColumns()})
                   : std::nullopt;
  }

private:
  unsigned scoresBuffer() const { return scores.destinations[0]; }
  unsigned powersBuffer() const { return powers.destinations[0]; }

  bool findProducts() {
    std::optional<MatrixProduct> ofScores = matrixProductOf(scores),
                                 ofWeighted = matrixProductOf(weighted);
    if (!ofScores || !ofWeighted || ofScores->numBatch != 1 || ofWeighted->numBatch != 1)
      return false;
    scoresProduct = *ofScores;
    weightedProduct = *ofWeighted;
    rows = scoresProduct.numRows;
    columns = scoresProduct.numColumns;
    return scoresProduct.element == weightedProduct.element && weightedProduct.numRows == rows &&
           weightedProduct.depth == columns && weighted.numReductions() == 1 &&
           isInScratch(scores) &&
           isRowMajor(scores.destinationIndex, scores, scoresProduct.rows, 0,
                      scoresProduct.columns);
  }

  bool isInScratch(const LoopNest &nest) const {
    return llvm::all_of(nest.destinations, [&](unsigned destination) {
      return schedule.buffers[destination].home == Home::Scratch;
    });
  }

  /// Whether a position is the number of a nest's point, by `rows` and then `inner`; of some
  /// iterator each.
  static bool isRowMajor(const Index &position, const LoopNest &nest, llvm::ArrayRef<unsigned> rows,
                         int64_t start, llvm::ArrayRef<unsigned> inner = {}) {
    if (!position.isAffine() || position.constantTerm() != start)
      return false;
    size_t terms = 0;
    int64_t stride = 1;
    for (llvm::ArrayRef<unsigned> iterators : {inner, rows})
      for (unsigned iterator : llvm::reverse(iterators)) {
        if (nest.extentOf(iterator) > 1 && position.coefficientOf(iterator) != stride)
          return false;
        terms += position.coefficientOf(iterator) != 0;
        stride *= nest.extentOf(iterator);
      }
    return terms == position.terms().size();
  }

  /// Whether every read of `buffer` in `expr` is at the element of the scores' shape where the
  /// iterators are.
  static bool readsAtPoint(const Expr &expr, unsigned buffer, const LoopNest &nest,
                           llvm::ArrayRef<unsigned> rows, llvm::ArrayRef<unsigned> inner) {
    bool isThere = true;
    expr.walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Read && e.readValue().number == buffer)
        isThere &= isRowMajor(e.readIndices()[0], nest, rows, 0, inner);
    });
    return isThere;
  }

  static llvm::SmallVector<unsigned> firstOnes(unsigned count) {
    return llvm::to_vector(llvm::seq<unsigned>(0, count));
  }

  int64_t pointsOf(const LoopNest &nest, llvm::ArrayRef<unsigned> iterators) const {
    int64_t points = 1;
    for (unsigned iterator : iterators)
      points *= nest.extentOf(iterator);
    return points;
  }

  /// Statistics lie in a tile row by row, or, where other kernels read them, in memory.
  bool haveAPlace(llvm::ArrayRef<unsigned> rowsOfStats) const {
    return isInScratch(stats) ? isRowMajor(stats.destinationIndex, stats, rowsOfStats, 0)
                              : stats.destinationIndex.isStatic();
  }

  /// Whether a position in the powers' iterators is that of their row's statistics.
  bool isOfTheirRow(const Index &position, llvm::ArrayRef<unsigned> rowsOfPowers) const {
    if (isInScratch(stats))
      return isRowMajor(position, powers, rowsOfPowers, 0);
    llvm::SmallVector<Index> iterators;
    for (unsigned row : rowsOfPowers)
      iterators.push_back(Index::iterator(row));
    iterators.push_back(Index(0)); // Of the reduction, which no place depends on.
    for (unsigned d = 0; d < schedule.space.size(); ++d)
      iterators.push_back(Index::iterator(powers.originIterator(d)));
    return position == substitute(stats.destinationIndex, iterators);
  }

  bool areStats() const {
    llvm::SmallVector<unsigned> own = firstOnes(stats.parallel.size());
    if (!stats.reduction || stats.reduction->combiner != Combiner::SoftmaxStats ||
        stats.reduction->accumulator != ElementType::F32 || stats.numReductions() != 1 ||
        !stats.spans.empty() || stats.extentOf(own.size()) != columns ||
        pointsOf(stats, own) != rows || !haveAPlace(own))
      return false;
    for (auto [number, finish] : llvm::enumerate(stats.epilogue))
      if (finish.kind() != ExprKind::Read || finish.readValue() != LoopNest::accumulator(number) ||
          finish.type() != ElementType::F32)
        return false;
    return stats.bodies[0].type() == ElementType::F32 &&
           readsAtPoint(stats.bodies[0], scoresBuffer(), stats, own, {unsigned(own.size())});
  }

  /// exp(x - m), rounded, of the same x: both nests number rows and columns alike.
  bool arePowers() const {
    unsigned last = powers.parallel.size() - 1;
    if (powers.reduction || powers.parallel.size() != stats.parallel.size() + 1 ||
        powers.extentOf(last) != columns || !powers.spans.empty() || !isInScratch(powers))
      return false;
    for (unsigned k = 0; k < last; ++k)
      if (powers.extentOf(k) != stats.extentOf(k))
        return false;
    llvm::SmallVector<unsigned> own = firstOnes(last);
    const Expr *power = &powers.bodies[0];
    if (power->kind() != ExprKind::Cast || power->type() != scoresProduct.element)
      return false;
    power = &power->operand(0);
    if (power->kind() != ExprKind::Unary || power->unaryOp() != UnaryOp::Exp)
      return false;
    const Expr &difference = power->operand(0);
    if (difference.kind() != ExprKind::Binary || difference.binaryOp() != BinaryOp::Sub ||
        difference.type() != ElementType::F32 || difference.operand(0) != stats.bodies[0])
      return false;
    const Expr &maximum = difference.operand(1);
    return maximum.kind() == ExprKind::Read &&
           maximum.readValue().number == stats.destinations[0] &&
           isOfTheirRow(maximum.readIndices()[0], own) &&
           isRowMajor(powers.destinationIndex, powers, own, 0, {last});
  }

  /// Whether the rows' factor of the last product is a power.
  bool areWeights() const {
    const Expr &factor = weighted.bodies[0].operand(1 - weightedProduct.columnsFactor);
    if (factor.kind() != ExprKind::Cast || factor.operand(0).kind() != ExprKind::Read)
      return false;
    const Expr &read = factor.operand(0);
    return read.readValue().number == powersBuffer() && isNarrow(read.type()) &&
           isRowMajor(read.readIndices()[0], weighted, weightedProduct.rows, 0,
                      {unsigned(weighted.parallel.size())});
  }

  /// Whether the nests' buffers are read where these nests read them alone.
  bool serveNothingElse() const {
    for (const LoopNest *nest : {&scores, &stats, &powers, &weighted})
      for (unsigned buffer : buffersRead(*nest)) {
        bool isOfScores = buffer == scoresBuffer() && nest != &stats && nest != &powers;
        bool isOfPowers = buffer == powersBuffer() && nest != &weighted;
        bool isOfStats = llvm::is_contained(stats.destinations, buffer) && nest == &scores;
        if (isOfScores || isOfPowers || isOfStats)
          return false;
      }
    const Expr &values = weighted.bodies[0].operand(weightedProduct.columnsFactor);
    bool isApart = true;
    values.walk([&](const Expr &e) {
      isApart &= e.kind() != ExprKind::Read || e.readValue().number != powersBuffer();
    });
    return isApart && llvm::none_of(schedule.nests, [&](const LoopNest &nest) {
             return llvm::is_contained(buffersRead(nest), scoresBuffer()) ||
                    llvm::is_contained(buffersRead(nest), powersBuffer());
           });
  }

  int64_t uniformColumns() const {
    const Expr &score = scores.epilogue[0];
    if (score.kind() != ExprKind::Select || !score.operand(2).isLiteral() ||
        score.operand(2).literalFloat() != -INFINITY || score.operand(0).kind() != ExprKind::Read)
      return 0;
    const Expr &condition = score.operand(0);
    int64_t uniform = 0;
    for (const Term &term : condition.readIndices()[0].terms())
      uniform = std::gcd(uniform, uniformColumnsOf(term.atom));
    return schedule.buffers[condition.readValue().number].home == Home::Memory ? uniform : 1;
  }

  /// 0: all; 1: none, or rows differ.
  int64_t uniformColumnsOf(const Atom &atom) const {
    if (atom.kind != AtomKind::Iterator && atom.kind != AtomKind::FloorDiv)
      return 1;
    Index index = atom.kind == AtomKind::Iterator ? Index::iterator(atom.iterator) : atom.operand;
    int64_t divisor = atom.kind == AtomKind::Iterator ? 1 : atom.divisor;
    if (!index.isAffine() || index.constantTerm() != 0)
      return 1;
    int64_t stride = 1, uniform = 0;
    for (unsigned column : llvm::reverse(scoresProduct.columns)) {
      if (index.uses(column)) // Alone, or with what only the origins change.
        uniform = index.asIterator() == int(column) ? std::gcd(uniform, stride * divisor) : 1;
      stride *= scores.extentOf(column);
    }
    for (unsigned row : scoresProduct.rows)
      if (index.uses(row) && !areRowsOfOneBlock(index, row, divisor))
        return 1;
    return uniform;
  }

  /// Whether (origin + row) / divisor is the same for all rows of any tile, or for those from a
  /// multiple of `rowsOpenTogether` on.
  bool areRowsOfOneBlock(const Index &index, unsigned row, int64_t divisor) const {
    for (unsigned d = 0; d < schedule.space.size(); ++d) {
      const TileDimension &dimension = schedule.space[d];
      if (index == Index::iterator(scores.originIterator(d)) + Index::iterator(row))
        return scores.extentOf(row) == dimension.size && dimension.extent % dimension.size == 0 &&
               (divisor % dimension.size == 0 ||
                (divisor % rowsOpenTogether == 0 && dimension.size % rowsOpenTogether == 0 &&
                 row == scoresProduct.rows.back()));
    }
    return index.asIterator() == int(row) && scores.extentOf(row) <= divisor;
  }

  const LoopNest &scores, &stats, &powers, &weighted;
  const Schedule &schedule;
  MatrixProduct scoresProduct, weightedProduct;
  int64_t rows = 0, columns = 0;
};

} // namespace

std::optional<SoftmaxNests> softmaxNestsOf(llvm::ArrayRef<LoopNest> nests,
                                           const Schedule &schedule) {
  if (nests.size() < 4)
    return std::nullopt;
  return SoftmaxMatch(nests, schedule).match();
}

} // namespace kintsugi::loops
