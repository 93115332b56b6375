//===- skip_zeros.cpp - Sums over what a constant factor leaves -------------===//
//
// A product with a constant selects rows, scales them, works block by block or along a band, or has
// windows with zeros around: the constant says so, and the sum goes over its nonzeros alone. What
// each sum costs is counted as multiply-adds, as by commute-sums.
//
//===----------------------------------------------------------------------===//

#include "derive/constant_facts.h"
#include "derive/finite.h"
#include "derive/packed_factor.h"
#include "derive/rule.h"
#include "derive/sum_price.h"
#include "simplify/rebuild.h"
#include "simplify/simplify.h"
#include "te/constant.h"
#include "te/constant_nodes.h"
#include "te/operations.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace kintsugi::derive {

using namespace te;

namespace {

/// A sum of products, and what a constant factor of it leaves.
struct Skip {
  unsigned constant = 0; ///< Which operand of the product.
  SumFactor factor;
  std::shared_ptr<const FactorFacts> facts;
  double before = 0, after = 0; ///< Terms of a result.

  const Nonzeros &nonzeros() const { return *facts->nonzeros; }
};

/// Writes a sum as what is left of it.
class SkipWriter {
public:
  SkipWriter(simplify::Rebuilder &out, uint32_t node, const Skip &skip)
      : out(out), node(node), skip(skip), sum(std::get<Definition>(out.old.nodes[node])),
        name(out.old.value(sum.results[0]).name) {}

  /// A machine error where there is no memory for a table.
  Status write() {
    out.fresh.currentOrigin = out.old.origins[node];
    splitRows();
    numRows = less.parallel.size();
    KINTSUGI_RETURN_IF_ERROR(shortenSums());
    less.bodies = {body()};
    if (less.parallel.size() == sum.parallel.size()) {
      out.define(node, std::move(less));
    } else {
      ValueId parts = out.fresh.define(name + ".parts", typeOfResult(), std::move(less));
      Definition joined;
      joined.parallel = sum.parallel;
      joined.bodies = {Expr::read(parts, typeOfResult(), joinedAt)};
      out.define(node, std::move(joined));
    }
    out.keepFacts(node);
    return Status::success();
  }

private:
  ElementType typeOfResult() const { return out.old.value(sum.results[0]).type; }

  /// The size of a parallel iterator's parts, if it becomes two: the first window that asks for it.
  std::optional<int64_t> splitOf(unsigned iterator) const {
    for (const SumWindow &window : skip.nonzeros().windows)
      if (window.split && skip.factor.rows[window.split->row] == iterator)
        return window.split->size;
    return std::nullopt;
  }

  void splitRows() {
    for (auto [k, iterator] : llvm::enumerate(sum.parallel)) {
      unsigned number = less.parallel.size();
      Index first = Index::iterator(number), old = Index::iterator(k);
      if (std::optional<int64_t> size = splitOf(k)) {
        less.parallel.push_back({iterator.name + "p", Extent(iterator.extent.constant() / *size)});
        less.parallel.push_back({iterator.name, Extent(*size)});
        partsOf.push_back({number, number + 1});
        places.push_back(first * *size + Index::iterator(number + 1));
        joinedAt.push_back(old.floorDiv(*size));
        joinedAt.push_back(old.mod(*size));
      } else {
        less.parallel.push_back(iterator);
        partsOf.push_back({number});
        places.push_back(first);
        joinedAt.push_back(old);
      }
    }
  }

  /// Says where each summed iterator is; one of a single step is gone.
  Status shortenSums() {
    less.reduction = Reduction{sum.reduction->combiner, sum.reduction->accumulator, {}};
    for (auto [k, iterator] : llvm::enumerate(sum.reduction->iterators)) {
      const auto *found = llvm::find(skip.factor.summed, sum.parallel.size() + k);
      const SumWindow *window = found == skip.factor.summed.end()
                                    ? nullptr
                                    : &skip.nonzeros().windows[found - skip.factor.summed.begin()];
      int64_t count = window ? window->count : iterator.extent.constant();
      Index step = 0;
      partsOf.emplace_back();
      if (count != 1 || !window) {
        partsOf.back().push_back(numRows + less.reduction->iterators.size());
        step = Index::iterator(partsOf.back()[0]);
        less.reduction->iterators.push_back({iterator.name, Extent(count)});
      }
      if (window) {
        KINTSUGI_ASSIGN(step, placeOf(*window, iterator.name, step));
      }
      places.push_back(step);
    }
    if (less.reduction->iterators.empty())
      less.reduction.reset();
    ranges = less.ranges();
    for (Index &place : places)
      place = te::simplify(place, ranges);
    return Status::success();
  }

