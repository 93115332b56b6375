#include "derive/linear_sum.h"

#include "llvm/ADT/STLExtras.h"

namespace kintsugi::derive {

using namespace te;

namespace {

constexpr ElementType real = ElementType::F32;

bool isZero(const Expr &expr) { return expr.isLiteral() && expr.literalFloat() == 0; }

/// Whether nothing but zeros is outside of the tensor.
bool isFilledWithZeros(const Expr &read) { return !read.readFill() || isZero(*read.readFill()); }

/// `iterator` + k, for some k.
bool isShifted(const Index &index, unsigned iterator) {
  return (index - Index::iterator(iterator)).isConstant();
}

bool isSame(llvm::ArrayRef<Iterator> a, llvm::ArrayRef<Iterator> b) {
  return llvm::equal(a, b,
                     [](const Iterator &x, const Iterator &y) { return x.extent == y.extent; });
}

/// Whether what is summed of a dimension is inside of it.
bool isInside(const LinearSum::Summed &summed, int64_t terms, const Extent &extent) {
  int64_t last = summed.offset + summed.each * (terms - 1) + summed.step * (summed.positions - 1);
  return summed.offset >= 0 && last < extent.constant();
}

/// The dimension of a read along which alone an iterator goes; nullopt where there is none.
std::optional<unsigned> dimensionOf(const Expr &read, unsigned iterator) {
  std::optional<unsigned> found;
  for (auto [d, index] : llvm::enumerate(read.readIndices()))
    if (index.uses(iterator)) {
      if (found)
        return std::nullopt;
      found = d;
    }
  return found;
}

/// The term of a sum along a dimension of what is read there: by itself, or as the place in a
/// window whose position is an iterator of the definition's, which becomes `position`.
std::optional<LinearSum::Summed> summedAlong(const Index &index, const Definition &definition,
                                             unsigned term, Index &position) {
  unsigned iterator = definition.parallel.size() + term;
  LinearSum::Summed summed{int(term), index.constantTerm(), index.coefficientOf(iterator)};
  for (const Term &each : index.terms()) {
    if (each.atom.kind != AtomKind::Iterator)
      return std::nullopt;
    if (each.atom.iterator == iterator)
      continue;
    if (each.atom.iterator >= definition.parallel.size() || summed.isWindow() || each.factor < 1)
      return std::nullopt;
    position = Index::iterator(each.atom.iterator);
    summed.step = each.factor;
    summed.positions = definition.parallel[each.atom.iterator].extent.constant();
  }
  return summed.each < 1 ? std::nullopt : std::optional(summed);
}

/// The body of a linear map over sums of what it reads. A summed dimension is a term, of which the
/// expression at hand stands for those within bounds.
class Mapper {
public:
  using IsConstant = llvm::function_ref<bool(const Expr &)>;

  Mapper(const Program &program, const LinearSum &sum, IsConstant isConstant, const SumParts &parts)
      : program(program), sum(sum), isConstant(isConstant), parts(parts) {
    unsigned inResult = 0;
    for (const LinearSum::Summed &dimension : sum.dimensions)
      places.push_back(dimension.isInResult() ? Index::iterator(inResult++) : Index(0));
    for (unsigned k = 0; k < sum.own.size(); ++k)
      own.push_back(Index::iterator(inResult + k));
    for (const Iterator &term : sum.terms)
      whole.push_back(Interval::of(term.extent));
  }

  std::optional<Expr> run(const Expr &body) { return map(body, whole, sum.weight); }

private:
  using Bounds = llvm::SmallVector<Interval, 3>;

  bool isSummed(unsigned dimension) const { return sum.dimensions[dimension].term >= 0; }

  bool usesTerms(const Expr &expr) const {
    for (unsigned d = 0; d < sum.dimensions.size(); ++d)
      if (isSummed(d) && expr.uses(d))
        return true;
    return false;
  }

  /// The same for all terms, or a constant that depends on terms alone.
  bool isScale(const Expr &expr) const {
    if (!usesTerms(expr))
      return true;
    for (auto [d, dimension] : llvm::enumerate(sum.dimensions))
      if (dimension.isInResult() && expr.uses(d))
        return false;
    return isConstant(expr);
  }

