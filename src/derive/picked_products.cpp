#include "derive/picked_products.h"

#include "derive/finite.h"
#include "derive/zero_padding.h"
#include "llvm/ADT/STLExtras.h"

#include <tuple>

namespace kintsugi::derive {

using namespace te;

namespace {

/// A dimension of t.
struct Dimension {
  bool isColumn;
  unsigned place; ///< Where it stands: by an iterator of the whole that it goes along.
  Iterator iterator;
  Index pick;       ///< Where it is read, over the whole's iterators.
  unsigned standIn; ///< The number that products' expressions have it under until it is placed.
};

class Picker {
public:
  Picker(const Program &program, const Definition &whole, const Picking &picking)
      : program(program), whole(whole), pickers(picking.pickers), columns(picking.columns),
        order(picking.order), ranges(whole.ranges()) {}

  std::optional<PickedProducts> run() {
    llvm::SmallVector<Expr, 2> factors;
    for (unsigned k : {0u, 1u})
      factors.push_back(simplified(withinPadding(whole.bodies[0].operand(k), program), ranges));
    for (unsigned k : {0u, 1u})
      if (!pickFrom(factors[k], k == columns, factors[1 - k]))
        return std::nullopt;
    addKept(factors);
    if (whole.reduction->iterators.size() == pickers.size())
      return std::nullopt;
    sortDimensions();
    writeProducts(factors);
    writeSum();
    return std::move(result);
  }

private:
  unsigned numParallel() const { return whole.parallel.size(); }
  bool isPicker(unsigned iterator) const { return llvm::is_contained(pickers, iterator); }

  template <typename Uses> bool usesPicker(const Uses &what) const {
    return llvm::any_of(pickers, [&](unsigned picker) { return what.uses(picker); });
  }

  Expr simplified(const Expr &e, llvm::ArrayRef<Interval> itsRanges) const {
    return simplifyIndices(e, itsRanges, [&](ValueId id) { return program.shape(id); });
  }

  /// Has a factor read elements of t's dimensions in place of those that are picked.
  bool pickFrom(Expr &factor, bool isColumn, const Expr &other) {
    std::optional<Expr> picked;
    bool fits = true;
    factor.walk([&](const Expr &e) {
      if (e.kind() == ExprKind::Index)
        fits &= !usesPicker(e.indexValue());
      if (e.kind() != ExprKind::Read ||
          !llvm::any_of(e.readIndices(), [&](const Index &index) { return usesPicker(index); }))
        return;
      fits &= !picked || *picked == e;
      picked = e;
    });
    if (!fits || !picked || !llvm::all_of(pickers, [&](unsigned p) { return picked->uses(p); }))
      return false;
    bool isZeroOutside = hasZerosOutside(*picked) && readBehindCasts(factor);
    const Expr *fill = picked->readFill();
    if (fill && !fill->isLiteral())
      return false;
    llvm::SmallVector<Index> indices(picked->readIndices());
    for (auto [index, extent] : llvm::zip_equal(indices, program.shape(picked->readValue()))) {
      if (!usesPicker(index))
        continue;
      Interval inside = Interval::of(extent), range = rangeOf(index, ranges);
      if (!mayPick(index))
        return false;
      if (isZeroOutside && !range.within(inside)) {
        range = {std::max(range.low, inside.low), std::min(range.high, inside.high)};
        result.leaves = true;
        result.multipliedWithZeros.push_back(other);
      }
      if (range.empty())
        return false;
      index = addPick(index, range, isColumn);
    }
    std::optional<Expr> filled;
    if (fill)
      filled = *fill;
    Expr element = Expr::read(picked->readValue(), picked->type(), indices, std::move(filled));
    factor = rewrite(factor, [&](const Expr &e) { return e == *picked ? element : e; });
    return true;
  }

  /// Whether an index that uses pickers uses nothing that products sum.
  bool mayPick(const Index &index) const {
    for (unsigned k = numParallel(); k < whole.numIterators(); ++k)
      if (!isPicker(k) && index.uses(k))
        return false;
    return index.isStatic();
  }