  Expected<Index> placeOf(const SumWindow &window, const std::string &iterator, const Index &step) {
    llvm::SmallVector<Index> row;
    for (unsigned k : skip.factor.rows)
      row.push_back(places[k]);
    if (window.table.empty())
      return substitute(window.start, row) + step * window.step;
    std::vector<int64_t> shape;
    for (unsigned k : skip.factor.rows)
      shape.push_back(sum.parallel[k].extent.constant());
    if (window.listsAll) {
      shape.push_back(window.count);
      row.push_back(step);
    }
    KINTSUGI_ASSIGN(ValueId table, addTable(name + ".at." + iterator, shape, window.table));
    Index start = Index::data(Expr::read(table, ElementType::I32, row));
    return window.listsAll ? start : start + step * window.step;
  }

  Expected<ValueId> addTable(const std::string &its, const std::vector<int64_t> &shape,
                             llvm::ArrayRef<int32_t> values) {
    KINTSUGI_ASSIGN(Tensor tensor,
                    Tensor::from<int32_t>(shape, std::span(values.data(), values.size())));
    Shape extents(shape.begin(), shape.end());
    ValueId table = out.fresh.addConstant(its, ElementType::I32, extents,
                                          std::make_shared<TensorConstant>(std::move(tensor)));
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    out.fresh.value(table).facts = {double(*low), double(*high), true, true};
    return table;
  }

  Expr body() {
    Expr other = moved(sum.bodies[0].operand(1 - skip.constant));
    std::optional<Expr> product;
    if (skip.nonzeros().areOnes) {
      product = other;
    } else {
      Expr weight = weightLeft();
      product = skip.constant == 0 ? weight * other : other * weight;
    }
    if (less.reduction)
      return *product;
    // As a sum does of its terms, which may be -0.
    return Expr::stored(typeOfResult(), Expr::literal(product->type(), 0.0) + *product);
  }

  /// The other factor where the terms are now. What a window has outside of the iterator's range is
  /// multiplied with zeros.
  Expr moved(const Expr &other) {
    Expr result = out.rename(other);
    if (skip.nonzeros().leaves())
      result = te::rewrite(result, [](const Expr &e) {
        bool isOpen = e.kind() == ExprKind::Read && !e.readFill();
        return isOpen ? Expr::read(e.readValue(), e.type(), e.readIndices(),
                                   Expr::literal(e.type(), 0.0))
                      : e;
      });
    return simplified(substitute(result, places));
  }

  Expr simplified(const Expr &expr) const {
    auto shapeOf = [&](ValueId id) { return out.fresh.shape(id); };
    return simplifyIndices(expr, ranges, shapeOf);
  }

  /// The constant factor as a constant of what is left, in the type in which it is stored.
  Expr weightLeft() {
    Shape shape;
    llvm::SmallVector<Index> point;
    auto add = [&](unsigned k) {
      shape.push_back(ranges[k].size());
      point.push_back(Index::iterator(k));
    };
    for (unsigned k : skip.factor.rows)
      for (unsigned part : partsOf[k])
        add(part);
    for (unsigned k : skip.factor.summed)
      for (unsigned part : partsOf[k])
        add(part);
    ElementType type = skip.facts->elements.type;
    ValueId packed = out.fresh.addConstant(
        name + ".nonzeros", type, std::move(shape),
        std::make_shared<PackedFactor>(skip.facts->elements, skip.nonzeros().windows));
    Expr its = Expr::read(packed, type, point);
    return skip.factor.withStored(out.old, its);
  }

  simplify::Rebuilder &out;
  uint32_t node;
  const Skip &skip;
  const Definition &sum;
  const std::string &name;
  Definition less;
  unsigned numRows = 0;
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>> partsOf; ///< What iterators became.
  llvm::SmallVector<Index> places;   ///< Of the sum's iterators, over those of what is left.
  llvm::SmallVector<Index> joinedAt; ///< Of what is left, over the sum's iterators.
  llvm::SmallVector<Interval> ranges;
};

class ZeroSkipper {
public:
  ZeroSkipper(const Program &program, const RuleContext &context, bool isDominant)
      : old(program), context(context), isDominant(isDominant), constant(constantNodes(program)),
        out(program) {}