  /// As an element of the result has it.
  Expr placed(const Expr &expr) const { return substitute(expr, places); }

  std::optional<Expr> map(const Expr &expr, const Bounds &bounds,
                          const std::optional<Expr> &weight) {
    if (expr.type() != real || fuel == 0)
      return std::nullopt;
    --fuel;
    if (isZero(expr)) {
      parts.leftOut(weight);
      return expr;
    }
    if (!usesTerms(expr))
      return timesOnes(expr, bounds, weight);
    switch (expr.kind()) {
    case ExprKind::Read:
      return mapRead(expr, bounds, weight);
    case ExprKind::Unary:
      if (expr.unaryOp() != UnaryOp::Neg)
        return std::nullopt;
      if (std::optional<Expr> operand = map(expr.operand(0), bounds, weight))
        return -*operand;
      return std::nullopt;
    case ExprKind::Binary:
      return mapBinary(expr, bounds, weight);
    case ExprKind::Select:
      return mapSelect(expr, bounds, weight);
    case ExprKind::Literal:
    case ExprKind::Index:
    case ExprKind::Cast:
      return std::nullopt;
    }
    return std::nullopt;
  }

  /// What is the same for all terms, times the sum of their weights.
  std::optional<Expr> timesOnes(const Expr &expr, const Bounds &bounds,
                                const std::optional<Expr> &weight) {
    if (!weight) {
      double count = 1;
      for (const Interval &range : bounds)
        count *= double(range.size());
      return placed(expr) * Expr::literal(real, count);
    }
    LinearSum ones;
    setTerms(ones, bounds, weight);
    std::optional<ValueId> result = parts.sum(ones);
    return result ? std::optional(placed(expr) * Expr::read(*result, real, own)) : std::nullopt;
  }

  /// Of a sum of terms within bounds, which begin at 0 there.
  void setTerms(LinearSum &its, const Bounds &bounds, const std::optional<Expr> &weight) const {
    its.own = sum.own;
    llvm::SmallVector<Index> fromLow;
    for (unsigned k = 0; k < sum.own.size(); ++k)
      fromLow.push_back(Index::iterator(k));
    for (auto [term, range] : llvm::zip_equal(sum.terms, bounds)) {
      fromLow.push_back(Index::iterator(fromLow.size()) + range.low);
      its.terms.push_back({term.name, Extent(range.size())});
    }
    if (weight)
      its.weight = substitute(*weight, fromLow);
  }

  std::optional<Expr> mapBinary(const Expr &expr, const Bounds &bounds,
                                const std::optional<Expr> &weight) {
    const Expr &a = expr.operand(0), &b = expr.operand(1);
    switch (expr.binaryOp()) {
    case BinaryOp::Add:
    case BinaryOp::Sub: {
      std::optional<Expr> left = map(a, bounds, weight);
      std::optional<Expr> right = left ? map(b, bounds, weight) : std::nullopt;
      return right ? std::optional(Expr::binary(expr.binaryOp(), *left, *right)) : std::nullopt;
    }
    case BinaryOp::Mul:
      return usesTerms(a) && isScale(b) ? mapScaled(a, b, bounds, weight, BinaryOp::Mul)
                                        : mapScaled(b, a, bounds, weight, BinaryOp::Mul);
    case BinaryOp::Div:
      return mapScaled(a, b, bounds, weight, BinaryOp::Div);
    default:
      return std::nullopt;
    }
  }

  /// A scale that is the same for all terms stands outside of the sum; one that depends on terms
  /// alone, and on constants, is part of the weight.
  std::optional<Expr> mapScaled(const Expr &scaled, const Expr &scale, const Bounds &bounds,
                                const std::optional<Expr> &weight, BinaryOp op) {
    if (!isScale(scale))
      return std::nullopt;
    if (!usesTerms(scale)) {
      std::optional<Expr> inner = map(scaled, bounds, weight);
      return inner ? std::optional(Expr::binary(op, *inner, placed(scale))) : std::nullopt;
    }
    llvm::SmallVector<Index> asTerms;
    for (const LinearSum::Summed &dimension : sum.dimensions)
      asTerms.push_back(dimension.isInResult()
                            ? Index(0)
                            : dimension.at(Index::iterator(sum.own.size() + dimension.term), 0));
    Expr own = substitute(scale, asTerms), one = Expr::literal(real, 1.0);
    return map(scaled, bounds, Expr::binary(op, weight ? *weight : one, own));
  }