  /// The index of a new dimension of t where one of the whole's was.
  Index addPick(const Index &index, Interval range, bool isColumn) {
    unsigned place = 0;
    while (!index.uses(place) || (place >= numParallel() && !isPicker(place)))
      ++place;
    const Iterator &along = place < numParallel()
                                ? whole.parallel[place]
                                : whole.reduction->iterators[place - numParallel()];
    unsigned number = whole.numIterators() + standIns++;
    dimensions.push_back(
        {isColumn, place, {along.name, Extent(range.size())}, index - range.low, number});
    return Index::iterator(number) + range.low;
  }

  /// Dimensions of t for what the factors still change with.
  void addKept(llvm::ArrayRef<Expr> factors) {
    for (unsigned k = 0; k < numParallel(); ++k) {
      bool inRows = factors[1 - columns].uses(k), inColumns = factors[columns].uses(k);
      if (inRows || inColumns)
        dimensions.push_back({!inRows, k, whole.parallel[k], Index::iterator(k), k});
    }
  }

  void sortDimensions() {
    llvm::sort(dimensions, [this](const Dimension &a, const Dimension &b) {
      return a.isColumn != b.isColumn ? a.isColumn == (order == PickedOrder::ColumnsFirst)
                                      : std::tie(a.place, a.standIn) < std::tie(b.place, b.standIn);
    });
    auto firstColumn = llvm::find_if(dimensions, [](const Dimension &d) { return d.isColumn; });
    if (order == PickedOrder::LastRowLast && firstColumn != dimensions.begin())
      std::rotate(firstColumn - 1, firstColumn, dimensions.end());
  }

  void writeProducts(llvm::ArrayRef<Expr> factors) {
    Definition &products = result.products;
    llvm::SmallVector<Index> replacements(whole.numIterators() + standIns, Index(0));
    for (auto [number, dimension] : llvm::enumerate(dimensions)) {
      products.parallel.push_back(dimension.iterator);
      replacements[dimension.standIn] = Index::iterator(number);
    }
    products.reduction = whole.reduction;
    products.reduction->iterators.clear();
    for (unsigned k = numParallel(); k < whole.numIterators(); ++k) {
      if (isPicker(k))
        continue;
      replacements[k] = Index::iterator(products.numIterators());
      products.reduction->iterators.push_back(whole.reduction->iterators[k - numParallel()]);
    }
    llvm::SmallVector<Interval> itsRanges = products.ranges();
    auto placed = [&](const Expr &factor) {
      return simplified(substitute(factor, replacements), itsRanges);
    };
    products.bodies = {placed(factors[0]) * placed(factors[1])};
  }

  void writeSum() {
    Definition &sum = result.sum;
    sum.parallel = whole.parallel;
    sum.reduction = whole.reduction;
    sum.reduction->iterators.clear();
    llvm::SmallVector<Index> replacements;
    for (unsigned k = 0; k < whole.numIterators(); ++k)
      replacements.push_back(Index::iterator(k));
    for (unsigned picker : pickers) {
      replacements[picker] = Index::iterator(sum.numIterators());
      sum.reduction->iterators.push_back(whole.reduction->iterators[picker - numParallel()]);
    }
    for (const Dimension &dimension : dimensions)
      result.picks.push_back(substitute(dimension.pick, replacements));
  }

  const Program &program;
  const Definition &whole;
  llvm::ArrayRef<unsigned> pickers;
  const unsigned columns;
  const PickedOrder order;
  const llvm::SmallVector<Interval> ranges;
  llvm::SmallVector<Dimension> dimensions;
  unsigned standIns = 0;
  PickedProducts result;
};

} // namespace

Definition PickedProducts::sumOf(ValueId products) const {
  Definition whole = sum;
  ElementType type = whole.reduction->accumulator;
  std::optional<Expr> zero;
  if (leaves)
    zero = Expr::literal(type, 0.0);
  whole.bodies = {Expr::read(products, type, picks, std::move(zero))};
  return whole;
}

std::optional<PickedProducts> pickedProducts(const Program &program, const Definition &whole,
                                             const Picking &picking) {
  return Picker(program, whole, picking).run();
}

} // namespace kintsugi::derive