  Expected<Program> run() {
    bool changes = false;
    for (uint32_t node = 0; node < old.nodes.size(); ++node) {
      std::optional<Skip> skip = find(node);
      if (!skip) {
        out.copy(node);
        continue;
      }
      changes = true;
      KINTSUGI_RETURN_IF_ERROR(SkipWriter(out, node, *skip).write());
      tell(node, *skip);
    }
    return changes ? simplify::simplify(out.finish()) : old;
  }

private:
  /// The factor that leaves the least of a sum.
  std::optional<Skip> find(uint32_t node) {
    const Definition *sum = constant[node] ? nullptr : sumOfProducts(old.nodes[node]);
    if (!sum)
      return std::nullopt;
    std::optional<Skip> best;
    for (unsigned operand : {0, 1}) {
      std::optional<Skip> skip = by(*sum, operand);
      if (!skip || (best && best->after <= skip->after))
        continue;
      LessOfSum less{.terms = skip->after, .times = timesForTables(*sum, *skip)};
      if (pays(less, old, *sum, context, isDominant))
        best = std::move(skip);
    }
    return best;
  }

  std::optional<Skip> by(const Definition &sum, unsigned operand) {
    Skip skip{.constant = operand, .factor = SumFactor::of(sum, operand)};
    skip.facts = facts().of(skip.factor, sum, old, constant);
    if (!skip.facts || !skip.facts->nonzeros)
      return std::nullopt;
    if (skip.nonzeros().leaves() && !mayLeave(sum.bodies[0].operand(1 - operand)))
      return std::nullopt;
    skip.before = pointsOf(sum.reduction->iterators);
    skip.after = skip.before * skip.nonzeros().share;
    return skip;
  }

  /// Whether a factor can be read outside of its tensor.
  static bool mayLeave(const Expr &factor) {
    const Expr *read = readBehindCasts(factor);
    return read && (!read->readFill() || (read->readFill()->isLiteral() &&
                                          std::isfinite(read->readFill()->literalFloat())));
  }

  /// How many multiply-adds an element takes that is read through a table: few where rows of it are
  /// read as they lie.
  static double timesForTables(const Definition &sum, const Skip &skip) {
    if (!skip.nonzeros().hasTable())
      return 1;
    constexpr double inRows = 4, oneByOne = 128;
    const Expr *read = readBehindCasts(sum.bodies[0].operand(1 - skip.constant));
    bool isInRows = read && !read->readIndices().empty();
    for (auto [window, k] : llvm::zip_equal(skip.nonzeros().windows, skip.factor.summed))
      isInRows = isInRows && (window.table.empty() || !read->readIndices().back().uses(k));
    return isInRows ? inRows : oneByOne;
  }

  void tell(uint32_t node, const Skip &skip) const {
    const auto &sum = std::get<Definition>(old.nodes[node]);
    if (context.assumed && !isFiniteFactor(sum.bodies[0].operand(1 - skip.constant), old))
      context.assumed->add(skipZerosRule.name);
    if (context.log)
      context.log->add({"derive",
                        "value '" + old.value(sum.results[0]).name + "'",
                        "summed over what is not zero in a constant",
                        {"other terms are zeros"},
                        {{"terms before", skip.before, ""}, {"after", skip.after, ""}}});
  }

  ConstantFacts &facts() { return context.facts ? *context.facts : own; }

  const Program &old;
  const RuleContext &context;
  bool isDominant; ///< Whether what is replaced must take longer by its arithmetic alone.
  std::vector<bool> constant; ///< By node.
  ConstantFacts own;
  simplify::Rebuilder out;
};

} // namespace

const Rule skipZerosRule = {
    .name = "skip-zeros",
    .equation = "y[m, n] = sum[k] w[m, k] * x[k, n], where w is a constant and not zero for k = "
                "s(m) + d*j, j < J alone => sum[j:J] w[m, s(m)+d*j] * x[s(m)+d*j, n]; s(m) is "
                "affine, the place or the block of m, or a table.",
    .source = "",
    .exactness = Exactness::Reassociates,
    .assumes = "what zeros of constants are multiplied with",
    .order = RuleOrder::BeforeFormats,
    .helps = runsAnything,
    .apply = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return ZeroSkipper(program, context, false).run();
    },
    .applyDominant = [](const Program &program, const RuleContext &context) -> Expected<Program> {
      return ZeroSkipper(program, context, true).run();
    },
    .isOfReals = true,
};

} // namespace kintsugi::derive