  /// Where a summed dimension decides, each side stands for some of the terms.
  std::optional<Expr> mapSelect(const Expr &expr, const Bounds &bounds,
                                const std::optional<Expr> &weight) {
    const Expr &condition = expr.operand(0);
    if (!usesTerms(condition)) {
      std::optional<Expr> onTrue = map(expr.operand(1), bounds, weight);
      std::optional<Expr> onFalse = onTrue ? map(expr.operand(2), bounds, weight) : std::nullopt;
      return onFalse ? std::optional(Expr::select(placed(condition), *onTrue, *onFalse))
                     : std::nullopt;
    }
    if (condition.kind() != ExprKind::Binary || condition.binaryOp() != BinaryOp::Less ||
        condition.operand(0).kind() != ExprKind::Index || !condition.operand(1).isLiteral() ||
        condition.operand(0).type() != ElementType::I64)
      return std::nullopt;
    const Index &index = condition.operand(0).indexValue();
    int64_t limit = condition.operand(1).literalInteger();
    for (unsigned d = 0; d < sum.dimensions.size(); ++d) {
      const LinearSum::Summed &dimension = sum.dimensions[d];
      if (dimension.isInResult() || dimension.each != 1 || !isShifted(index, d))
        continue;
      int64_t border = limit - index.constantTerm() - dimension.offset;
      Bounds below = bounds, above = bounds;
      below[dimension.term].high = std::min(below[dimension.term].high, border - 1);
      above[dimension.term].low = std::max(above[dimension.term].low, border);
      if (below[dimension.term].empty())
        return map(expr.operand(2), above, weight);
      std::optional<Expr> first = map(expr.operand(1), below, weight);
      if (!first || above[dimension.term].empty())
        return first;
      std::optional<Expr> second = map(expr.operand(2), above, weight);
      return second ? std::optional(*first + *second) : std::nullopt;
    }
    return std::nullopt;
  }

  /// Of indices by dimension those that a sum has.
  static llvm::SmallVector<Index> inResult(const LinearSum &sum, llvm::ArrayRef<Index> indices) {
    llvm::SmallVector<Index> result;
    for (auto [dimension, index] : llvm::zip_equal(sum.dimensions, indices))
      if (dimension.isInResult())
        result.push_back(index);
    return result;
  }

  std::optional<Expr> mapRead(const Expr &read, const Bounds &bounds,
                              const std::optional<Expr> &weight) {
    if (!isFilledWithZeros(read))
      return std::nullopt;
    LinearSum its;
    its.value = read.readValue();
    its.dimensions.resize(read.readIndices().size());
    llvm::SmallVector<Index> indices(read.readIndices());
    for (auto [d, dimension] : llvm::enumerate(sum.dimensions)) {
      if (dimension.term < 0)
        continue;
      std::optional<unsigned> along = dimensionOf(read, d);
      if (!along || !isShifted(indices[*along], d))
        return std::nullopt;
      LinearSum::Summed &summed = its.dimensions[*along] = dimension;
      const Interval &range = bounds[dimension.term];
      summed.offset += indices[*along].constantTerm() + dimension.each * range.low;
      if (!isInside(summed, range.size(), program.shape(its.value)[*along]))
        return std::nullopt;
      indices[*along] = Index::iterator(d);
    }
    indices = inResult(its, substitute(indices, places));
    setTerms(its, bounds, weight);
    std::optional<ValueId> result = parts.sum(its);
    if (!result)
      return std::nullopt;
    if (read.readFill())
      parts.leftOut(weight);
    llvm::append_range(indices, own);
    std::optional<Expr> fill;
    if (read.readFill())
      fill = *read.readFill();
    return Expr::read(*result, real, indices, std::move(fill));
  }

  const Program &program;
  const LinearSum &sum;
  IsConstant isConstant;
  const SumParts &parts;
  unsigned fuel = 1000; ///< Expressions that are looked at: what several share, for each of them.
  llvm::SmallVector<Index> places; ///< In the result, of the value's dimensions that it has.
  llvm::SmallVector<Index> own;
  Bounds whole;
};

} // namespace

bool LinearSum::operator==(const LinearSum &other) const {
  return value == other.value && dimensions == other.dimensions && isSame(terms, other.terms) &&
         isSame(own, other.own) && weight == other.weight;
}

Extent LinearSum::extentInResult(const Program &program, unsigned dimension) const {
  const Summed &summed = dimensions[dimension];
  return summed.isWindow() ? Extent(summed.positions) : program.shape(value)[dimension];
}

Shape LinearSum::resultShape(const Program &program) const {
  Shape shape;
  for (auto [d, dimension] : llvm::enumerate(dimensions))
    if (dimension.isInResult())
      shape.push_back(extentInResult(program, d));
  for (const Iterator &iterator : own)
    shape.push_back(iterator.extent);
  return shape;
}

std::optional<LinearSum> linearSumOf(const Program &program, const Definition &definition,
                                     unsigned operand, llvm::SmallVectorImpl<Index> &point) {
  if (!definition.reduction || definition.reduction->combiner != Combiner::Sum ||
      definition.reduction->accumulator != real || definition.bodies[0].type() != real)
    return std::nullopt;
  const Expr &body = definition.bodies[0];
  bool isProduct = body.kind() == ExprKind::Binary && body.binaryOp() == BinaryOp::Mul;
  if (!isProduct && operand > 0)
    return std::nullopt;
  const Expr &read = isProduct ? body.operand(operand) : body;
  const Expr *weight = isProduct ? &body.operand(1 - operand) : nullptr;
  if (read.kind() != ExprKind::Read || !isFilledWithZeros(read))
    return std::nullopt;
  unsigned numParallel = definition.parallel.size();
  LinearSum sum;
  sum.value = read.readValue();
  sum.terms = definition.reduction->iterators;
  sum.dimensions.resize(read.readIndices().size());
  llvm::SmallVector<Index> indices(read.readIndices());
  for (unsigned k = 0; k < sum.terms.size(); ++k) {
    std::optional<unsigned> along = dimensionOf(read, numParallel + k);
    auto summed =
        along ? summedAlong(indices[*along], definition, k, indices[*along]) : std::nullopt;
    if (!summed ||
        !isInside(*summed, sum.terms[k].extent.constant(), program.shape(sum.value)[*along]) ||
        (summed->isWindow() && weight && weight->uses(indices[*along].asIterator())))
      return std::nullopt;
    sum.dimensions[*along] = *summed;
  }
  point.clear();
  for (auto [dimension, index] : llvm::zip_equal(sum.dimensions, indices))
    if (dimension.isInResult())
      point.push_back(index);
  if (!weight)
    return sum;
  llvm::SmallVector<Index> numbers(definition.numIterators(), Index(0));
  for (unsigned k = 0; k < numParallel; ++k)
    if (weight->uses(k)) {
      numbers[k] = Index::iterator(sum.own.size());
      sum.own.push_back(definition.parallel[k]);
      point.push_back(Index::iterator(k));
    }
  for (unsigned k = 0; k < sum.terms.size(); ++k)
    numbers[numParallel + k] = Index::iterator(sum.own.size() + k);
  sum.weight = substitute(*weight, numbers);
  return sum;
}

std::optional<Expr> mappedSum(const Program &program, const LinearSum &sum,
                              llvm::function_ref<bool(const Expr &)> isConstant,
                              const SumParts &parts) {
  const Definition *map = program.definitionOf(sum.value);
  if (!map || map->reduction || map->bodies.size() != 1)
    return std::nullopt;
  return Mapper(program, sum, isConstant, parts).run(map->bodies[0]);
}

} // namespace kintsugi::derive
